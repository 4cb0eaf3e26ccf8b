"""Sends events in the background."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING

from . import bodies, forks
from .bodies import takes
from .client import Patience, Progress, Tracker
from .errors import QueueError, UnavailableError
from .outcomes import Noun, Outcome

if TYPE_CHECKING:
    from .api import ClickRequest, LeadRequest, RefundRequest, SaleRequest

_log = logging.getLogger("referral_tracker")

# More patient than a call that somebody waits for: it outlives a minute's rate limit, and a restart of the service. Attempts that
# find no service end at once, so that only the time can be its limit.
_PATIENCE = Patience(attempts=None, total_seconds=300)


@dataclass(frozen=True)
class Queued:
    """One event of the queue."""

    noun: Noun
    body: Mapping[str, object]


@dataclass(eq=False)
class _Entry:
    event: Queued
    ids: list[str]
    waits_for: int = 0
    """How many events before it are not settled."""
    followers: list[_Entry] = field(default_factory=list)
    is_sent: bool = False
    is_told: bool = False
    """Its listener is called, or was."""
    progress: Progress = field(default_factory=Progress)
    done: threading.Event = field(default_factory=threading.Event)


class Queue:
    """Sends events in the background, several at once.

    Events that share a customer key, click id or transaction id keep their order: a lead is sent before its customer's sale, a sale
    before its refund. Each is tried for five minutes from its turn on (`patience`), then `on_error` is told; until then, it holds one
    of the queue's threads.

    The queue is in memory: what waits is lost with the process. At its ordinary end Python waits for it, but not if a signal ends the
    process, as it does under uvicorn: `close()` it before. A forked process has the queue, and nothing of what waits in its parent.

    Adding an event never raises: False means that it was not taken, which `on_error` is told.
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
        self._concurrency = concurrency
        self._patience = patience
        self._is_closed = False
        self._begin_afresh()
        forks.watch(self)

    def _begin_afresh(self) -> None:
        """With nothing in it: what a parent process has is its own."""
        self._changed = threading.Condition()
        self._latest: dict[str, _Entry] = {}
        self._waiting: dict[_Entry, None] = {}
        self._ready: deque[_Entry] = deque()
        self._threads = 0
        # The threads that send are daemons, so that `close` can leave them behind. This one, while there is something to wait for,
        # is what Python waits for at its end.
        self._keeper = ThreadPoolExecutor(1, thread_name_prefix="referral-tracker-keeper")
        self._is_kept = False

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
        with self._changed:
            waiting = list(self._waiting)
        return all(entry.done.wait(None if end is None else max(0.0, end - time.monotonic())) for entry in waiting)

    def close(self, timeout_seconds: float | None = None) -> None:
        """Takes nothing more, and flushes.

        After `timeout_seconds`, what is not settled is handed to `on_error`: with a QueueError what was not sent, with an
        UnavailableError what is in flight or between two attempts.
        """
        with self._changed:
            self._is_closed = True
        if not self.flush(timeout_seconds):
            self._give_up()
        self._keeper.shutdown(wait=False)

    def _give_up(self) -> None:
        with self._changed:
            given_up = [entry for entry in self._waiting if not entry.is_told]
            for entry in given_up:
                entry.is_told = entry.progress.is_given_up = True
        for entry in given_up:
            self._fail(entry.event, _given_up(entry) if entry.is_sent else QueueError("closed"))
        with self._changed:
            for entry in given_up:
                self._settle(entry)

    def _add(self, noun: Noun, body: Mapping[str, object]) -> bool:
        event = Queued(noun, body)
        try:
            with self._changed:
                self._take(event)
        except (QueueError, RuntimeError) as error:
            # The latter if no thread can be started, as when the interpreter ends.
            self._fail(event, error)
            return False
        return True

    def _take(self, event: Queued) -> None:
        if self._is_closed:
            raise QueueError("closed")
        if len(self._waiting) >= self._size:
            raise QueueError("full")
        if not self._is_kept:
            self._keeper.submit(self._keep)
            self._is_kept = True
        entry = _Entry(event, _ids(event))
        before = {self._latest[name]: None for name in entry.ids if name in self._latest}
        if not before:
            self._start_thread()
            self._ready.append(entry)
        entry.waits_for = len(before)
        for other in before:
            other.followers.append(entry)
        self._waiting[entry] = None
        self._latest.update(dict.fromkeys(entry.ids, entry))

    def _keep(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting)
            self._is_kept = False

    def _start_thread(self) -> None:
        """Raises RuntimeError if there is none to do the work."""
        if self._threads >= self._concurrency:
            return
        try:
            threading.Thread(target=self._work, name="referral-tracker", daemon=True).start()
        except RuntimeError:
            if self._threads == 0:
                raise
            return
        self._threads += 1

    def _work(self) -> None:
        while (entry := self._next()) is not None:
            try:
                self._send(entry)
            except BaseException:
                # Such as a listener's `sys.exit`: the thread has other events to send.
                _log.exception("a listener wanted to end a thread of the queue")
            with self._changed:
                self._settle(entry)

    def _next(self) -> _Entry | None:
        with self._changed:
            while self._ready:
                entry = self._ready.popleft()
                if not entry.is_told:
                    entry.is_sent = True
                    return entry
            self._threads -= 1
            return None

    def _settle(self, entry: _Entry) -> None:
        if entry.done.is_set():
            return
        del self._waiting[entry]
        for name in entry.ids:
            if self._latest.get(name) is entry:
                del self._latest[name]
        for follower in entry.followers:
            follower.waits_for -= 1
        ready = [follower for follower in entry.followers if follower.waits_for == 0 and not follower.is_told]
        self._ready.extend(ready)
        # This thread takes one of them.
        for _ in ready[1:]:
            self._start_thread()
        entry.done.set()
        self._changed.notify_all()

    def _send(self, entry: _Entry) -> None:
        event = entry.event
        try:
            outcome = self._tracker.track(event.noun, event.body, self._patience, entry.progress)
        except Exception as error:
            # Not only our own: a thread's error would reach nobody, and neither would the event.
            if self._may_tell(entry):
                self._fail(event, error)
            return
        if self._may_tell(entry) and self._on_outcome is not None:
            try:
                self._on_outcome(event, outcome)
            except Exception:
                _log.exception("on_outcome failed")

    def _may_tell(self, entry: _Entry) -> bool:
        """Once for each event: `close` may have given it up."""
        with self._changed:
            is_first = not entry.is_told
            entry.is_told = True
        return is_first

    def _fail(self, event: Queued, error: Exception) -> None:
        try:
            self._on_error(event, error)
        except Exception:
            _log.exception("on_error failed")


def _given_up(entry: _Entry) -> UnavailableError:
    return entry.progress.error(f"{entry.event.noun}: given up when the queue was closed")


def _ids(event: Queued) -> list[str]:
    """What orders events: those with one of these in common are sent one after the other."""
    named = ((name, event.body.get(name)) for name in ("customer_key", "click_id", "transaction_id"))
    return [f"{name} {value}" for name, value in named if value not in (None, "")]
