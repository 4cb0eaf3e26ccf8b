from __future__ import annotations

import pytest
from page import page, section


@pytest.mark.parametrize("heading", ["FastAPI", "Django"])
def test_the_readme_has_the_same_examples_as_the_page_for_integrators(heading: str) -> None:
    readme, integrate = page("web/clients/python/README.md"), page("docs/integrate.md")
    assert section(readme, heading) == section(integrate, heading)
