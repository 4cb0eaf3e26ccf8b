from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

import pytest
from stage import Scene, Stage
from standardwebhooks import Webhook as StandardWebhook
from vectors import VECTORS

from referral_tracker import Patience, RefusedError, UnavailableError, WebhookError, WebhookVerifier, click_id_from
from referral_tracker.outcomes import outcome_of
from referral_tracker.retry import may_retry, retry_after, wait

WEBHOOKS = VECTORS["webhooks"]


def named(case: dict[str, Any]) -> str:
    return str(case["name"])


@pytest.mark.parametrize("case", VECTORS["answers"], ids=named)
def test_answer(case: dict[str, Any]) -> None:
    # What is no JSON is None to this client.
    body = None if isinstance(case["body"], str) else case["body"]
    if "outcome" in case:
        outcome = asdict(outcome_of(case["noun"], case["status"], body))
        assert json.loads(json.dumps(outcome)) == case["outcome"]
        return
    with pytest.raises(RefusedError) as refused:
        outcome_of(case["noun"], case["status"], body, "r-1")
    error = refused.value
    assert {"message": error.message, "code": error.code} == case["error"]
    assert (error.status, error.request_id) == (case["status"], "r-1")


def test_retries() -> None:
    decided = [{**case, "retry": may_retry(case["noun"], case["failure"])} for case in VECTORS["retries"]]
    assert decided == VECTORS["retries"]


@pytest.mark.parametrize("case", VECTORS["waits"]["cases"], ids=str)
def test_waits(case: dict[str, Any]) -> None:
    assert wait(case["attempt"], case["random"], case["retry_after"]) == case["seconds"]


def test_a_very_late_attempt_waits_no_longer() -> None:
    assert wait(100_000, 1, None) == 8


@pytest.mark.parametrize("case", VECTORS["retry_after"]["cases"], ids=str)
def test_retry_after(case: dict[str, Any]) -> None:
    assert retry_after(case["header"], VECTORS["retry_after"]["now"]) == case["seconds"]


@pytest.mark.parametrize("case", VECTORS["mistakes"], ids=named)
def test_mistakes(case: dict[str, Any]) -> None:
    stage = Stage(Scene(503))
    with pytest.raises((RefusedError, UnavailableError)) as failed:
        stage.tracker(patience=Patience(attempts=1)).track(case["noun"], case["body"])
    error = failed.value
    if case["error"] is None:
        assert isinstance(error, UnavailableError)
        assert len(stage.requests) == 1
        return
    assert isinstance(error, RefusedError)
    assert (error.message, error.status, error.code, error.request_id) == (case["error"], None, "invalid_call", None)
    assert stage.requests == []


@pytest.mark.parametrize("case", VECTORS["cookies"], ids=named)
def test_cookies(case: dict[str, Any]) -> None:
    assert click_id_from(case["header"]) == case["click_id"]


def test_cookies_of_a_framework() -> None:
    assert click_id_from({"tracker_click_id": "cust_1_2"}) == "cust_1_2"
    assert click_id_from({"tracker_click_id": "%zz", "customer_code": "cust_3_4"}) == "cust_3_4"
    assert click_id_from({}) is None
    assert click_id_from(None) is None


@pytest.mark.parametrize("case", WEBHOOKS["cases"], ids=named)
def test_webhook(case: dict[str, Any]) -> None:
    verifier = WebhookVerifier(case["secrets"], now=lambda: float(WEBHOOKS["now"]))
    capitals = {name.upper(): value for name, value in case["headers"].items()}
    for body, headers in [(case["body"], case["headers"]), (case["body"].encode(), capitals)]:
        if case["error"] is None:
            webhook = verifier.verify(body, headers)
            assert webhook.id == case["headers"]["webhook-id"]
            assert webhook.event == json.loads(case["body"])
        else:
            with pytest.raises(WebhookError) as refused:
                verifier.verify(body, headers)
            assert refused.value.reason == case["error"]


def test_the_library_of_standard_webhooks_makes_the_same_signatures() -> None:
    for case in WEBHOOKS["cases"]:
        if case["error"] not in (None, "signature"):
            continue
        headers = case["headers"]
        expected = [
            StandardWebhook(secret).sign(
                headers["webhook-id"], datetime.fromtimestamp(int(headers["webhook-timestamp"]), timezone.utc), case["body"]
            )
            for secret in case["secrets"]
        ]
        is_ours = any(signature in headers["webhook-signature"].split(" ") for signature in expected)
        assert is_ours == (case["error"] is None), case["name"]


@pytest.mark.parametrize("secret", ["", "whsec_", []])
def test_an_empty_secret_is_a_mistake_of_the_set_up(secret: str | list[str]) -> None:
    with pytest.raises(ValueError, match="empty"):
        WebhookVerifier(secret)
