"""Calls the service."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from . import bodies
from .bodies import takes
from .errors import TrackerError, UnavailableError
from .mistakes import refuse_mistakes
from .outcomes import ClickOutcome, LeadOutcome, Noun, Outcome, RefundOutcome, SaleOutcome, outcome_of
from .retry import Failure, is_unknown, may_retry, retry_after, wait
from .transport import HttpTransport, Lost, NotSent, Response, Transport

if TYPE_CHECKING:
    from .api import ClickRequest, LeadRequest, RefundRequest, SaleRequest

_log = logging.getLogger("referral_tracker")

try:
    _VERSION = version("referral-tracker")
except PackageNotFoundError:
    _VERSION = "unknown"


@dataclass(frozen=True)
class Patience:
    attempts: int | None = 4
    """How often a call is sent at most; None: as often as the time allows."""
    total_seconds: float = 30.0
    """How long a call may take with all its attempts and waits."""


@dataclass
class Progress:
    """What is known of a call while it lasts. Another thread may give it up: no further attempt begins then."""

    attempts: int = 0
    status: int | None = None
    is_in_flight: bool = False
    is_in_doubt: bool = False
    retry_after_seconds: int | None = None
    is_given_up: bool = False

    def error(self, message: str) -> UnavailableError:
        return UnavailableError(
            f"{message} (attempt {self.attempts})",
            self.attempts,
            self.status,
            self.is_in_doubt or self.is_in_flight,
            self.retry_after_seconds,
        )


@dataclass(frozen=True)
class Surroundings:
    """What tests replace."""

    now: Callable[[], float] = time.time
    random: Callable[[], float] = random.random
    sleep: Callable[[float], None] = time.sleep


class Tracker:
    """Calls the service. One instance is enough for a process; threads may share it."""

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout_seconds: float = 10.0,
        patience: Patience | None = None,
        test_mode: bool = False,
        on_warnings: Callable[[list[dict[str, Any]]], None] | None = None,
        transport: Transport | None = None,
        surroundings: Surroundings | None = None,
    ) -> None:
        """
        `url`: the address of the installation, such as `https://track.example`. `key`: the program's or a server key (`aff_…`).
        `timeout_seconds`: how long one attempt may take, from connecting to the end of the answer. `test_mode`: every event is a
        test event, shown on the set-up page and not counted. `on_warnings`: called when the service wants the key to be replaced;
        without it, the first such answer is logged.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise TrackerError("url must be an http(s) address")
        if key and not re.fullmatch(r"[\x21-\x7e]+", key):
            raise TrackerError("key has characters that no key has")
        self._url = url.rstrip("/")
        self._headers = {"content-type": "application/json", "user-agent": f"referral-tracker-python/{_VERSION}"}
        if key:
            self._headers["authorization"] = f"Bearer {key}"
        self._timeout_seconds = timeout_seconds
        self._patience = patience or Patience()
        self._test_mode = test_mode
        self._on_warnings = on_warnings
        self._has_warned = False
        self._transport = transport or HttpTransport()
        self._surroundings = surroundings or Surroundings()

    def __repr__(self) -> str:
        return f"Tracker({self._url!r})"

    @takes(bodies.click)
    def click(self, body: ClickRequest) -> ClickOutcome:
        return cast(ClickOutcome, self.track("click", body))

    @takes(bodies.lead)
    def lead(self, body: LeadRequest) -> LeadOutcome:
        return cast(LeadOutcome, self.track("lead", body))

    @takes(bodies.sale)
    def sale(self, body: SaleRequest) -> SaleOutcome:
        return cast(SaleOutcome, self.track("sale", body))

    @takes(bodies.refund)
    def refund(self, body: RefundRequest) -> RefundOutcome:
        return cast(RefundOutcome, self.track("refund", body))

    def track(
        self,
        noun: Noun,
        body: Mapping[str, object],
        patience: Patience | None = None,
        progress: Progress | None = None,
    ) -> Outcome:
        """Raises RefusedError, or UnavailableError after the last attempt."""
        patience, progress = patience or self._patience, progress or Progress()
        body = _in_test_mode(body) if self._test_mode else body
        refuse_mistakes(noun, body)
        content = json.dumps(body).encode()
        now, sleep = self._surroundings.now, self._surroundings.sleep
        end = now() + patience.total_seconds
        while True:
            # In this order: who gives the call up sees that it is in flight, or it is seen here that it was given up.
            progress.is_in_flight = True
            if progress.is_given_up:
                progress.is_in_flight = False
                raise progress.error(f"{noun}: given up")
            progress.attempts += 1
            answer = self._attempt(noun, content, end - now())
            failure: Failure = answer.status if isinstance(answer, Response) else answer
            if isinstance(answer, Response) and not may_retry(noun, failure) and not is_unknown(failure):
                return outcome_of(noun, answer.status, _parsed(answer.body), answer.headers.get("x-request-id"))
            header = answer.headers.get("retry-after") if isinstance(answer, Response) else None
            progress.status = answer.status if isinstance(answer, Response) else None
            progress.retry_after_seconds = retry_after(header, now())
            progress.is_in_doubt = progress.is_in_doubt or is_unknown(failure)
            progress.is_in_flight = False
            pause = wait(progress.attempts, self._surroundings.random(), progress.retry_after_seconds)
            has_no_more = patience.attempts is not None and progress.attempts >= patience.attempts
            is_last = has_no_more or now() + pause >= end
            if not may_retry(noun, failure) or is_last:
                raise progress.error(f"{noun}: {_describe(failure)}")
            sleep(pause)

    def _attempt(self, noun: Noun, content: bytes, seconds_left: float) -> Response | Failure:
        url = f"{self._url}/api/v1/track/{noun}"
        timeout = max(0.001, min(self._timeout_seconds, seconds_left))
        try:
            answer = self._transport(url, self._headers, content, timeout)
        except NotSent as error:
            _log.debug("cannot reach the service: %s", error)
            return "not_sent"
        except Lost as error:
            _log.debug("no answer: %s", error)
            return "lost"
        self._tell_warnings(answer.body)
        return answer

    def _tell_warnings(self, content: bytes) -> None:
        answer = _parsed(content) if b'"warnings"' in content else None
        warnings = answer.get("warnings") if isinstance(answer, dict) else None
        if not isinstance(warnings, list) or not warnings:
            return
        if self._on_warnings is None:
            if not self._has_warned:
                self._has_warned = True
                _log.warning("%s %s", warnings[0].get("message"), warnings[0].get("hint"))
            return
        try:
            self._on_warnings(warnings)
        except Exception:
            # The call has its answer: what a listener does about a warning cannot change it.
            _log.exception("on_warnings failed")


