"""The types of the API, as docs/openapi.json has them. Written by scripts/generate.py."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypedDict

from typing_extensions import NotRequired


class AdditionalFields(TypedDict):
    test_mode: NotRequired[bool | None]
    """
    Records an isolated test event instead of a real one; a refund then takes nothing back.
    """
    program_id: NotRequired[Any]
    """
    Whose test event it is, where no key says so: a number, or the same in a string. Looked at in test mode only.
    """
    event_name: NotRequired[Any]
    """
    What the signup is called: text of at most 255 characters. Looked at on a lead only.
    """


class ClickRequest(TypedDict):
    affiliate_url: str
    """
    The landing URL, absolute, with the partner's code as its `aff` parameter.
    """
    page_url: NotRequired[str | None]
    page_title: NotRequired[str | None]
    referrer_url: NotRequired[str | None]
    session_id: NotRequired[str | None]
    user_agent: NotRequired[str | None]
    """
    The `User-Agent` header when absent.
    """
    screen_resolution: NotRequired[str | None]
    """
    Width and height of the screen, in pixels.
    """
    viewport_size: NotRequired[str | None]
    """
    Width and height of the page's window, in pixels.
    """
    language: NotRequired[str | None]
    """
    As the browser names it.
    """
    timezone: NotRequired[str | None]
    """
    IANA name.
    """
    existing_click_id: NotRequired[str | None]
    """
    The visitor's click_id from an earlier click: a customer of this program is recognised by it. An
    unknown one counts as absent.
    """
    additional_data: NotRequired[AdditionalFields | None]


class CommissionEvent(TypedDict):
    """
    A commission as this event left it.
    """

    program_id: int
    commission_id: int
    sale_id: NotRequired[int | None]
    """
    Null, like what is of the sale, when it was added by hand and makes up for no sale.
    """
    transaction_id: NotRequired[str | None]
    customer_key: NotRequired[str | None]
    click_id: NotRequired[str | None]
    partner_id: int
    partner_program_id: int
    """
    The partner, as a member of the program.
    """
    referral_link_code: NotRequired[str | None]
    amount_cents: int
    """
    What was earned, changes by hand included.
    """
    deducted_cents: int
    """
    What refunds have taken of it so far.
    """
    currency: str
    status: str
    """
    `pending`, `approved`, `paid`, `refunded` or `reversed`.
    """
    hold_until: str


class CommissionPaid(CommissionEvent):
    """
    A commission that a payout paid.
    """

    payout_id: int
    paid_cents: int
    """
    What the partner is to receive for it.
    """
    withheld_cents: int
    """
    What of it settled a debt instead: a commission that was paid, and reversed afterwards.
    """


class CommissionPaidEvent(TypedDict):
    type: Literal['commission.paid']
    timestamp: str
    """
    When it happened: ISO 8601 in UTC.
    """
    data: CommissionPaid
    is_test: NotRequired[bool]
    """
    True of a test event, which never happened; absent otherwise.
    """


class CommissionReversed(CommissionEvent):
    """
    A commission of which a refund took all or a part; or one that is not due, because an earlier click or payment became known.
    """

    reversed_cents: int
    """
    What was taken of it this time.
    """
    reason: NotRequired[str | None]


class CommissionReversedEvent(TypedDict):
    type: Literal['commission.reversed']
    timestamp: str
    """
    When it happened: ISO 8601 in UTC.
    """
    data: CommissionReversed
    is_test: NotRequired[bool]
    """
    True of a test event, which never happened; absent otherwise.
    """


class EndpointDisabled(TypedDict):
    """
    A webhook endpoint that is sent nothing any more. The program's other endpoints learn of it.
    """

    program_id: int
    endpoint_id: int
    url: str
    reason: str
    """
    `gone`: it answered 410. `failing`: all deliveries failed for five days. `by_hand`: by the advertiser or an operator.
    """
    failing_since: NotRequired[str | None]
    """
    The first failure since the last success.
    """


class EndpointDisabledEvent(TypedDict):
    type: Literal['endpoint.disabled']
    timestamp: str
    """
    When it happened: ISO 8601 in UTC.
    """
    data: EndpointDisabled
    is_test: NotRequired[bool]
    """
    True of a test event, which never happened; absent otherwise.
    """


class KeyRetiredBody(TypedDict):
    code: Literal['api_key_rotation_required']
    message: str
    hint: str
    docs_url: str


class LeadCreated(TypedDict):
    """
    A signup, of a customer who came by a referral link.
    """

    program_id: int
    customer_key: NotRequired[str | None]
    """
    The advertiser's own key of the customer.
    """
    click_id: str
    event_name: NotRequired[str | None]
    """
    As the caller named it.
    """
    provisional: bool
    """
    A browser's, which no authenticated call has confirmed.
    """
    partner_id: NotRequired[int | None]
    """
    The partner by whose link the customer came; null when the link has none any more.
    """
    referral_link_code: NotRequired[str | None]


class LeadCreatedEvent(TypedDict):
    type: Literal['lead.created']
    timestamp: str
    """
    When it happened: ISO 8601 in UTC.
    """
    data: LeadCreated
    is_test: NotRequired[bool]
    """
    True of a test event, which never happened; absent otherwise.
    """


class LeadRequest(TypedDict):
    """
    At least one of `click_id` and `customer_key` names the customer; both together bind them to each other.
    """

    click_id: NotRequired[str | None]
    """
    The answer to the visitor's click.
    """
    customer_key: NotRequired[str | int | None]
    """
    The advertiser's own stable id of the user; an integer counts as its decimal text.
    """
    email: NotRequired[str | None]
    """
    Stored as a keyed hash only.
    """
    event_name: NotRequired[str | None]
    additional_data: NotRequired[AdditionalFields | None]


class LinkDisabledBody(TypedDict):
    code: Literal['link_disabled']
    message: str
    hint: str


class PartnerEvent(TypedDict):
    """
    A partner, as a member of the program.
    """

    program_id: int
    partner_program_id: int
    """
    The membership.
    """
    partner_id: int
    partner_name: str
    status: str
    """
    `pending`, `approved` or `suspended`. Only who is approved earns anything.
    """


class PartnerSuspendedEvent(TypedDict):
    type: Literal['partner.suspended']
    timestamp: str
    """
    When it happened: ISO 8601 in UTC.
    """
    data: PartnerEvent
    is_test: NotRequired[bool]
    """
    True of a test event, which never happened; absent otherwise.
    """


class PayoutEvent(TypedDict):
    """
    Commissions that are paid together, in one currency.
    """

    program_id: int
    payout_id: int
    amount_cents: int
    """
    What partners are to receive.
    """
    currency: str
    commission_count: int
    """
    Each has an event `commission.paid`, too.
    """
    reference: NotRequired[str | None]
    """
    The advertiser's own words, such as a bank's reference.
    """


class PayoutFailed(PayoutEvent):
    """
    A payout that did not reach its partners.
    """

    reason: str


class PayoutFailedEvent(TypedDict):
    type: Literal['payout.failed']
    timestamp: str
    """
    When it happened: ISO 8601 in UTC.
    """
    data: PayoutFailed
    is_test: NotRequired[bool]
    """
    True of a test event, which never happened; absent otherwise.
    """


class PayoutSettledEvent(TypedDict):
    type: Literal['payout.settled']
    timestamp: str
    """
    When it happened: ISO 8601 in UTC.
    """
    data: PayoutEvent
    is_test: NotRequired[bool]
    """
    True of a test event, which never happened; absent otherwise.
    """


class PlatformErrorBody(TypedDict):
    status: int
    """
    The HTTP status.
    """
    name: str
    message: str
    details: dict[str, Any]
    """
    Usually empty.
    """


class ProcessorEventNeedsReview(TypedDict):
    """
    An event of a payment processor that nothing follows from until a person has looked at it.
    """

    program_id: int
    processor_event_id: str
    """
    As the processor names it.
    """
    kind: str
    """
    The processor's type of it.
    """
    state: str
    """
    `review`: it may change money, and the service decides nothing about it. `stuck`: it cannot be handled.
    """
    reason: NotRequired[str | None]
    received_at: str
    """
    When the processor sent it.
    """


class ProcessorEventNeedsReviewEvent(TypedDict):
    type: Literal['processor_event.needs_review']
    timestamp: str
    """
    When it happened: ISO 8601 in UTC.
    """
    data: ProcessorEventNeedsReview
    is_test: NotRequired[bool]
    """
    True of a test event, which never happened; absent otherwise.
    """


class RateLimitedBody(TypedDict):
    code: Literal['rate_limited']
    status: int
    message: str
    retry_after_seconds: int
    """
    The same as in `Retry-After`: at most a minute, for test chains an hour.
    """


class RefundRequest(TypedDict):
    transaction_id: NotRequired[str | None]
    """
    The sale's transaction_id.
    Test mode does without.
    """
    refund_amount_cents: NotRequired[int | None]
    """
    This refund alone, in the currency's smallest unit; the rest of the sale when absent or 0. What goes beyond
    the sale is not counted.
    """
    refund_id: NotRequired[str | None]
    """
    Names this refund, so that a repeat of it has no effect. Without it, the same amount again is a repeat.
    """
    refund_reason: NotRequired[str | None]
    additional_data: NotRequired[AdditionalFields | None]


class RotationWarning(TypedDict):
    code: Literal['api_key_rotation_required']
    message: str
    hint: str
    rotate_by: str
    """
    ISO 8601 in UTC: the key works until then.
    """
    docs_url: str


class SaleRecorded(TypedDict):
    """
    A payment, recorded with what partners earn by it.
    """

    program_id: int
    sale_id: int
    transaction_id: str
    """
    As the caller sent it.
    """
    customer_key: NotRequired[str | None]
    click_id: str
    amount_cents: int
    """
    What the customer paid.
    """
    commissionable_cents: NotRequired[int | None]
    """
    What of it percentages are taken of, where that is not the whole amount.
    """
    currency: str
    is_recurring: bool
    subscription_id: NotRequired[str | None]
    product_id: NotRequired[str | None]
    partner_id: NotRequired[int | None]
    """
    The link under which the sale counts.
    """
    referral_link_code: NotRequired[str | None]
    commission_ids: list[int]
    """
    Each has an event `commission.created`, too.
    """
    no_commission_reason: NotRequired[str | None]
    """
    Why it earned nothing.
    """


class SaleRecordedEvent(TypedDict):
    type: Literal['sale.recorded']
    timestamp: str
    """
    When it happened: ISO 8601 in UTC.
    """
    data: SaleRecorded
    is_test: NotRequired[bool]
    """
    True of a test event, which never happened; absent otherwise.
    """


class SaleRefunded(TypedDict):
    """
    Money that went back to the customer, in part or wholly.
    """

    program_id: int
    sale_id: int
    transaction_id: str
    customer_key: NotRequired[str | None]
    """
    Null once the customer was erased.
    """
    click_id: NotRequired[str | None]
    """
    Null once the customer was erased.
    """
    refunded_cents: int
    """
    By this refund.
    """
    total_refunded_cents: int
    """
    By all refunds of the sale so far.
    """
    amount_cents: int
    """
    What the customer had paid.
    """
    currency: str
    refund_reason: NotRequired[str | None]


class SaleRefundedEvent(TypedDict):
    type: Literal['sale.refunded']
    timestamp: str
    """
    When it happened: ISO 8601 in UTC.
    """
    data: SaleRefunded
    is_test: NotRequired[bool]
    """
    True of a test event, which never happened; absent otherwise.
    """


class SaleRequest(TypedDict):
    """
    `customer_key`, or else `click_id`, names the customer.
    """

    transaction_id: NotRequired[str | None]
    """
    The payment's own id, unique over all programs: a sale is recorded once, however often it is sent.
    Test mode does without.
    """
    amount_cents: NotRequired[int | None]
    """
    What the customer paid, tax and shipping included, in the currency's smallest unit.
    Test mode does without.
    """
    commissionable_cents: NotRequired[int | None]
    """
    What percentages are taken of: the amount without tax and shipping, 0 to `amount_cents`; the whole amount when absent.
    """
    customer_key: NotRequired[str | int | None]
    """
    The advertiser's own stable id of the user; an integer counts as its decimal text.
    """
    click_id: NotRequired[str | None]
    currency: NotRequired[str | None]
    """
    Three letters of ISO 4217, in either case; `USD` when absent or empty.
    """
    sale_type: NotRequired[Literal['payment', 'subscription', ''] | None]
    """
    `payment` (the default) or `subscription`.
    """
    line_items: NotRequired[dict[str, Any] | list[Any] | None]
    """
    An object or an array of at most 32 KiB, stored as it is.
    """
    is_recurring: NotRequired[bool | None]
    """
    Whether this payment renews a subscription.
    """
    subscription_id: NotRequired[str | None]
    """
    Renewals stay with the partner of their subscription's first sale.
    """
    subscription_interval: NotRequired[Literal['monthly', 'quarterly', 'annual', ''] | None]
    """
    `monthly`, `quarterly` or `annual`.
    """
    product_id: NotRequired[str | None]
    """
    Selects the product's own commission policy, where the program has one.
    """
    additional_data: NotRequired[AdditionalFields | None]


class SkippedRefund(TypedDict):
    """
    A repeat, or nothing of the sale was left to refund.
    """

    success: bool
    status: Literal['skipped']
    reason: str
    commission_id: int | None
    warnings: NotRequired[list[RotationWarning]]


class TestAnswerData(TypedDict):
    eventId: int | None
    """
    The id of the click, lead or sale event. A test refund stores nothing: null.
    """
    programId: int
    test_mode: bool


class UnattributedSale(TypedDict):
    """
    The customer's first click is older than the program's window: nothing is recorded.
    """

    success: bool
    attributed: bool
    reason: Literal['attribution_window_expired']
    click_age_days: int
    """
    Whole days, rounded down.
    """
    window_days: int
    sale_id: int | None
    commission_id: int | None
    warnings: NotRequired[list[RotationWarning]]


class AppliedRefund(TypedDict):
    success: bool
    status: Literal['reversed', 'refunded']
    """
    `reversed` once the whole sale is refunded, `refunded` before.
    """
    deductionAmount: float
    """
    A hundredth of the amount in the sale's smallest unit: dollars, and yen divided by a hundred.
    """
    commission_id: int
    warnings: NotRequired[list[RotationWarning]]


class CommissionApprovedEvent(TypedDict):
    type: Literal['commission.approved']
    timestamp: str
    """
    When it happened: ISO 8601 in UTC.
    """
    data: CommissionEvent
    is_test: NotRequired[bool]
    """
    True of a test event, which never happened; absent otherwise.
    """


class CommissionChanged(CommissionEvent):
    """
    A commission that was changed by hand.
    """

    changed_by_cents: int
    """
    What was added to its amount; taken from it when negative.
    """
    reason: str
    """
    The advertiser's, which the partner reads, too.
    """


class CommissionCreatedEvent(TypedDict):
    type: Literal['commission.created']
    timestamp: str
    """
    When it happened: ISO 8601 in UTC.
    """
    data: CommissionEvent
    is_test: NotRequired[bool]
    """
    True of a test event, which never happened; absent otherwise.
    """


class CommissionRejectedEvent(TypedDict):
    type: Literal['commission.rejected']
    timestamp: str
    """
    When it happened: ISO 8601 in UTC.
    """
    data: CommissionChanged
    is_test: NotRequired[bool]
    """
    True of a test event, which never happened; absent otherwise.
    """


class KeyRetired(TypedDict):
    error: KeyRetiredBody


class LinkDisabled(TypedDict):
    """
    `success` and `message` are there for clients that know no envelope.
    """

    success: bool
    message: str
    error: LinkDisabledBody


class PartnerAppliedEvent(TypedDict):
    type: Literal['partner.applied']
    timestamp: str
    """
    When it happened: ISO 8601 in UTC.
    """
    data: PartnerEvent
    is_test: NotRequired[bool]
    """
    True of a test event, which never happened; absent otherwise.
    """


class PartnerEnrolledEvent(TypedDict):
    type: Literal['partner.enrolled']
    timestamp: str
    """
    When it happened: ISO 8601 in UTC.
    """
    data: PartnerEvent
    is_test: NotRequired[bool]
    """
    True of a test event, which never happened; absent otherwise.
    """


class PayoutCreatedEvent(TypedDict):
    type: Literal['payout.created']
    timestamp: str
    """
    When it happened: ISO 8601 in UTC.
    """
    data: PayoutEvent
    is_test: NotRequired[bool]
    """
    True of a test event, which never happened; absent otherwise.
    """


class PlatformError(TypedDict):
    """
    The platform envelope.
    """

    data: dict[str, Any] | None
    """
    Always null.
    """
    error: PlatformErrorBody


class RateLimited(TypedDict):
    error: RateLimitedBody


class RecordedClick(TypedDict):
    success: bool
    click_id: str
    """
    What the visitor's browser keeps, and leads and sales quote.
    """
    partner_code: str
    """
    The short code of the link that was followed.
    """
    cookie_window_days: int
    """
    How long the browser keeps the click_id.
    """
    warnings: NotRequired[list[RotationWarning]]


class RecordedLead(TypedDict):
    success: bool
    provisional: NotRequired[bool]
    """
    Present and true when the program waits for its backend, or for a payment, to confirm the lead.
    """
    message: str
    warnings: NotRequired[list[RotationWarning]]


class RecordedSale(TypedDict):
    success: bool
    sale_id: int
    commission_id: int | None
    """
    Null when nothing is due on this payment; `message` says why.
    """
    commission_ids: NotRequired[list[int]]
    """
    All of them, where the program splits commissions.
    """
    message: str
    warnings: NotRequired[list[RotationWarning]]


class RefundWithoutCommission(TypedDict):
    success: bool
    status: Literal['no_commission']
    message: str
    warnings: NotRequired[list[RotationWarning]]


class RotationNotice(TypedDict):
    """
    Added to any JSON answer to a key that is marked for rotation, and absent otherwise.
    """

    warnings: NotRequired[list[RotationWarning]]


class TestAnswer(TypedDict):
    """
    The answer to a request in test mode.
    """

    success: bool
    message: str
    data: TestAnswerData
    warnings: NotRequired[list[RotationWarning]]


Unauthorized: TypeAlias = PlatformError | KeyRetired
"""
No usable key: in the platform envelope; or one that was not rotated in time: in the typed one.
"""


ClickAnswer: TypeAlias = RecordedClick | TestAnswer


class CommissionAdjustedEvent(TypedDict):
    type: Literal['commission.adjusted']
    timestamp: str
    """
    When it happened: ISO 8601 in UTC.
    """
    data: CommissionChanged
    is_test: NotRequired[bool]
    """
    True of a test event, which never happened; absent otherwise.
    """


LeadAnswer: TypeAlias = RecordedLead | TestAnswer


RefundAnswer: TypeAlias = AppliedRefund | SkippedRefund | RefundWithoutCommission | TestAnswer


SaleAnswer: TypeAlias = RecordedSale | UnattributedSale | TestAnswer


WebhookEvent: TypeAlias = LeadCreatedEvent | SaleRecordedEvent | SaleRefundedEvent | CommissionCreatedEvent | CommissionApprovedEvent | CommissionAdjustedEvent | CommissionRejectedEvent | CommissionReversedEvent | CommissionPaidEvent | PayoutCreatedEvent | PayoutSettledEvent | PayoutFailedEvent | PartnerAppliedEvent | PartnerEnrolledEvent | PartnerSuspendedEvent | ProcessorEventNeedsReviewEvent | EndpointDisabledEvent
