"""The cookies of the browser script."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

_COOKIE = "tracker_click_id"
# The older name, which scripts installed long ago write alone.
_OLDER_COOKIE = "customer_code"


def click_id_from(cookies: str | Mapping[str, str] | None) -> str | None:
    """The visitor's click id, from the `Cookie` header or a mapping of cookies; None for visitors without a partner's link."""
    named = _from_header(cookies) if isinstance(cookies, str) else (cookies or {})
    return _unescaped(named.get(_COOKIE, "")) or _unescaped(named.get(_OLDER_COOKIE, "")) or None


def _from_header(header: str) -> dict[str, str]:
    named: dict[str, str] = {}
    for pair in header.split(";"):
        name, _, value = pair.partition("=")
        named.setdefault(name.strip(), value.strip().strip('"'))
    return named


def _unescaped(text: str) -> str:
    """Empty if it cannot be read, which is as good as no cookie."""
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        return ""
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        return ""
