from __future__ import annotations

from page import page, section


def test_the_readme_has_the_same_example_as_the_page_for_integrators() -> None:
    readme, integrate = page("web/clients/python/README.md"), page("docs/integrate.md")
    assert section(readme, "FastAPI") == section(integrate, "FastAPI")
