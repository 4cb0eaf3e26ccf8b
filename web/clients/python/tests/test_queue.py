from __future__ import annotations

import threading
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, cast

import pytest
from stage import NOT_SENT, Stage

from referral_tracker import Queue, Queued, RefusedError, Tracker, UnavailableError
from referral_tracker.client import Progress, Surroundings
from referral_tracker.outcomes import LeadRecorded, Noun, Outcome

PATIENCE = 10.0


class Held:
    """A tracker that answers when told to."""

    def __init__(self) -> None:
        self.order: list[tuple[str, object]] = []
        self.most = 0
        self._in_flight = 0
        self._condition = threading.Condition()
        self._answers: list[bool] = []

    def track(self, noun: Noun, body: Mapping[str, object], patience: object, progress: Progress) -> Outcome:
        progress.attempts, progress.is_in_flight = 1, True
        with self._condition:
            self.order.append((noun, body.get("customer_key")))
            self._in_flight += 1
            self.most = max(self.most, self._in_flight)
            self._condition.notify_all()
            assert self._condition.wait_for(lambda: bool(self._answers), PATIENCE)
            is_recorded = self._answers.pop()
            self._in_flight -= 1
        if not is_recorded:
            raise RefusedError("no", 400, None, None)
        return LeadRecorded(provisional=False)

    def wait_for(self, sent: int) -> None:
        with self._condition:
            assert self._condition.wait_for(lambda: len(self.order) >= sent, PATIENCE)

    def answer(self, count: int = 1, *, is_recorded: bool = True) -> None:
        with self._condition:
            self._answers += [is_recorded] * count
            self._condition.notify_all()


def end_of_threads() -> None:
    for thread in threading.enumerate():
        if thread.name == "referral-tracker":
            thread.join(PATIENCE)


def queue(held: Held, **options: Any) -> Queue:
    def fail(event: Queued, error: Exception) -> None:
        raise AssertionError(f"{event}: {error}")

    return Queue(cast(Tracker, held), options.pop("on_error", fail), **options)


def test_events_of_one_customer_keep_their_order() -> None:
    held = Held()
    with queue(held) as events:
        events.lead(click_id="cust_1_2", customer_key="a")
        events.sale(transaction_id="1", amount_cents=1, customer_key="a")
        events.refund(transaction_id="1")
        events.lead(customer_key="b")
        held.wait_for(2)
        assert sorted(held.order, key=str) == [("lead", "a"), ("lead", "b")]
        held.answer(4)
    assert held.order[2:] == [("sale", "a"), ("refund", None)]
    assert len(events) == 0


def test_a_customer_whose_events_wait_holds_up_nobody_else() -> None:
    held = Held()
    with queue(held, concurrency=2) as events:
        for _ in range(8):
            events.lead(customer_key="a")
        events.lead(customer_key="b")
        held.wait_for(2)
        assert sorted(held.order, key=str) == [("lead", "a"), ("lead", "b")]
        held.answer(9)
    assert held.order.count(("lead", "a")) == 8


def test_two_customers_who_waited_for_the_same_event_are_sent_at_once() -> None:
    held = Held()
    with queue(held) as events:
        events.lead(click_id="cust_1_2", customer_key="a")
        events.lead(customer_key="a")
        events.lead(click_id="cust_1_2", customer_key="b")
        held.answer()
        held.wait_for(3)
        held.answer(2)
    assert held.most == 2


def test_only_its_time_ends_the_patience_of_a_queue() -> None:
    failed: list[Exception] = []
    stage = Stage(*[NOT_SENT] * 100)
    with Queue(stage.tracker(), on_error=lambda event, error: failed.append(error)) as events:
        events.lead(customer_key="a")
    [error] = failed
    assert isinstance(error, UnavailableError)
    assert 292 <= sum(stage.slept) < 300


def test_no_more_are_in_flight_than_may_be() -> None:
    held = Held()
    with queue(held, concurrency=3) as events:
        for key in range(20):
            events.lead(customer_key=key)
        held.wait_for(3)
        held.answer(20)
    assert held.most == 3
    assert len(held.order) == 20


def test_a_full_queue_takes_nothing() -> None:
    held = Held()
    told: list[str] = []
    events = queue(held, size=2, on_error=lambda event, error: told.append(str(error)))
    assert [events.lead(customer_key=key) for key in ("a", "b", "c")] == [True, True, False]
    assert told == ["the queue is full"]
    held.answer(3)
    assert events.flush(PATIENCE)
    assert events.lead(customer_key="c")
    events.close()
    assert len(held.order) == 3


