from __future__ import annotations

import base64
import logging
from typing import Any

import pytest
from page import blocks, page, section

from referral_tracker import Queue


def test_the_readme_has_the_same_example_as_the_page_for_integrators() -> None:
    readme, integrate = page("web/clients/python/README.md"), page("docs/integrate.md")
    assert section(readme, "FastAPI") == section(integrate, "FastAPI")


def test_the_app_of_the_example_closes_its_queue_at_its_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from fastapi.testclient import TestClient

    monkeypatch.setenv("TRACKER_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("TRACKER_API_KEY", "aff_secret")
    monkeypatch.setenv("WEBHOOK_SECRET", base64.b64encode(b"secret").decode())
    names: dict[str, Any] = {}
    exec(blocks(section(page("web/clients/python/README.md"), "FastAPI"))[0], names)
    queue: Queue = names["queue"]
    with TestClient(names["app"]):
        pass
    with caplog.at_level(logging.ERROR):
        assert not queue.lead(customer_key="user-1")
    assert caplog.messages == ["not reported: lead: the queue is closed"]


def test_the_readme_links_to_nothing_that_an_installed_package_lacks() -> None:
    assert "](.." not in page("web/clients/python/README.md")


# `cargo xtask release-check apps` makes the app and uses it.
def test_the_files_of_the_django_app_are_python() -> None:
    sources = blocks(section(page("docs/integrate.md"), "A Django app"), "python")
    assert len(sources) >= 3
    for source in sources:
        compile(source, "docs/integrate.md", "exec")
