import { expect, test } from 'vitest';
import type { CustomerTimeline } from '../../src/api/operations';
import { creditedWith, soldIn, type Sale } from '../../src/domain/sale';

const commission = (id: number, more: object = {}) => ({
  commission: { partner_program_id: id, partner: { id: id + 100, name: `Partner ${id}` }, why_rate: {}, superseded_at: null, ...more },
});
const of = (...timeline: object[]) => ({ timeline }) as unknown as CustomerTimeline;
const sale = { event_type: 'sale', id: 5, is_recurring: false, partner_program_id: 3, partner: { id: 103, name: 'Cleo' } } as unknown as Sale;

test('the sale is found among what led to it and what came of it', () => {
  const refund = { event: { event_type: 'refund', sale_id: 5, channel: 'api' } };
  expect(soldIn(of({ event: { event_type: 'click' } }, { event: sale }, commission(1), refund))).toBe(sale);
  expect(soldIn(of())).toBeUndefined();
});

test('a sale is of all who share it, each once; what was superseded or given by hand credits nobody', () => {
  const ids = (...timeline: object[]) => creditedWith(of(...timeline), sale).map(({ id }) => id);
  expect(ids(commission(1), commission(2), commission(1))).toEqual([1, 2]);
  expect(ids(commission(1, { superseded_at: '2026-03-01T12:00:00.000Z' }), commission(2))).toEqual([2]);
  expect(ids(commission(1), commission(2, { why_rate: null }))).toEqual([1]);
});

test('without commissions a sale is of the partner it names, if it names one', () => {
  expect(creditedWith(of(), sale)).toEqual([{ id: 3, partner: { id: 103, name: 'Cleo' } }]);
  expect(creditedWith(of(), { ...sale, partner_program_id: null })).toEqual([]);
  expect(creditedWith(of(), undefined)).toEqual([]);
});
