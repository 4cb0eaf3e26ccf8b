"""Which calls are sent again, and when."""

from __future__ import annotations

import math
import re
from email.utils import parsedate_to_datetime
from typing import Literal, Union

from .outcomes import Noun

Failure = Union[int, Literal["not_sent", "lost"]]
"""Why there is no usable answer: an HTTP status; no connection, so nothing was sent; or no answer to what was sent."""

_FIRST_WAIT_SECONDS = 0.25
_LONGEST_WAIT_SECONDS = 8.0

# The service says that it recorded nothing.
_NOTHING_RECORDED = (408, 429, 503)
# The service, or a proxy before it, does not know.
_UNKNOWN = (500, 502, 504)


def is_unknown(failure: Failure) -> bool:
    """Whether the event may have been recorded."""
    return failure == "lost" or failure in _UNKNOWN


def may_retry(noun: Noun, failure: Failure) -> bool:
    """Whether to send it again.

    A sale is known by its transaction_id, a lead by its customer, a refund by its id or amount: a second one has no effect. A click
    has no such id, and would count twice.
    """
    if is_unknown(failure):
        return noun != "click"
    return failure == "not_sent" or failure in _NOTHING_RECORDED


def wait(attempt: int, random: float, retry_after_seconds: int | None) -> float:
    """Seconds until the next attempt.

    `attempt`: which one failed, from 1. `random`: from 0 to 1, so that callers do not come together.
    """
    # The exponent is capped, too: a float has an end.
    backoff = min(_FIRST_WAIT_SECONDS * 2.0 ** min(attempt - 1, 30), _LONGEST_WAIT_SECONDS)
    asked = 0 if retry_after_seconds is None else retry_after_seconds + random
    return max(backoff * (0.5 + random / 2), asked)


def retry_after(header: str | None, now: float) -> int | None:
    """The seconds of a `Retry-After`, which is a number or a date. `now`: seconds since 1970."""
    text = (header or "").strip()
    if re.fullmatch(r"[0-9]+", text):
        return int(text)
    if not re.match(r"[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} ", text):
        return None
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0, math.ceil(date.timestamp() - now))
