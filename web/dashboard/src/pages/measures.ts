/** Measures of a report, a value for each of its days. */
import type { Answer } from '../api/client';
import { count, money, shortCount, shortMoney } from '../domain/money';
import type { Measure } from './DailyFigures.svelte';
import { say } from '../texts/catalogue';
import { texts } from '../texts/pages/measures';
import { words } from '../texts/words';

export const CHART_DAYS = 30;

type ProgramReport = Answer<'GET /api/advertiser/affiliate-programs/{program_id}/report'>['data'];
type OwnReport = Answer<'GET /api/partner/report'>['data'];

interface Day {
  date: string;
}

const counts = <D extends Day>(name: string, days: readonly D[], of: (day: D) => number): Measure => ({
  name,
  days: days.map(({ date }) => date),
  values: days.map(of),
  short: shortCount,
  full: count,
});

const amounts = <D extends Day>(name: string, days: readonly D[], currency: string, of: (day: D) => number): Measure => ({
  ...counts(name, days, of),
  short: (cents) => shortMoney(cents, currency),
  full: (cents) => money(cents, currency),
});

/** What one partner brings a program, in its currency. */
export function programMeasures({ days, currency }: ProgramReport): Measure[] {
  return [
    amounts(texts.netCommission, days, currency, (day) => day.net_commission_cents),
    amounts(words.netRevenue, days, currency, (day) => day.net_revenue_cents),
    counts(words.clicks, days, ({ clicks }) => clicks),
    counts(words.leads, days, ({ leads }) => leads),
    counts(words.sales, days, ({ sales }) => sales),
  ];
}

/** What a partner earns: one for each currency, that of most sales first; then what they bring. */
export function ownMeasures({ days, total }: OwnReport): Measure[] {
  const currencies = [...total.currencies].sort((one, other) => other.sales - one.sales).map(({ currency }) => currency);
  const earned = currencies.map((currency) =>
    amounts(currencies.length > 1 ? say(texts.earnedIn, { currency }) : words.earned, days, currency, (day) => {
      const found = day.currencies.find((one) => one.currency === currency);
      return found?.net_commission_cents ?? 0;
    }),
  );
  return [
    ...earned,
    counts(words.clicks, days, ({ clicks }) => clicks),
    counts(words.leads, days, ({ leads }) => leads),
    counts(words.sales, days, ({ sales }) => sales),
  ];
}
