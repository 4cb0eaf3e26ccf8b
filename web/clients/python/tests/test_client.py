from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from stage import LOST, NOT_SENT, Scene, Stage
from vectors import ROOT

from referral_tracker import (
    AlreadyDone,
    AsyncTracker,
    ClickRecorded,
    Patience,
    RefusedError,
    SaleRecorded,
    Tested,
    Tracker,
    TrackerError,
    UnavailableError,
    bodies,
)

SALE: dict[str, Any] = {"transaction_id": "order-1", "amount_cents": 4900, "customer_key": "user-1"}
RECORDED = {"success": True, "sale_id": 311, "commission_id": 208, "message": "Sale tracked successfully"}
CLICKED = {"success": True, "click_id": "cust_1_2", "partner_code": "ada", "cookie_window_days": 90}


def refusal(status: int, message: str) -> dict[str, Any]:
    return {"data": None, "error": {"status": status, "name": "Error", "message": message, "details": {}}}


def test_a_sale_is_sent_as_the_api_has_it() -> None:
    stage = Stage(Scene(200, RECORDED))
    outcome = stage.tracker().sale(**SALE, click_id=None)
    assert isinstance(outcome, SaleRecorded)
    assert outcome.sale_id == 311
    [request] = stage.requests
    assert request.url == "https://track.example/api/v1/track/sale"
    assert request.headers["authorization"] == "Bearer aff_secret"
    assert request.headers["user-agent"].startswith("referral-tracker-python/")
    assert request.body == SALE


def test_a_uuid_is_sent_as_its_text() -> None:
    stage = Stage(Scene(200, RECORDED))
    name = "9f0c0d6e-6b1a-4c0f-8d3c-0a4a6d1f2b3c"
    stage.tracker().sale(transaction_id=UUID(name), amount_cents=4900, customer_key=UUID(name))
    assert stage.requests[0].body == {"transaction_id": name, "amount_cents": 4900, "customer_key": name}


def test_it_is_sent_again_with_the_same_transaction_id_later_each_time() -> None:
    stage = Stage(
        Scene(500), LOST, Scene(503, headers={"retry-after": "7"}), Scene(409, refusal(409, "Duplicate transaction_id."))
    )
    assert stage.tracker().sale(**SALE) == AlreadyDone("Duplicate transaction_id.")
    assert [request.body for request in stage.requests] == [SALE] * 4
    assert stage.slept == [0.1875, 0.375, 7.5]


def test_after_the_last_attempt_it_is_unavailable_and_maybe_recorded() -> None:
    stage = Stage(Scene(500), Scene(503), Scene(503), Scene(429, headers={"retry-after": "1"}))
    with pytest.raises(UnavailableError) as failed:
        stage.tracker().sale(**SALE)
    error = failed.value
    assert (error.attempts, error.status, error.is_unknown, error.retry_after_seconds) == (4, 429, True, 1)


def test_nothing_that_was_only_rejected_is_in_doubt() -> None:
    stage = Stage(Scene(503), NOT_SENT)
    with pytest.raises(UnavailableError) as failed:
        stage.tracker(patience=Patience(attempts=2)).sale(**SALE)
    assert not failed.value.is_unknown
    assert failed.value.status is None


def test_it_does_not_wait_beyond_its_time() -> None:
    stage = Stage(Scene(429, headers={"retry-after": "45"}))
    with pytest.raises(UnavailableError) as failed:
        stage.tracker().sale(**SALE)
    assert (failed.value.attempts, failed.value.retry_after_seconds) == (1, 45)
    assert stage.slept == []


@pytest.mark.parametrize("failure", [Scene(500), LOST])
def test_a_click_that_may_have_been_counted_is_not_sent_again(failure: Scene | Exception) -> None:
    with pytest.raises(UnavailableError) as failed:
        Stage(failure).tracker().click("https://shop.example/?aff=ada")
    assert failed.value.is_unknown


def test_a_click_that_was_not_counted_is_sent_again() -> None:
    stage = Stage(NOT_SENT, Scene(503), Scene(200, CLICKED))
    outcome = stage.tracker().click("https://shop.example/?aff=ada")
    assert isinstance(outcome, ClickRecorded)
    assert outcome.click_id == "cust_1_2"


def test_a_mistake_is_raised_at_once() -> None:
    stage = Stage(Scene(401, refusal(401, "Invalid API token"), {"x-request-id": "r-9"}))
    with pytest.raises(RefusedError, match="Invalid API token") as refused:
        stage.tracker().sale(**SALE)
    assert refused.value.request_id == "r-9"


def test_test_mode_is_added_to_what_is_sent() -> None:
    answer = {"success": True, "message": "m", "data": {"eventId": 3, "programId": 1, "test_mode": True}}
    stage = Stage(Scene(200, answer))
    assert stage.tracker(test_mode=True).lead(additional_data={"program_id": 1}) == Tested(3, 1)
    assert stage.requests[0].body == {"additional_data": {"program_id": 1, "test_mode": True}}


def test_warnings_about_the_key_are_told_and_change_no_outcome() -> None:
    warnings = [{"code": "api_key_rotation_required", "message": "m", "hint": "h"}]
    told: list[Any] = []

    def on_warnings(its: list[dict[str, Any]]) -> None:
        told.append(its)
        raise RuntimeError("of the listener")

    stage = Stage(Scene(200, {**RECORDED, "warnings": warnings}))
    assert stage.tracker(on_warnings=on_warnings).sale(**SALE).kind == "recorded"
    assert told == [warnings]


def test_without_a_listener_the_first_warning_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    answer = {**RECORDED, "warnings": [{"code": "c", "message": "Replace this key.", "hint": "h"}]}
    tracker = Stage(Scene(200, answer), Scene(200, answer)).tracker()
    with caplog.at_level(logging.WARNING):
        tracker.sale(**SALE)
        tracker.sale(**SALE)
    assert [record.message for record in caplog.records] == ["Replace this key. h"]


def test_the_key_is_in_no_text_of_the_client() -> None:
    assert "aff_secret" not in repr(Stage().tracker())


@pytest.mark.parametrize("url", ["", "track.example", "ftp://track.example", "https://"])
def test_an_address_that_cannot_be_right_is_a_mistake_of_the_set_up(url: str) -> None:
    with pytest.raises(TrackerError, match="url"):
        Tracker(url)


def test_a_key_that_cannot_be_right_is_a_mistake_of_the_set_up() -> None:
    with pytest.raises(TrackerError, match="key"):
        Tracker("https://track.example", "aff_a\n")


def test_asyncio_has_the_same_calls() -> None:
    stage = Stage(Scene(200, RECORDED))
    outcome = asyncio.run(AsyncTracker(stage.tracker()).sale(**SALE))
    assert outcome.kind == "recorded"


@pytest.mark.parametrize("make", [bodies.click, bodies.lead, bodies.sale, bodies.refund])
def test_a_call_takes_every_field_of_the_description(make: Callable[..., object]) -> None:
    name = f"{make.__name__.capitalize()}Request"
    api = json.loads((ROOT / "docs/openapi.json").read_text(encoding="utf-8"))
    fields = set(api["components"]["schemas"][name]["properties"])
    assert set(inspect.signature(make).parameters) == fields
