import { expect, test } from 'vitest';
import type { CustomerTimeline } from '../../src/api/operations';
import { creditedWith, earnedIn, hasSeveralPartners, isReplaced, sharers, soldIn, type Sale } from '../../src/domain/sale';

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

const linear = { why_partner: { attribution_model: 'linear' } };
const earned = (id: number, sale: number, partner: number, more: object = {}) => ({
  ...commission(partner, { transaction_id: `t${sale}`, ...linear, ...more }),
  commission_id: id,
  sale_id: sale,
});

test('what moves a balance is of the partner and the sale of its commission', () => {
  const found = earnedIn(of({ event: sale }, earned(1, 5, 1), earned(2, 6, 1), { ledger: {}, commission_id: 1 }));
  expect([...found.values()].map(({ sale_id, commission }) => [sale_id, commission.transaction_id])).toEqual([[5, 't5'], [6, 't6']]);
  expect(hasSeveralPartners(found)).toBe(false);
  expect(hasSeveralPartners(earnedIn(of(earned(1, 5, 1), earned(2, 6, 2))))).toBe(true);
});

test('a sale is shared by the partners whose commissions of it are in force, where the model shares', () => {
  const shared = (...timeline: ReturnType<typeof earned>[]) => {
    const found = earnedIn(of(...timeline));
    return [...found.values()].map((one) => sharers(found, one));
  };
  expect(shared(earned(1, 5, 1), earned(2, 5, 2), earned(3, 6, 1))).toEqual([2, 2, 1]);
  const superseded = earned(1, 5, 1, { superseded_at: '2026-03-01T12:00:00.000Z' });
  const byHand = earned(4, 5, 4, { why_rate: null });
  expect(shared(superseded, earned(2, 5, 2), earned(3, 5, 3), byHand)).toEqual([1, 2, 2, 1]);
  const lastClick = { why_partner: { attribution_model: 'last_click' } };
  expect(shared(earned(1, 5, 1, lastClick), earned(2, 5, 2, lastClick))).toEqual([1, 1]);
});

test('what was taken back with its commission was not taken by a refund', () => {
  const moved = (timestamp: string, kind = 'reversal') => ({ timestamp, kind, ledger: { kind }, commission_id: 1 }) as unknown as Parameters<typeof isReplaced>[1];
  const found = earnedIn(of(earned(1, 5, 1, { superseded_at: '2026-03-01T12:00:00.120Z' })));
  expect(isReplaced(found, moved('2026-03-01T12:00:00.050Z'))).toBe(true);
  expect(isReplaced(found, moved('2026-02-27T12:00:00.000Z'))).toBe(false);
  expect(isReplaced(found, moved('2026-03-01T12:00:00.050Z', 'payout'))).toBe(false);
  expect(isReplaced(earnedIn(of(earned(1, 5, 1))), moved('2026-03-01T12:00:00.050Z'))).toBe(false);
});
