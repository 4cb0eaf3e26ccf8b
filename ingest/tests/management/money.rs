mod adjustments;
mod debts;
mod payouts;
mod told;
