"""What each call sends. `None` and absence are the same."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, cast
from uuid import UUID

if TYPE_CHECKING:
    from .api import ClickRequest, LeadRequest, RefundRequest, SaleRequest

P = ParamSpec("P")
S = TypeVar("S")
B = TypeVar("B")
T = TypeVar("T")

Key = str | int | UUID


def click(
    affiliate_url: str,
    *,
    page_url: str | None = None,
    page_title: str | None = None,
    referrer_url: str | None = None,
    session_id: str | None = None,
    user_agent: str | None = None,
    screen_resolution: str | None = None,
    viewport_size: str | None = None,
    language: str | None = None,
    timezone: str | None = None,
    existing_click_id: str | None = None,
    additional_data: Mapping[str, Any] | None = None,
) -> ClickRequest:
    """A visitor came through a partner's link.

    The browser script does this; a server reports visits of pages without it.
    """
    return cast("ClickRequest", _given(locals()))


def lead(
    *,
    click_id: str | None = None,
    customer_key: Key | None = None,
    email: str | None = None,
    event_name: str | None = None,
    additional_data: Mapping[str, Any] | None = None,
) -> LeadRequest:
    """A visitor signed up."""
    return cast("LeadRequest", _given(locals()))


def sale(
    *,
    transaction_id: str | UUID,
    amount_cents: int,
    customer_key: Key | None = None,
    click_id: str | None = None,
    commissionable_cents: int | None = None,
    currency: str | None = None,
    sale_type: Literal["payment", "subscription"] | None = None,
    line_items: Mapping[str, Any] | Sequence[Any] | None = None,
    is_recurring: bool | None = None,
    subscription_id: str | None = None,
    subscription_interval: Literal["monthly", "quarterly", "annual"] | None = None,
    product_id: str | None = None,
    additional_data: Mapping[str, Any] | None = None,
) -> SaleRequest:
    """A customer paid."""
    return cast("SaleRequest", _given(locals()))


def refund(
    *,
    transaction_id: str | UUID,
    refund_amount_cents: int | None = None,
    refund_id: str | None = None,
    refund_reason: str | None = None,
    additional_data: Mapping[str, Any] | None = None,
) -> RefundRequest:
    """Money went back.

    Name partial refunds by `refund_id`: without one, the same amount again is a repeat.
    """
    return cast("RefundRequest", _given(locals()))


def _given(arguments: Mapping[str, object]) -> dict[str, object]:
    given = {name: value for name, value in arguments.items() if value is not None}
    # JSON has no UUIDs, and primary keys often are.
    return {name: str(value) if isinstance(value, UUID) else value for name, value in given.items()}


def takes(make: Callable[P, B]) -> Callable[[Callable[[S, B], T]], Callable[Concatenate[S, P], T]]:
    """A method that takes the arguments of `make`, and is handed what it makes of them."""

    def decorate(method: Callable[[S, B], T]) -> Callable[Concatenate[S, P], T]:
        @functools.wraps(make)
        def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return method(self, make(*args, **kwargs))

        return call

    return decorate
