"""Runs the examples of the documents against a service, with definitions of what they leave to their reader."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from owner import setting
from page import blocks, page, section
from standardwebhooks import Webhook

from referral_tracker import AlreadyDone, ClickRecorded, NotOurs, SaleRecorded, Tracker

pytestmark = pytest.mark.service

SECRET = f"whsec_{base64.b64encode(os.urandom(32)).decode()}"
WEBHOOKS = "/webhooks/referrals"


@pytest.fixture
def tracker(monkeypatch: pytest.MonkeyPatch) -> Tracker:
    monkeypatch.setenv("TRACKER_URL", setting("BASE_URL"))
    monkeypatch.setenv("TRACKER_API_KEY", setting("DEMO_API_KEY"))
    monkeypatch.setenv("WEBHOOK_SECRET", SECRET)
    return Tracker(setting("BASE_URL"), setting("DEMO_API_KEY"))


@pytest.fixture
def click_id(tracker: Tracker) -> str:
    click = tracker.click(f"https://shop.example/?aff={setting('DEMO_AFF_A')}")
    assert isinstance(click, ClickRecorded)
    return click.click_id


def webhook(secret: str = SECRET) -> tuple[str, dict[str, str]]:
    """Body and headers of what an endpoint gets."""
    body = json.dumps({"type": "sale.recorded", "timestamp": "2026-05-04T09:30:00.000Z", "data": {"program_id": 1}})
    name, now = f"evt_{uuid.uuid4()}", datetime.now(timezone.utc)
    return body, {
        "content-type": "application/json",
        "webhook-id": name,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret).sign(name, now, body),
    }


OTHER_SECRET = f"whsec_{'A' * 43}="


def first_sale(tracker: Tracker, customer: str) -> object:
    return tracker.sale(transaction_id=customer, amount_cents=4900, customer_key=customer)


def test_fastapi(tracker: Tracker, click_id: str) -> None:
    from fastapi.testclient import TestClient

    remembered: list[str] = []

    async def create_user(body: Any) -> SimpleNamespace:
        return SimpleNamespace(**body)

    async def remember(name: str, event: Any) -> None:
        remembered.append(event["type"])

    names: dict[str, Any] = {"create_user": create_user, "remember": remember}
    exec(blocks(section(page("docs/integrate.md"), "FastAPI"))[0], names)
    customer = f"fastapi {uuid.uuid4()}"
    with TestClient(names["app"], cookies={"tracker_click_id": click_id}) as client:
        assert client.post("/signup", json={"id": customer, "email": "jane@shop.example"}).status_code == 201
        assert names["queue"].flush(30)
        assert isinstance(first_sale(tracker, customer), SaleRecorded)
        body, headers = webhook()
        assert client.post(WEBHOOKS, content=body, headers=headers).status_code == 204
        body, headers = webhook(OTHER_SECRET)
        assert client.post(WEBHOOKS, content=body, headers=headers).status_code == 400
    assert remembered == ["sale.recorded"]


YOURS = """
from types import SimpleNamespace


def create_user(fields):
    return SimpleNamespace(pk=fields["id"], email=fields["email"])


def remember(name, event):
    print("remembered", event["type"], flush=True)


"""


@contextlib.contextmanager
def django_project(directory: Path) -> Iterator[str]:
    """A project of Django's generator with the page's two files, served. Its output is in `printed`."""
    subprocess.run([sys.executable, "-m", "django", "startproject", "shop", str(directory)], check=True)
    referrals, urls = blocks(section(page("docs/integrate.md"), "Django"))
    (directory / "shop/referrals.py").write_text(YOURS + referrals)
    (directory / "shop/urls.py").write_text(urls)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    # The package as it is here, installed or not.
    paths = os.pathsep.join(sys.path)
    command = [sys.executable, "manage.py", "runserver", "--noreload", "--skip-checks", f"127.0.0.1:{port}"]
    with (directory / "printed").open("w") as printed:
        server = subprocess.Popen(
            command, cwd=directory, env={**os.environ, "PYTHONPATH": paths}, stdout=printed, stderr=printed
        )
    try:
        end = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                assert server.poll() is None and time.monotonic() < end, (directory / "printed").read_text()
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)


def test_django(tracker: Tracker, click_id: str, tmp_path: Path) -> None:
    with django_project(tmp_path) as url, httpx.Client(base_url=url) as client:
        client.cookies = httpx.Cookies({"tracker_click_id": click_id, "csrftoken": "c" * 32})
        customer = f"django {uuid.uuid4()}"
        user = {"id": customer, "email": "jane@shop.example"}
        answer = client.post("/signup", data=user, headers={"x-csrftoken": "c" * 32})
        printed = tmp_path / "printed"
        assert answer.status_code == 201, printed.read_text()
        # The project sends it in the background: a click that is not a lead yet is not known by its key.
        end = time.monotonic() + 30
        while isinstance(first_sale(tracker, customer), NotOurs):
            assert time.monotonic() < end, printed.read_text()
        for secret, status in ((SECRET, 204), (OTHER_SECRET, 400)):
            body, headers = webhook(secret)
            assert client.post(WEBHOOKS, content=body, headers=headers).status_code == status
        assert "remembered sale.recorded" in printed.read_text()


def test_ten_lines_to_the_first_sale(tracker: Tracker, click_id: str) -> None:
    customer = f"readme {uuid.uuid4()}"
    names: dict[str, Any] = {
        "request": SimpleNamespace(cookies={"tracker_click_id": click_id}),
        "user": SimpleNamespace(id=customer, email="jane@shop.example"),
        "order": SimpleNamespace(id=customer),
    }
    exec(blocks(page("web/clients/python/README.md"))[0], names)
    assert isinstance(tracker.refund(transaction_id=customer), AlreadyDone)
