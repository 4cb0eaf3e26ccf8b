/** Commissions before they are paid, and when they are. Pure. */
export interface Earned {
  payable_cents: number;
  status: string;
  approved_at?: string | null;
  paid_at?: string | null;
}

/** In its hold period: also the rest after a refund. The end of the hold approves it, unless the advertiser looks at it first. */
export function isPending({ status, approved_at, paid_at, payable_cents }: Earned): boolean {
  return status === 'pending' || (status === 'refunded' && !approved_at && !paid_at && payable_cents > 0);
}

/** What a list is asked for by the choice of a status: what was paid stays so, though refunds and rejections have changed its status since. */
export function ofStatus(status: string): { status?: string; paid?: boolean } {
  if (status === 'paid') return { paid: true };
  return status ? { status } : {};
}

/** Of a partner in one program and currency, or in all programs. */
export interface Owed {
  currency: string;
  approved_cents: number;
  pending_cents: number;
  paid_cents: number;
}

/** What several programs owe together, by currency; nothing where each has a currency of its own, which would say the same twice. */
export function together(balances: readonly Owed[]): Owed[] {
  const sums = new Map<string, Owed>();
  for (const { currency, approved_cents, pending_cents, paid_cents } of balances) {
    const sum = sums.get(currency) ?? { currency, approved_cents: 0, pending_cents: 0, paid_cents: 0 };
    sums.set(currency, {
      currency,
      approved_cents: sum.approved_cents + approved_cents,
      pending_cents: sum.pending_cents + pending_cents,
      paid_cents: sum.paid_cents + paid_cents,
    });
  }
  return sums.size < balances.length ? [...sums.values()] : [];
}
