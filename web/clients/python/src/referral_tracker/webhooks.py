"""Verifies what the service sends to an endpoint, by the Standard Webhooks specification."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from .errors import WebhookError

if TYPE_CHECKING:
    from .api import WebhookEvent

_VERSION = "v1,"


@dataclass(frozen=True)
class Webhook:
    """A verified webhook."""

    id: str
    """The same in every attempt and replay: store it, and do each event once."""
    event: WebhookEvent


class WebhookVerifier:
    def __init__(
        self,
        secret: str | Sequence[str],
        *,
        tolerance_seconds: int = 300,
        now: Callable[[], float] = time.time,
    ) -> None:
        """
        `secret`: of the endpoint (`whsec_…`); two while it is replaced. `tolerance_seconds`: how old a webhook may be, so that nobody
        sends a recorded one again.
        """
        secrets = [secret] if isinstance(secret, str) else list(secret)
        self._keys = [base64.b64decode(text.removeprefix("whsec_")) for text in secrets]
        if not self._keys or not all(self._keys):
            raise ValueError("the secret of the webhook endpoint is empty")
        self._tolerance_seconds = tolerance_seconds
        self._now = now

    def verify(self, body: bytes | str, headers: Mapping[str, str]) -> Webhook:
        """`body` as it arrived, byte by byte: parsed and written again it is another text. Raises WebhookError."""
        content = _content(body)
        named = {name.lower(): value for name, value in headers.items()}
        webhook_id, timestamp, signatures = (
            named.get(name) for name in ("webhook-id", "webhook-timestamp", "webhook-signature")
        )
        if not webhook_id or not timestamp or not signatures:
            raise WebhookError("missing_header")
        is_number = re.fullmatch(r"[0-9]{1,12}", timestamp)
        if not is_number or abs(int(self._now()) - int(timestamp)) > self._tolerance_seconds:
            raise WebhookError("timestamp")
        candidates = [_decoded(text) for text in signatures.split(" ") if text.startswith(_VERSION)]
        signed = f"{webhook_id}.{timestamp}.".encode() + content
        expected = [hmac.digest(key, signed, hashlib.sha256) for key in self._keys]
        # In a time that does not depend on where they differ.
        if not any(hmac.compare_digest(one, other) for one in expected for other in candidates):
            raise WebhookError("signature")
        return Webhook(webhook_id, _event(content))


def _decoded(signature: str) -> bytes:
    try:
        return base64.b64decode(signature.removeprefix(_VERSION))
    except (binascii.Error, ValueError):
        return b""


def _content(body: object) -> bytes:
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body)
    # Something else is easily passed: what a framework parsed.
    if not isinstance(body, str):
        raise WebhookError("body")
    try:
        return body.encode()
    except UnicodeEncodeError:
        raise WebhookError("body") from None


def _event(content: bytes) -> WebhookEvent:
    try:
        # Decoded here: of bytes, `loads` takes other encodings, too.
        event = json.loads(content.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise WebhookError("body") from None
    if not isinstance(event, dict) or "type" not in event:
        raise WebhookError("body")
    return cast("WebhookEvent", event)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
