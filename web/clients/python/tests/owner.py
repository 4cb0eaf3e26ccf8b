"""The owner of the demo program, signed in."""

from __future__ import annotations

import json
import os
import urllib.request
from typing import Any


def setting(name: str) -> str:
    """A variable that `cargo xtask` sets, as in `.dev/env`."""
    value = os.environ.get(name)
    assert value, f"{name} is not set: run these tests by `cargo xtask test-clients`"
    return value


class Owner:
    def __init__(self, url: str) -> None:
        self._url = url
        self._headers = {"content-type": "application/json"}
        account = {"identifier": setting("DEMO_EMAIL"), "password": setting("DEMO_PASSWORD")}
        self._headers["authorization"] = f"Bearer {self.ask('POST', '/api/auth/local', account)['jwt']}"

    def endpoint(self, url: str, event_type: str) -> tuple[str, str]:
        """Path and secret of a new webhook endpoint for one type of event."""
        endpoints = f"/api/advertiser/affiliate-programs/{setting('DEMO_PROGRAM_ID')}/webhook-endpoints"
        made = self.ask("POST", endpoints, {"url": url, "event_types": [event_type]})["data"]
        return f"{endpoints}/{made['id']}", made["secret"]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, content, self._headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if text else None
