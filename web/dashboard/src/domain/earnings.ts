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
