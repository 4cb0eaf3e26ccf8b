mod adjustments;
mod debts;
mod exports;
mod outbound_events;
mod partner_payouts;
mod payout_preview;
mod payouts;
mod review;