def test_flush_waits_for_what_was_added_and_close_takes_nothing_more() -> None:
    held = Held()
    outcomes: list[str] = []
    told: list[str] = []
    events = queue(
        held,
        on_outcome=lambda event, outcome: outcomes.append(f"{event.noun} {outcome.kind}"),
        on_error=lambda event, error: told.append(str(error)),
    )
    events.lead(customer_key="a")
    assert not events.flush(0)
    held.answer()
    assert events.flush(PATIENCE)
    assert outcomes == ["lead recorded"]
    events.close()
    assert not events.lead(customer_key="b")
    assert told == ["the queue is closed"]


def test_what_is_refused_is_told_and_the_next_one_is_sent() -> None:
    held = Held()
    told: list[tuple[str, str]] = []
    events = queue(held, on_error=lambda event, error: told.append((event.noun, type(error).__name__)))
    events.lead(customer_key="a")
    events.sale(transaction_id="1", amount_cents=1, customer_key="a")
    held.wait_for(1)
    held.answer(is_recorded=False)
    held.wait_for(2)
    held.answer()
    events.close()
    assert told == [("lead", "RefusedError")]


def test_a_queue_that_is_closed_in_a_hurry_hands_back_everything_once() -> None:
    held = Held()
    told: list[tuple[object, Exception]] = []
    events = Queue(
        cast(Tracker, held),
        lambda event, error: told.append((event.body["customer_key"], error)),
        on_outcome=lambda event, outcome: told.append((event.body["customer_key"], RuntimeError("too late"))),
        concurrency=1,
    )
    for key in ("a", "b", "b"):
        events.lead(customer_key=key)
    held.wait_for(1)
    events.close(0)
    assert len(events) == 0
    assert events.flush(0)
    held.answer()
    end_of_threads()
    assert held.order == [("lead", "a")]
    (first, in_flight), *others = told
    assert first == "a"
    assert isinstance(in_flight, UnavailableError)
    assert (in_flight.attempts, in_flight.is_unknown) == (1, True)
    assert [(key, str(error)) for key, error in others] == [("b", "the queue is closed")] * 2


def test_what_is_given_up_between_two_attempts_is_not_sent_again() -> None:
    sleeps, may_wake = threading.Event(), threading.Event()
    told: list[Exception] = []
    attempts: list[float] = []

    def refuse(url: str, headers: Mapping[str, str], body: bytes, timeout_seconds: float) -> Any:
        attempts.append(timeout_seconds)
        raise NOT_SENT

    def sleep(seconds: float) -> None:
        sleeps.set()
        may_wake.wait(PATIENCE)

    tracker = Tracker("https://track.example", transport=refuse, surroundings=Surroundings(sleep=sleep))
    events = Queue(tracker, on_error=lambda event, error: told.append(error))
    events.lead(customer_key="a")
    assert sleeps.wait(PATIENCE)
    events.close(0)
    may_wake.set()
    end_of_threads()
    assert len(attempts) == 1
    [error] = told
    assert isinstance(error, UnavailableError)
    assert (error.attempts, error.is_unknown) == (1, False)


def test_without_a_thread_to_send_it_an_event_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Exception] = []
    held = Held()
    events = queue(held, on_error=lambda event, error: told.append(error))

    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as context:
        context.setattr(threading.Thread, "start", start)
        assert not events.lead(customer_key="a")
    assert [type(error) for error in told] == [RuntimeError]
    held.answer()
    assert events.lead(customer_key="a")
    events.close()
    assert held.order == [("lead", "a")]


def test_a_mistake_goes_to_the_listener() -> None:
    failed: list[Exception] = []
    with Queue(Stage().tracker(), on_error=lambda event, error: failed.append(error)) as events:
        assert events.sale(transaction_id="1", amount_cents=4900)
    [error] = failed
    assert isinstance(error, RefusedError)
    assert error.status is None


@pytest.mark.parametrize("second", ["a", "b"])
@pytest.mark.parametrize("error", [RuntimeError, SystemExit])
def test_a_listener_that_raises_does_not_stop_the_queue(error: type[BaseException], second: str) -> None:
    held = Held()

    def broken(event: Queued, outcome: Outcome) -> None:
        raise error("of the listener")

    with queue(held, on_outcome=broken, concurrency=1) as events:
        held.answer(2)
        events.lead(customer_key="a")
        events.lead(customer_key=second)
    assert len(held.order) == 2


def test_what_is_no_json_goes_to_the_listener() -> None:
    failed: list[tuple[str, Exception]] = []
    tracker = Stage().tracker()
    with Queue(tracker, on_error=lambda event, error: failed.append((event.noun, error))) as events:
        events.sale(transaction_id="1", amount_cents=cast(int, Decimal(4900)), customer_key="a")
    [(noun, error)] = failed
    assert noun == "sale"
    assert isinstance(error, TypeError)
