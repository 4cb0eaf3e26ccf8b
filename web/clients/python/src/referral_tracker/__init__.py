"""Reports clicks, leads, sales and refunds to a referral-tracker service, and verifies its webhooks."""

from .client import AsyncTracker, Patience, Tracker
from .cookies import click_id_from
from .errors import QueueError, RefusedError, TrackerError, UnavailableError, WebhookError
from .outcomes import (
    AlreadyDone,
    ClickOutcome,
    ClickRecorded,
    LeadOutcome,
    LeadRecorded,
    NotOurs,
    Outcome,
    RefundOutcome,
    RefundRecorded,
    SaleOutcome,
    SaleRecorded,
    Tested,
)
from .queue import Queue, Queued
from .webhooks import Webhook, WebhookVerifier

__all__ = [
    "AlreadyDone",
    "AsyncTracker",
    "ClickOutcome",
    "ClickRecorded",
    "LeadOutcome",
    "LeadRecorded",
    "NotOurs",
    "Outcome",
    "Patience",
    "Queue",
    "QueueError",
    "Queued",
    "RefundOutcome",
    "RefundRecorded",
    "RefusedError",
    "SaleOutcome",
    "SaleRecorded",
    "Tested",
    "Tracker",
    "TrackerError",
    "UnavailableError",
    "Webhook",
    "WebhookError",
    "WebhookVerifier",
    "click_id_from",
]
