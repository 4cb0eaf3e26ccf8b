"""What this package raises. Ordinary answers are outcomes, no errors."""

from __future__ import annotations

from typing import Literal


class TrackerError(Exception):
    """Any error of this package."""


class RefusedError(TrackerError):
    """The call, the key or the address is wrong: the service refused it, and would again; or this package did, and sent nothing."""

    def __init__(self, message: str, status: int | None, code: str | None, request_id: str | None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        """The HTTP status; None if nothing was sent."""
        self.code = code
        """The service's own word for the error, where it has one, such as `api_key_rotation_required`; `invalid_call` if nothing was sent."""
        self.request_id = request_id
        """For the service's operators, who find the request by it."""


class UnavailableError(TrackerError):
    """No answer, or none that says more than "later", after as many attempts as were allowed, or when the queue was closed."""

    def __init__(
        self,
        message: str,
        attempts: int,
        status: int | None,
        is_unknown: bool,
        retry_after_seconds: int | None,
    ) -> None:
        super().__init__(message)
        self.attempts = attempts
        self.status = status
        """The last HTTP status; None if there was no answer."""
        self.is_unknown = is_unknown
        """True if the event may have been recorded although no answer says so: send it again with the same transaction_id."""
        self.retry_after_seconds = retry_after_seconds
        """What the service asked for."""


class QueueError(TrackerError):
    """The event was not queued, or not sent before the queue was closed."""

    def __init__(self, reason: Literal["full", "closed"]) -> None:
        super().__init__(f"the queue is {reason}")
        self.reason = reason


class WebhookError(TrackerError):
    """Answer such a webhook 400, and do nothing else with it."""

    def __init__(self, reason: Literal["missing_header", "timestamp", "signature", "body"]) -> None:
        super().__init__(_WEBHOOK_REASONS[reason])
        self.reason = reason


_WEBHOOK_REASONS = {
    "missing_header": "a header of the webhook is missing",
    "timestamp": "the webhook's timestamp is not of these minutes",
    "signature": "the webhook's signature is wrong",
    "body": "the webhook's body is no event",
}
