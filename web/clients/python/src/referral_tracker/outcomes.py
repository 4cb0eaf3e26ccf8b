"""What calls come to: the meaning of the service's answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Union, cast

from .errors import RefusedError

Noun = Literal["click", "lead", "sale", "refund"]

Reason = Literal[
    "customer_not_found",
    "other_program",
    "no_attribution",
    "no_partner",
    "window_expired",
    "sale_not_found",
    "link_not_found",
    "link_disabled",
    "no_code",
]


@dataclass(frozen=True)
class NotOurs:
    """The visitor or customer came without a partner's link, or the program pays nobody for them: ordinary, nothing to do."""

    reason: Reason
    message: str
    kind: Literal["not_ours"] = "not_ours"


@dataclass(frozen=True)
class AlreadyDone:
    """The same lead, payment or refund was recorded before: nothing to do."""

    message: str
    kind: Literal["already_done"] = "already_done"


@dataclass(frozen=True)
class Tested:
    """An isolated test event was recorded."""

    event_id: int | None
    """None for a refund, which leaves nothing in test mode."""
    program_id: int
    kind: Literal["test"] = "test"


@dataclass(frozen=True)
class ClickRecorded:
    click_id: str
    """Keep it in the cookie `tracker_click_id`, for `cookie_window_days`."""
    partner_code: str
    cookie_window_days: int
    kind: Literal["recorded"] = "recorded"


@dataclass(frozen=True)
class LeadRecorded:
    provisional: bool
    """True if the program waits for your backend, or for a payment, to confirm it."""
    kind: Literal["recorded"] = "recorded"


@dataclass(frozen=True)
class SaleRecorded:
    sale_id: int
    commission_id: int | None
    """None if nothing is due on this payment: `message` says why."""
    commission_ids: tuple[int, ...]
    """All of them, where the program splits commissions."""
    message: str
    kind: Literal["recorded"] = "recorded"


@dataclass(frozen=True)
class RefundRecorded:
    status: Literal["reversed", "refunded", "no_commission"]
    """`reversed` once the whole sale is refunded, `refunded` before, `no_commission` if the sale had none."""
    deduction_amount: float
    """What the partner loses, in dollars."""
    commission_id: int | None
    kind: Literal["recorded"] = "recorded"


ClickOutcome = Union[ClickRecorded, NotOurs, Tested]
LeadOutcome = Union[LeadRecorded, NotOurs, AlreadyDone, Tested]
SaleOutcome = Union[SaleRecorded, NotOurs, AlreadyDone, Tested]
RefundOutcome = Union[RefundRecorded, NotOurs, AlreadyDone, Tested]
Outcome = Union[ClickOutcome, LeadOutcome, SaleOutcome, RefundOutcome]

# Refusals that are ordinary: status, how the message begins, and what it means. The contract has no codes for them.
_ORDINARY: Mapping[Noun, tuple[tuple[int, str, str], ...]] = {
    "click": (
        (400, "Referral link not found", "link_not_found"),
        (400, "No aff parameter found", "no_code"),
        (410, "", "link_disabled"),
    ),
    "lead": (
        (400, "Customer not found", "customer_not_found"),
        (400, "Customer does not belong to this program", "other_program"),
        (400, "Customer status cannot be updated to lead", "already_done"),
    ),
    "sale": (
        (400, "Customer not found", "customer_not_found"),
        (400, "No affiliate attribution found", "no_attribution"),
        (400, "No partner-program relationship found", "no_partner"),
        (409, "", "already_done"),
    ),
    "refund": ((404, "Sale not found", "sale_not_found"),),
}


def outcome_of(noun: Noun, status: int, body: object, request_id: str | None = None) -> Outcome:
    """What an answer means. `body` is parsed JSON; None if it was none. Raises RefusedError for what is no outcome."""
    fields = body if isinstance(body, dict) else {}
    if status == 200 and fields.get("success") is True:
        return _success(noun, fields)
    error = fields.get("error")
    if not isinstance(error, dict):
        raise RefusedError(f"The answer is not the service's: {status}", status, None, request_id)
    message = str(error.get("message", ""))
    for its, start, meaning in _ORDINARY[noun]:
        if its == status and message.startswith(start):
            if meaning == "already_done":
                return AlreadyDone(message)
            return NotOurs(cast(Reason, meaning), message)
    raise RefusedError(message, status, error.get("code"), request_id)


def _success(noun: Noun, answer: dict[str, Any]) -> Outcome:
    data = answer.get("data")
    if isinstance(data, dict):
        return Tested(data["eventId"], data["programId"])
    if noun == "click":
        return ClickRecorded(answer["click_id"], answer["partner_code"], answer["cookie_window_days"])
    if noun == "lead":
        return LeadRecorded(answer.get("provisional") is True)
    if noun == "sale":
        return _sale(answer)
    if answer["status"] == "skipped":
        return AlreadyDone(answer["reason"])
    return RefundRecorded(answer["status"], answer.get("deductionAmount", 0), answer.get("commission_id"))


def _sale(answer: dict[str, Any]) -> SaleRecorded | NotOurs:
    if answer.get("attributed") is False:
        age, window = answer["click_age_days"], answer["window_days"]
        return NotOurs("window_expired", f"The click is {age} days old; the program's window has {window}")
    commission_id = answer["commission_id"]
    one = [] if commission_id is None else [commission_id]
    commission_ids = tuple(answer.get("commission_ids", one))
    return SaleRecorded(answer["sale_id"], commission_id, commission_ids, answer["message"])