class AsyncTracker:
    """The same for asyncio: each call runs in a thread of its event loop's pool."""

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker

    @takes(bodies.click)
    async def click(self, body: ClickRequest) -> ClickOutcome:
        return cast(ClickOutcome, await asyncio.to_thread(self._tracker.track, "click", body))

    @takes(bodies.lead)
    async def lead(self, body: LeadRequest) -> LeadOutcome:
        return cast(LeadOutcome, await asyncio.to_thread(self._tracker.track, "lead", body))

    @takes(bodies.sale)
    async def sale(self, body: SaleRequest) -> SaleOutcome:
        return cast(SaleOutcome, await asyncio.to_thread(self._tracker.track, "sale", body))

    @takes(bodies.refund)
    async def refund(self, body: RefundRequest) -> RefundOutcome:
        return cast(RefundOutcome, await asyncio.to_thread(self._tracker.track, "refund", body))


def _in_test_mode(body: Mapping[str, object]) -> dict[str, object]:
    additional = cast("Mapping[str, object]", body.get("additional_data") or {})
    return {**body, "additional_data": {**additional, "test_mode": True}}


def _parsed(content: bytes) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _describe(failure: Failure) -> str:
    if failure == "not_sent":
        return "the service cannot be reached"
    return "no answer" if failure == "lost" else f"the service answered {failure}"
