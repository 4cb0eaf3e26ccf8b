"""What is signed, and no event. The rest is in the vectors."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any, cast

import pytest

from referral_tracker import WebhookError, WebhookVerifier

KEY = b"a key of an endpoint"
NOW = 1_798_796_400
VERIFIER = WebhookVerifier(f"whsec_{base64.b64encode(KEY).decode()}", now=lambda: float(NOW))


def headers(body: bytes) -> dict[str, str]:
    signature = hmac.digest(KEY, f"evt_1.{NOW}.".encode() + body, hashlib.sha256)
    return {
        "webhook-id": "evt_1",
        "webhook-timestamp": str(NOW),
        "webhook-signature": f"v1,{base64.b64encode(signature).decode()}",
    }


def test_a_body_of_bytes_of_either_kind_is_verified() -> None:
    body = '{"type":"sale.recorded","data":{"note":"Zoë"}}'.encode()
    assert VERIFIER.verify(body, headers(body)).id == "evt_1"
    assert VERIFIER.verify(cast(bytes, bytearray(body)), headers(body)).id == "evt_1"


EVENT = '{"type":"sale.recorded"}'


@pytest.mark.parametrize(
    "body",
    [
        b'{"type":"sale.recorded","data":{"amount":NaN}}',
        b'{"type":"sale.recorded","data":{"amount":-Infinity}}',
        b'{"type":"sale.recorded","data":{"note":"\xff"}}',
        b'{"type":"sale.recorded","data":{"note":"\xed\xa0\x80"}}',
        EVENT.encode("utf-16"),
        EVENT.encode("utf-16-le"),
        EVENT.encode("utf-8-sig"),
        b'{"type":' + b"[" * 200_000,
        b"[]",
    ],
    ids=["NaN", "infinity", "no UTF-8", "half a character", "UTF-16", "UTF-16 without a mark", "a mark", "too deep", "a list"],
)
def test_what_is_no_json_in_utf_8_is_refused(body: bytes) -> None:
    with pytest.raises(WebhookError) as refused:
        VERIFIER.verify(body, headers(body))
    assert refused.value.reason == "body"


@pytest.mark.parametrize("body", [None, {"type": "sale.recorded"}, 5, '{"type":"\ud800"}'], ids=str)
def test_what_is_neither_text_nor_bytes_is_refused(body: Any) -> None:
    with pytest.raises(WebhookError) as refused:
        VERIFIER.verify(body, headers(EVENT.encode()))
    assert refused.value.reason == "body"
