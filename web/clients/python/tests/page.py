"""The documents, and the code in them."""

from __future__ import annotations

import re

from vectors import ROOT


def page(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """The section under a heading of the third level."""
    _, _, after = text.partition(f"\n### {heading}\n")
    assert after, heading
    return re.split(r"\n##+ ", after)[0].strip()


def blocks(text: str, language: str = r"\w+") -> list[str]:
    """The blocks of code."""
    return re.findall(rf"^```{language}\n(.*?)\n```$", text, re.DOTALL | re.MULTILINE)
