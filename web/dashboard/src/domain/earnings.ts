/** Commissions by the day on which they become payable. Pure; days are UTC days. */
import { dayOf, type Day } from './days';

export interface Earned {
  payable_cents: number;
  currency: string;
  status: string;
  hold_until: string;
  approved_at?: string | null;
  paid_at?: string | null;
}

const dayOfInstant = (instant: string): Day => dayOf(new Date(instant));

/** In its hold period: also the rest after a refund. The end of the hold approves it, unless the advertiser looks at it first. */
export function isPending({ status, approved_at, paid_at, payable_cents }: Earned): boolean {
  return status === 'pending' || (status === 'refunded' && !approved_at && !paid_at && payable_cents > 0);
}

/** What becomes payable on a day. No day: the hold has ended, and the advertiser has not approved it yet. */
export interface Due {
  day: Day | undefined;
  currency: string;
  cents: number;
}

/** Earliest first. */
export function upcoming(rows: readonly Earned[], now: Date): Due[] {
  const dues = new Map<string, Due>();
  for (const row of rows.filter(isPending)) {
    const day = Date.parse(row.hold_until) <= now.getTime() ? undefined : dayOfInstant(row.hold_until);
    const key = `${day ?? ''} ${row.currency}`;
    const due = dues.get(key) ?? { day, currency: row.currency, cents: 0 };
    dues.set(key, { ...due, cents: due.cents + row.payable_cents });
  }
  return [...dues].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, due]) => due);
}
