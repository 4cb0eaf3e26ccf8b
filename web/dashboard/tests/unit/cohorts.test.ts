import { expect, test } from 'vitest';
import { cohortCells, cohortMeasure, monthText } from '../../src/domain/cohorts';

const month = (customers: number, revenue: number, commission = 0) => ({
  customers,
  net_revenue_cents: revenue,
  net_commission_cents: commission,
});

const cohorts = [
  { month: '2026-01', customers: 4, months: [month(4, 8_000), month(1, 2_000), month(0, -500)] },
  { month: '2026-02', customers: 0, months: [month(0, 0), month(0, 0)] },
];

test('customers are counted, as a share of their cohort', () => {
  expect(cohortCells(cohorts, 'customers', 'USD')).toEqual([
    [
      { text: '4', share: '100%', strength: 1 },
      { text: '1', share: '25%', strength: 0.25 },
      { text: '0', share: '0%', strength: 0 },
    ],
    [
      { text: '0', strength: 0 },
      { text: '0', strength: 0 },
    ],
  ]);
});

test('amounts are coloured by the largest, and refunds may leave less than nothing', () => {
  expect(cohortCells(cohorts, 'revenue', 'JPY')[0]).toEqual([
    { text: '¥8,000', strength: 1 },
    { text: '¥2,000', strength: 0.25 },
    { text: '-¥500', strength: 0 },
  ]);
  expect(cohortCells([], 'commission', 'USD')).toEqual([]);
});

test('the address names a measure, and months have names', () => {
  expect(cohortMeasure('revenue')).toBe('revenue');
  expect(cohortMeasure('nothing')).toBe('customers');
  expect(monthText('2026-01')).toBe('Jan 2026');
});
