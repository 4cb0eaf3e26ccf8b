import { expect, test } from 'vitest';
import { ownMeasures, programMeasures } from '../../src/pages/measures';

const earned = (currency: string, sales: number, net: number) => ({
  currency,
  sales,
  commission_cents: net,
  commission_taken_back_cents: 0,
  net_commission_cents: net,
});
const counted = { clicks: 7, leads: 2, conversions: 1, sales: 3 };

test('a partner sees each currency by itself, that of most sales first', () => {
  const measures = ownMeasures({
    range: { first: '2026-01-01', last: '2026-01-02' },
    days: [
      { date: '2026-01-01', ...counted, currencies: [earned('JPY', 2, 900)] },
      { date: '2026-01-02', ...counted, clicks: 0, currencies: [earned('USD', 1, -250)] },
    ],
    total: { ...counted, currencies: [earned('USD', 1, -250), earned('JPY', 2, 900)] },
  });
  expect(measures.map(({ name, values }) => [name, values])).toEqual([
    ['Earned in JPY', [900, 0]],
    ['Earned in USD', [0, -250]],
    ['Clicks', [7, 0]],
    ['Leads', [2, 2]],
    ['Sales', [3, 3]],
  ]);
  expect(measures[0]?.days).toEqual(['2026-01-01', '2026-01-02']);
  expect(measures[1]?.full(-250)).toBe('-$2.50');
});

test('without a sale there are counts alone, with one currency it is not named', () => {
  const range = { first: '2026-01-01', last: '2026-01-01' };
  const none = { ...counted, sales: 0, currencies: [] };
  expect(ownMeasures({ range, days: [{ date: '2026-01-01', ...none }], total: none })[0]?.name).toBe('Clicks');
  const one = { ...counted, currencies: [earned('USD', 3, 5)] };
  expect(ownMeasures({ range, days: [{ date: '2026-01-01', ...one }], total: one })[0]?.name).toBe('Earned');
});

test('an advertiser sees net amounts in the currency of the program', () => {
  const figures = {
    ...counted,
    partners: 0,
    revenue_cents: 1_000,
    refunded_cents: 300,
    net_revenue_cents: 700,
    commission_cents: 200,
    commission_taken_back_cents: 60,
    net_commission_cents: 140,
    average_order_cents: 333,
  };
  const range = { first: '2026-01-01', last: '2026-01-01' };
  const days = [{ date: '2026-01-01', ...figures }];
  const previous = { range, days, total: figures, currencies: [] };
  const measures = programMeasures({ currency: 'JPY', range, days, total: figures, currencies: [], previous });
  expect(measures.slice(0, 2).map(({ name, values, full }) => [name, full(values[0] ?? 0)])).toEqual([
    ['Net commission', '¥140'],
    ['Net revenue', '¥700'],
  ]);
});
