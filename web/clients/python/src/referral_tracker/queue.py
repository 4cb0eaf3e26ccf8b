"""Sends events in the background."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING

from . import bodies
from .bodies import takes
from .client import Patience, Tracker
from .errors import QueueError
from .outcomes import Noun, Outcome

if TYPE_CHECKING:
    from .api import ClickRequest, LeadRequest, RefundRequest, SaleRequest

_log = logging.getLogger("referral_tracker")

# More patient than a call that somebody waits for: it outlives a minute's rate limit, and a restart of the service.
_PATIENCE = Patience(attempts=12, total_seconds=300)


@dataclass(frozen=True)
class Queued:
    """One event of the queue."""

    noun: Noun
    body: Mapping[str, object]


@dataclass(eq=False)
class _Entry:
    event: Queued
    before: list[_Entry]
    is_sent: bool = False
    is_abandoned: bool = False
    """Handed to `on_error`, because the queue was closed before its turn."""
    done: threading.Event = field(default_factory=threading.Event)


class Queue:
    """Sends events in the background, several at once.

    Events that share a customer key, click id or transaction id keep their order: a lead is sent before its customer's sale, a sale
    before its refund. The queue is in memory: what waits is lost with the process. Python waits for it at its end.

    Adding an event never raises: False means that there was no room, which `on_error` is told.
    """

    def __init__(
        self,
        tracker: Tracker,
        on_error: Callable[[Queued, Exception], None],
        *,
        on_outcome: Callable[[Queued, Outcome], None] | None = None,
        size: int = 1000,
        concurrency: int = 8,
        patience: Patience = _PATIENCE,
    ) -> None:
        """
        `on_error`: called for each event that was refused, could not be sent, or found no room: store it, or it is lost. `size`: how
        many events may wait, those in flight included. `on_outcome` is called after each event that has one. For what was sent, both
        are called in a thread of the queue.
        """
        self._tracker = tracker
        self._on_error = on_error
        self._on_outcome = on_outcome
        self._size = size
        self._patience = patience
        self._lock = threading.Lock()
        self._latest: dict[str, _Entry] = {}
        self._waiting: dict[_Entry, None] = {}
        self._is_closed = False
        # First in, first out: whatever an event waits for was started before it.
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="referral-tracker")

    def __len__(self) -> int:
        """How many events wait or are in flight."""
        return len(self._waiting)

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> Queue:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @takes(bodies.click)
    def click(self, body: ClickRequest) -> bool:
        return self._add("click", body)

    @takes(bodies.lead)
    def lead(self, body: LeadRequest) -> bool:
        return self._add("lead", body)

    @takes(bodies.sale)
    def sale(self, body: SaleRequest) -> bool:
        return self._add("sale", body)

    @takes(bodies.refund)
    def refund(self, body: RefundRequest) -> bool:
        return self._add("refund", body)

    def flush(self, timeout_seconds: float | None = None) -> bool:
        """Waits until everything that was added before is settled; False if the time is over first."""
        end = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        with self._lock:
            waiting = list(self._waiting)
        return all(entry.done.wait(None if end is None else max(0.0, end - time.monotonic())) for entry in waiting)

    def close(self, timeout_seconds: float | None = None) -> None:
        """Takes nothing more, and flushes. After `timeout_seconds`, events that are not in flight are handed to `on_error`."""
        with self._lock:
            self._is_closed = True
        if not self.flush(timeout_seconds):
            with self._lock:
                unsent = [entry for entry in self._waiting if not entry.is_sent and not entry.is_abandoned]
                for entry in unsent:
                    entry.is_abandoned = True
            for entry in unsent:
                self._fail(entry.event, QueueError("closed"))
        self._threads.shutdown(wait=False)

    def _add(self, noun: Noun, body: Mapping[str, object]) -> bool:
        event = Queued(noun, body)
        ids = _ids(event)
        with self._lock:
            has_room = not self._is_closed and len(self._waiting) < self._size
            if has_room:
                entry = _Entry(event, [self._latest[name] for name in ids if name in self._latest])
                self._waiting[entry] = None
                self._latest.update(dict.fromkeys(ids, entry))
                self._threads.submit(self._settle, entry, ids)
        if not has_room:
            self._fail(event, QueueError("closed" if self._is_closed else "full"))
        return has_room

    def _settle(self, entry: _Entry, ids: list[str]) -> None:
        for other in entry.before:
            other.done.wait()
        entry.before.clear()
        with self._lock:
            entry.is_sent = not entry.is_abandoned
        try:
            if entry.is_sent:
                self._send(entry.event)
        finally:
            with self._lock:
                del self._waiting[entry]
                for name in ids:
                    if self._latest.get(name) is entry:
                        del self._latest[name]
            entry.done.set()

    def _send(self, event: Queued) -> None:
        try:
            outcome = self._tracker.track(event.noun, event.body, self._patience)
        except Exception as error:
            # Not only our own: a thread's error would reach nobody, and neither would the event.
            self._fail(event, error)
            return
        if self._on_outcome is not None:
            try:
                self._on_outcome(event, outcome)
            except Exception:
                _log.exception("on_outcome failed")

    def _fail(self, event: Queued, error: Exception) -> None:
        try:
            self._on_error(event, error)
        except Exception:
            _log.exception("on_error failed")


def _ids(event: Queued) -> list[str]:
    """What orders events: those with one of these in common are sent one after the other."""
    named = ((name, event.body.get(name)) for name in ("customer_key", "click_id", "transaction_id"))
    return [f"{name} {value}" for name, value in named if value not in (None, "")]
