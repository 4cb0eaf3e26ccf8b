"""Calls that the service would take for something else than they mean. They are refused before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping

from .errors import RefusedError
from .outcomes import Noun


def refuse_mistakes(noun: Noun, body: Mapping[str, object]) -> None:
    if noun == "refund" and body.get("refund_amount_cents") == 0:
        # By the contract, a refund of 0 is one of the whole sale.
        raise _refused("refund_amount_cents must be positive; leave it out to refund the whole sale")
    if noun in ("lead", "sale") and not _names_somebody(body) and not _is_test(body):
        # The service answers as it does for a customer without a link: it would be lost silently.
        raise _refused("customer_key or click_id is required")


def _refused(message: str) -> RefusedError:
    return RefusedError(message, None, "invalid_call", None)


def _names_somebody(body: Mapping[str, object]) -> bool:
    return any(body.get(name) not in (None, "") for name in ("customer_key", "click_id"))


def _is_test(body: Mapping[str, object]) -> bool:
    additional = body.get("additional_data")
    return isinstance(additional, Mapping) and additional.get("test_mode") is True
