import { expect, test } from 'vitest';
import { currenciesOf, earnedByDay, firstWholeDay, lastDays, paidTogether, upcoming, type Earned } from '../../src/domain/earnings';
import { newest } from '../../src/api/newest';

const one = (given: Partial<Earned>): Earned => ({
  payable_cents: 100,
  currency: 'USD',
  status: 'pending',
  hold_until: '2026-01-10T12:00:00Z',
  createdAt: '2026-01-01T23:59:59Z',
  ...given,
});
const NOW = new Date('2026-01-05T00:00:00Z');

test('days end today, and begin with the first that is known as a whole', () => {
  expect(lastDays('2026-03-01', 3)).toEqual(['2026-02-27', '2026-02-28', '2026-03-01']);
  expect(lastDays('2026-03-01', 3, '2026-03-01')).toEqual(['2026-03-01']);
  expect(firstWholeDay(['2026-01-05T10:00:00Z', '2026-01-03T23:00:00Z'], false)).toBe('2026-01-04');
  expect(firstWholeDay(['2026-01-03T23:00:00Z'], true)).toBe('');
  expect(firstWholeDay([], false)).toBe('');
});

test('what was earned is added up by UTC day and currency', () => {
  const rows = [one({}), one({ payable_cents: 50 }), one({ currency: 'JPY' }), one({ createdAt: '2025-12-31T23:59:59Z' })];
  expect(earnedByDay(rows, 'USD', ['2026-01-01', '2026-01-02'])).toEqual([150, 0]);
  expect(currenciesOf(rows)).toEqual(['USD', 'JPY']);
});

test('what becomes payable: by day, after refunds, and never what is approved or paid', () => {
  const rows = [
    one({ hold_until: '2026-01-20T00:00:00Z' }),
    one({}),
    one({ status: 'refunded', payable_cents: 30 }),
    one({ status: 'refunded', payable_cents: 30, approved_at: '2026-01-02T00:00:00Z' }),
    one({ status: 'refunded', payable_cents: 0 }),
    one({ status: 'approved' }),
    one({ status: 'paid' }),
    one({ hold_until: '2026-01-04T23:00:00Z', payable_cents: 7 }),
  ];
  expect(upcoming(rows, NOW)).toEqual([
    { day: undefined, currency: 'USD', cents: 7 },
    { day: '2026-01-10', currency: 'USD', cents: 130 },
    { day: '2026-01-20', currency: 'USD', cents: 100 },
  ]);
});

test('commissions that were paid together are one payout', () => {
  const at = '2026-01-04T10:00:00Z';
  const rows = [
    { ...one({ status: 'paid', paid_at: at }), program_name: 'Shop' },
    { ...one({ status: 'paid', paid_at: at, payable_cents: 5 }), program_name: 'Shop' },
    { ...one({ status: 'paid', paid_at: at }), program_name: 'Other' },
    { ...one({ status: 'paid', paid_at: '2026-02-04T10:00:00Z' }), program_name: 'Shop' },
    { ...one({}), program_name: 'Shop' },
  ];
  const payouts = paidTogether(rows).map(({ at, program, commissions, cents }) => [at.slice(0, 7), program, commissions, cents]);
  expect(payouts).toEqual([
    ['2026-02', 'Shop', 1, 100],
    ['2026-01', 'Shop', 2, 105],
    ['2026-01', 'Other', 1, 100],
  ]);
});

test('the newest entries are read in so many pages, each once', async () => {
  const pages = [[{ id: 5 }, { id: 4 }], [{ id: 4 }, { id: 3 }], [{ id: 2 }]];
  const read = async (page: number) => ({
    data: pages[page - 1] ?? [],
    meta: { pagination: { page, pageSize: 2, pageCount: 3, total: 5 } },
  });
  expect(await newest(read, 2)).toEqual({ rows: [{ id: 5 }, { id: 4 }, { id: 3 }], isWhole: false });
  expect((await newest(read, 3)).isWhole).toBe(true);
  const none = async () => ({ data: [], meta: { pagination: { page: 1, pageSize: 2, pageCount: 0, total: 0 } } });
  expect(await newest(none, 3)).toEqual({ rows: [], isWhole: true });
});
