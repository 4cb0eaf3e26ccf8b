mod adjustments;
mod debts;
mod payouts;
