/** Commissions before they are paid. Pure. */
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
