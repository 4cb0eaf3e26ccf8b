mod adjustments;
mod debts;
mod payout_preview;
mod payouts;
mod told;
