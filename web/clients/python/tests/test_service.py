"""Against a running service."""

from __future__ import annotations

import queue as queues
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from owner import Owner, setting

from referral_tracker import (
    AlreadyDone,
    ClickRecorded,
    LeadRecorded,
    NotOurs,
    Queue,
    RefundRecorded,
    RefusedError,
    SaleRecorded,
    Tested,
    Tracker,
    WebhookError,
    WebhookVerifier,
)

pytestmark = pytest.mark.service


def new(noun: str) -> str:
    return f"python {noun} {uuid.uuid4()}"


@pytest.fixture(scope="module")
def tracker() -> Tracker:
    return Tracker(setting("BASE_URL"), setting("DEMO_API_KEY"))


@pytest.fixture
def click_id(tracker: Tracker) -> str:
    click = tracker.click(f"https://shop.example/?aff={setting('DEMO_AFF_A')}")
    assert isinstance(click, ClickRecorded)
    return click.click_id


def test_click_lead_sale_and_refund_and_each_of_them_again(tracker: Tracker, click_id: str) -> None:
    customer, order = new("customer"), new("order")

    def lead() -> object:
        return tracker.lead(click_id=click_id, customer_key=customer, email="jane@shop.example")

    def part() -> object:
        return tracker.refund(transaction_id=order, refund_amount_cents=900, refund_id="first")

    assert lead() == LeadRecorded(provisional=False)
    assert isinstance(lead(), AlreadyDone)
    sale = tracker.sale(transaction_id=order, amount_cents=4900, customer_key=customer)
    assert isinstance(sale, SaleRecorded)
    assert sale.commission_id is not None
    assert isinstance(tracker.sale(transaction_id=order, amount_cents=4900, customer_key=customer), AlreadyDone)
    refunded = part()
    assert isinstance(refunded, RefundRecorded)
    assert refunded.status == "refunded"
    assert isinstance(part(), AlreadyDone)
    rest = tracker.refund(transaction_id=order)
    assert isinstance(rest, RefundRecorded)
    assert rest.status == "reversed"
    assert isinstance(tracker.refund(transaction_id=order), AlreadyDone)


def test_whoever_came_without_a_link_is_not_ours(tracker: Tracker) -> None:
    customer, order = new("customer"), new("order")
    outcomes = [
        tracker.click("https://shop.example/"),
        tracker.click("https://shop.example/?aff=nobody-has-this"),
        tracker.lead(click_id=None, customer_key=customer),
        tracker.lead(click_id="what a visitor wrote there", customer_key=customer),
        tracker.sale(transaction_id=order, amount_cents=4900, customer_key=customer),
        tracker.refund(transaction_id=order),
    ]
    reasons = [outcome.reason for outcome in outcomes if isinstance(outcome, NotOurs)]
    nobody = "customer_not_found"
    assert reasons == ["no_code", "link_not_found", nobody, nobody, nobody, "sale_not_found"]


def test_mistakes_are_raised(tracker: Tracker) -> None:
    with pytest.raises(RefusedError) as refused:
        tracker.lead()
    assert refused.value.status is None
    with pytest.raises(RefusedError):
        tracker.sale(transaction_id=new("order"), amount_cents=0, customer_key="x")
    with pytest.raises(RefusedError) as refused:
        Tracker(setting("BASE_URL"), "aff_wrong").refund(transaction_id="x")
    assert refused.value.status == 401
    with pytest.raises(RefusedError):
        Tracker(f"{setting('BASE_URL')}/elsewhere", setting("DEMO_API_KEY")).refund(transaction_id="x")


def test_test_mode_counts_nothing() -> None:
    tracker = Tracker(setting("BASE_URL"), setting("DEMO_API_KEY"), test_mode=True)
    order = new("order")
    assert isinstance(tracker.sale(transaction_id=order, amount_cents=4900), Tested)
    assert isinstance(tracker.refund(transaction_id=order), Tested)


def test_a_queue_sends_a_customer_in_order(tracker: Tracker, click_id: str) -> None:
    customer, order = new("customer"), new("order")
    settled: list[str] = []
    with Queue(
        tracker,
        on_error=lambda event, error: settled.append(f"{event.noun} {error}"),
        on_outcome=lambda event, outcome: settled.append(f"{event.noun} {outcome.kind}"),
    ) as queue:
        queue.lead(click_id=click_id, customer_key=customer)
        queue.sale(transaction_id=order, amount_cents=100, customer_key=customer)
        queue.refund(transaction_id=order)
    assert settled == ["lead recorded", "sale recorded", "refund recorded"]


class Receiver(HTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.received: queues.Queue[tuple[bytes, dict[str, str]]] = queues.Queue()


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.received.put((body, dict(self.headers)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        threading.Thread(target=receiver.serve_forever, args=(0.02,), daemon=True).start()
        yield receiver
        receiver.shutdown()


def test_a_webhook_of_the_service_is_verified(receiver: Receiver) -> None:
    owner = Owner(setting("BASE_URL"))
    path, secret = owner.endpoint(f"http://127.0.0.1:{receiver.server_address[1]}/", "sale.recorded")
    try:
        owner.ask("POST", f"{path}/test", {"type": "sale.recorded"})
        while True:
            # A sale of a test before this one may arrive first.
            body, headers = receiver.received.get(timeout=60)
            event = WebhookVerifier(secret).verify(body, headers).event
            assert event["type"] == "sale.recorded"
            assert isinstance(event["data"]["amount_cents"], int)
            if event.get("is_test"):
                break
        with pytest.raises(WebhookError):
            WebhookVerifier(f"whsec_{'A' * 44}").verify(body, headers)
    finally:
        owner.ask("DELETE", path)
