import { expect, test } from 'vitest';
import { isPending, ofStatus, together } from '../../src/domain/earnings';
import { newest } from '../../src/api/newest';

test('what a refund has left is pending until it is approved or paid', () => {
  const left = { status: 'refunded', payable_cents: 30 };
  expect(isPending({ status: 'pending', payable_cents: 100 })).toBe(true);
  expect(isPending(left)).toBe(true);
  for (const other of [
    { ...left, approved_at: '2026-01-02T00:00:00Z' },
    { ...left, paid_at: '2026-01-02T00:00:00Z' },
    { ...left, payable_cents: 0 },
    { status: 'approved', payable_cents: 100 },
    { status: 'paid', payable_cents: 100 },
  ])
    expect(isPending(other)).toBe(false);
});

test('the choice “Paid” leaves out nothing that was paid', () => {
  expect(ofStatus('paid')).toEqual({ paid: true });
  expect(ofStatus('refunded')).toEqual({ status: 'refunded' });
  expect(ofStatus('')).toEqual({});
});

test('what several programs owe is added up within each currency', () => {
  const owed = (currency: string, approved_cents: number) => ({ currency, approved_cents, pending_cents: 2 * approved_cents, paid_cents: 1 });
  expect(together([owed('USD', 10), owed('JPY', 7), owed('USD', 5)])).toEqual([
    { currency: 'USD', approved_cents: 15, pending_cents: 30, paid_cents: 2 },
    { currency: 'JPY', approved_cents: 7, pending_cents: 14, paid_cents: 1 },
  ]);
  expect(together([owed('USD', 10), owed('JPY', 7)])).toEqual([]);
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
