"""Runs the examples of the documents against a service, with definitions of what they leave to their reader."""

from __future__ import annotations

import base64
import json
import os
import uuid
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

import pytest
from owner import setting
from page import blocks, page, section
from standardwebhooks import Webhook

from referral_tracker import AlreadyDone, ClickRecorded, SaleRecorded, Tracker

pytestmark = pytest.mark.service

SECRET = f"whsec_{base64.b64encode(os.urandom(32)).decode()}"
WEBHOOKS = "/webhooks/referrals"


@pytest.fixture
def tracker(monkeypatch: pytest.MonkeyPatch) -> Tracker:
    monkeypatch.setenv("TRACKER_URL", setting("BASE_URL"))
    monkeypatch.setenv("TRACKER_API_KEY", setting("DEMO_API_KEY"))
    monkeypatch.setenv("WEBHOOK_SECRET", SECRET)
    return Tracker(setting("BASE_URL"), setting("DEMO_API_KEY"))


@pytest.fixture
def click_id(tracker: Tracker) -> str:
    click = tracker.click(f"https://shop.example/?aff={setting('DEMO_AFF_A')}")
    assert isinstance(click, ClickRecorded)
    return click.click_id


def webhook(secret: str = SECRET) -> tuple[str, dict[str, str]]:
    """Body and headers of what an endpoint gets."""
    body = json.dumps({"type": "sale.recorded", "timestamp": "2026-05-04T09:30:00.000Z", "data": {"program_id": 1}})
    name, now = f"evt_{uuid.uuid4()}", datetime.now(timezone.utc)
    return body, {
        "content-type": "application/json",
        "webhook-id": name,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret).sign(name, now, body),
    }


OTHER_SECRET = f"whsec_{'A' * 43}="


def first_sale(tracker: Tracker, customer: str) -> object:
    return tracker.sale(transaction_id=customer, amount_cents=4900, customer_key=customer)


def test_fastapi(tracker: Tracker, click_id: str) -> None:
    from fastapi.testclient import TestClient

    remembered: list[str] = []

    async def create_user(body: Any) -> SimpleNamespace:
        return SimpleNamespace(**body)

    async def remember(name: str, event: Any) -> None:
        remembered.append(event["type"])

    names: dict[str, Any] = {"create_user": create_user, "remember": remember}
    exec(blocks(section(page("docs/integrate.md"), "FastAPI"))[0], names)
    customer = f"fastapi {uuid.uuid4()}"
    with TestClient(names["app"], cookies={"tracker_click_id": click_id}) as client:
        assert client.post("/signup", json={"id": customer, "email": "jane@shop.example"}).status_code == 201
        assert names["queue"].flush(30)
        assert isinstance(first_sale(tracker, customer), SaleRecorded)
        body, headers = webhook()
        assert client.post(WEBHOOKS, content=body, headers=headers).status_code == 204
        body, headers = webhook(OTHER_SECRET)
        assert client.post(WEBHOOKS, content=body, headers=headers).status_code == 400
    assert remembered == ["sale.recorded"]


def test_ten_lines_to_the_first_sale(tracker: Tracker, click_id: str) -> None:
    customer = f"readme {uuid.uuid4()}"
    names: dict[str, Any] = {
        "request": SimpleNamespace(cookies={"tracker_click_id": click_id}),
        "user": SimpleNamespace(id=customer, email="jane@shop.example"),
        "order": SimpleNamespace(id=customer),
    }
    exec(blocks(page("web/clients/python/README.md"))[0], names)
    assert isinstance(tracker.refund(transaction_id=customer), AlreadyDone)
