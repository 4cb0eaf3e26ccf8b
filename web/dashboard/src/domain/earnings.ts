/** Commissions by day: what was earned, what becomes payable when, what was paid. Pure; days are UTC days. */
import { addDays, dayOf, type Day } from './days';

export interface Earned {
  payable_cents: number;
  currency: string;
  status: string;
  hold_until: string;
  approved_at?: string | null;
  paid_at?: string | null;
  createdAt: string;
}

const dayOfInstant = (instant: string): Day => dayOf(new Date(instant));

/** In its hold period: also the rest after a refund. The end of the hold approves it, unless the advertiser looks at it first. */
export function isPending({ status, approved_at, paid_at, payable_cents }: Earned): boolean {
  return status === 'pending' || (status === 'refunded' && !approved_at && !paid_at && payable_cents > 0);
}

/** The days that end today; `from`: no earlier one. */
export function lastDays(today: Day, number: number, from = ''): Day[] {
  const days = Array.from({ length: number }, (_, index) => addDays(today, index + 1 - number));
  return days.filter((day) => day >= from);
}

/** The first day that a list of the newest entries holds as a whole; '' if it holds all there are. */
export function firstWholeDay(instants: readonly string[], isWhole: boolean): Day {
  const oldest = instants.at(-1);
  return isWhole || oldest === undefined ? '' : addDays(dayOfInstant(oldest), 1);
}

export function countsByDay(instants: readonly string[], days: readonly Day[]): number[] {
  return sumsByDay(instants.map((instant) => [instant, 1]), days);
}

/** In the currency's smallest unit, after refunds. */
export function earnedByDay(rows: readonly Earned[], currency: string, days: readonly Day[]): number[] {
  const ofCurrency = rows.filter((row) => row.currency === currency);
  return sumsByDay(ofCurrency.map((row) => [row.createdAt, row.payable_cents]), days);
}

function sumsByDay(entries: readonly (readonly [instant: string, number: number])[], days: readonly Day[]): number[] {
  const sums = new Map(days.map((day) => [day, 0]));
  for (const [instant, number] of entries) {
    const day = dayOfInstant(instant);
    const sum = sums.get(day);
    if (sum !== undefined) sums.set(day, sum + number);
  }
  return [...sums.values()];
}

/** The one with most commissions first. */
export function currenciesOf(rows: readonly Earned[]): string[] {
  const counts = new Map<string, number>();
  for (const { currency } of rows) counts.set(currency, (counts.get(currency) ?? 0) + 1);
  return [...counts].sort(([, one], [, other]) => other - one).map(([currency]) => currency);
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

export interface Paid {
  /** The instant of the payout. */
  at: string;
  program: string;
  currency: string;
  commissions: number;
  cents: number;
}

/** Commissions that were paid at the same instant are of one payout. Newest first. */
export function paidTogether(rows: readonly (Earned & { program_name: string })[]): Paid[] {
  const payouts = new Map<string, Paid>();
  for (const { paid_at: at, program_name: program, currency, payable_cents } of rows) {
    if (!at) continue;
    const key = `${at} ${currency} ${program}`;
    const paid = payouts.get(key) ?? { at, program, currency, commissions: 0, cents: 0 };
    payouts.set(key, { ...paid, commissions: paid.commissions + 1, cents: paid.cents + payable_cents });
  }
  return [...payouts.values()].sort((one, other) => Date.parse(other.at) - Date.parse(one.at));
}
