/** Measures of the last 30 days, from lists of the newest entries. */
import type { Newest } from '../api/newest';
import { dayOf } from '../domain/days';
import { countsByDay, currenciesOf, earnedByDay, firstWholeDay, lastDays, type Earned } from '../domain/earnings';
import { count, money, shortMoney } from '../domain/money';
import type { Measure } from './DailyFigures.svelte';

export const CHART_DAYS = 30;

const shortCount = (value: number) => (Number.isInteger(value) ? value.toLocaleString('en', { notation: 'compact' }) : '');

export function countMeasure(name: string, instants: string[], isWhole: boolean, now: Date): Measure {
  const days = lastDays(dayOf(now), CHART_DAYS, firstWholeDay(instants, isWhole));
  return { name, days, values: countsByDay(instants, days), short: shortCount, full: count };
}

/** One for each currency, then the number of commissions. */
export function commissionMeasures({ rows, isWhole }: Newest<Earned & { id: number }>, now: Date): Measure[] {
  const instants = rows.map(({ createdAt }) => createdAt);
  const days = lastDays(dayOf(now), CHART_DAYS, firstWholeDay(instants, isWhole));
  const currencies = currenciesOf(rows);
  const amounts = currencies.map((currency): Measure => ({
    name: currencies.length > 1 ? `Earned in ${currency}` : 'Earned',
    days,
    values: earnedByDay(rows, currency, days),
    short: (cents) => shortMoney(cents, currency),
    full: (cents) => money(cents, currency),
  }));
  return [...amounts, countMeasure('Commissions', instants, isWhole, now)];
}
