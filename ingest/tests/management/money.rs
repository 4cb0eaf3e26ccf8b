mod adjustments;
mod debts;
mod partner_payouts;
mod payout_preview;
mod payouts;
mod review;
mod told;
