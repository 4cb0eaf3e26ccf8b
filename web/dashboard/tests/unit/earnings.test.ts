import { expect, test } from 'vitest';
import { upcoming, type Earned } from '../../src/domain/earnings';
import { newest } from '../../src/api/newest';

const one = (given: Partial<Earned>): Earned => ({
  payable_cents: 100,
  currency: 'USD',
  status: 'pending',
  hold_until: '2026-01-10T12:00:00Z',
  ...given,
});
const NOW = new Date('2026-01-05T00:00:00Z');

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
