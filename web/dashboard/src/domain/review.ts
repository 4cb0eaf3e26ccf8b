/** Decisions on commissions as they are shown: what has changed meanwhile is refused, and said. */
import type { Refused } from '../api/client';
import { money } from './money';
import { say } from '../texts/catalogue';
import { texts } from '../texts/domain/review';

export interface Shown {
  id: number;
  transaction_id?: string | null;
  payable_cents: number;
  currency: string;
}

/** Of a request that decides on them. */
export function shownAmounts(shown: readonly Shown[]) {
  return {
    commission_ids: shown.map(({ id }) => id),
    expected_payable_cents: Object.fromEntries(shown.map(({ id, payable_cents }) => [String(id), payable_cents])),
  };
}

/** Their sum in each currency: `$12.00, ¥500`. */
export function totals(shown: readonly Shown[]): string {
  const sums = new Map<string, number>();
  for (const { payable_cents: cents, currency } of shown) sums.set(currency, (sums.get(currency) ?? 0) + cents);
  return [...sums].map(([currency, cents]) => money(cents, currency)).join(', ');
}

const CHANGED = /^changed meanwhile: (-?\d+) is payable, not (-?\d+)$/;
const MOST_NAMED = 3;

/** What keeps the commissions of a list from being decided on: `t2 is worth $10.00 by now, not $20.00.` */
export function refusalText(message: string, reasons: readonly Refused[], shown: readonly Shown[]): string {
  const named = reasons.slice(0, MOST_NAMED).map(({ commission_id: id, reason }) => {
    const one = shown.find((shown) => shown.id === id);
    const name = one?.transaction_id ?? say(texts.commission, { id });
    const [, now, then] = CHANGED.exec(reason) ?? [];
    if (!one || now === undefined || then === undefined) return `${name}: ${reason}.`;
    return say(texts.worthNow, { name, now: money(Number(now), one.currency), then: money(Number(then), one.currency) });
  });
  const more = reasons.length - named.length;
  return [`${message}.`, ...named, more > 0 ? say(texts.moreChanged, { number: more }) : '', texts.reload].filter(Boolean).join(' ');
}
