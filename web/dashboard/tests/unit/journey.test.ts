import { describe, expect, test } from 'vitest';
import type { LedgerEntry, ProgramEvent, TimelineCommission } from '../../src/api/operations';
import { aboutEvent, customerName, movement, saleOf, whyMoved, whyPartner, whyRate } from '../../src/domain/journey';

const event = (more: object) => ({ event_type: 'click', id: 1, click_id: 'cust_1', customer_id: 7, ...more }) as unknown as ProgramEvent;

describe('events', () => {
  test('a customer has the name that the shop gave them, else that of the click', () => {
    expect(customerName(event({ customer_key: 'user-42' }))).toBe('user-42');
    expect(customerName(event({ event_type: 'sale', transaction_id: 't1', customer_key: 'user-42' }))).toBe('user-42');
    expect(customerName(event({ customer_key: null }))).toBe('cust_1');
    expect(customerName(event({ click_id: null }))).toBe('Customer 7');
    expect(customerName(event({ click_id: null, customer_id: null }))).toBe('');
  });

  test('a sale and its refunds are of a sale that has a page, unless they are tests', () => {
    const sale = { is_recurring: false, sale_type: 'payment', transaction_id: 't1' };
    const refund = { sale_id: 9, channel: 'api', transaction_id: 't1' };
    expect(saleOf(event(sale))).toBe(1);
    expect(saleOf(event(refund))).toBe(9);
    expect(saleOf(event({ device_type: 'mobile' }))).toBeUndefined();
    for (const one of [sale, refund]) expect(saleOf(event({ ...one, customer_id: null, is_test: true }))).toBeUndefined();
  });

  test('each type says what it is about', () => {
    expect(aboutEvent(event({ is_recurring: false, sale_type: 'payment', transaction_id: 't1' }))).toBe('Payment t1');
    expect(aboutEvent(event({ is_recurring: true, sale_type: 'subscription', transaction_id: 't1' }))).toBe('Renewal t1');
    expect(aboutEvent(event({ channel: 'api', transaction_id: 't1' }))).toBe('Of sale t1');
    expect(aboutEvent(event({ device_type: 'mobile', geo_country: 'DE', geo_city: null }))).toBe('DE, Phone');
  });
});

describe('why', () => {
  const partner = { attribution_model: 'last_click', referral_link_code: 'ada', clicked_at: '2026-03-01T12:00:00.000Z' };
  const rate = { policy_id: 2, commission_type: 'cps_lifetime', rate_bps: 2_000, commissionable_cents: 9_900, sale_currency: 'USD' };
  const commission = (why_rate: object | null) => ({ why_rate }) as unknown as TimelineCommission;

  test('a partner gets a sale by a click', () => {
    expect(whyPartner(partner, false)).toBe(
      'By link ada, clicked Mar 1, 12:00:00: the last link that was clicked before the payment gets the sale.',
    );
    expect(whyPartner({ ...partner, first_payment_at: '2026-02-01T00:00:00.000Z' }, false)).toMatch(/first payment, Feb 1, 00:00:00\.$/);
    expect(whyPartner({}, true)).toBe('It was added manually.');
  });

  test('an amount is of a policy, as it was then', () => {
    expect(whyRate(commission(rate), 'USD')).toBe('20% of $99.00, on every payment (policy 2 of all other products).');
    expect(whyRate(commission({ ...rate, fixed_cents: 500, product_id: 'pro' }), 'EUR')).toBe(
      '€5.00, on every payment (policy 2 of product pro).',
    );
    const during = (months?: number) => whyRate(commission({ ...rate, commission_type: 'cps_recurring', default_duration_months: months }), 'USD');
    expect(during(1)).toBe('20% of $99.00, on payments during 1 month (policy 2 of all other products).');
    expect(during(12)).toContain('during 12 months');
    // Nothing is said of what is not known.
    expect(during()).toBe('20% of $99.00 (policy 2 of all other products).');
    // Of a sale that several share, each gets an equal part of what the rate comes to.
    expect(whyRate(commission(rate), 'USD', 2)).toBe('20% of $99.00, shared by 2 partners, on every payment (policy 2 of all other products).');
    expect(whyRate(commission(null), 'USD')).toMatch(/chosen by a member/);
  });
});

test('what did not move of a balance is said, and whether it is still to come', () => {
  const why = (kind: string, amount_cents: number, shortfall_cents: number) =>
    whyMoved({ kind, amount_cents, requested_cents: Math.abs(amount_cents) + shortfall_cents, shortfall_cents } as LedgerEntry, 'USD');
  expect(why('accrual', 1_000, 0)).toBe('');
  expect(why('reversal', -333, 0)).toBe('');
  for (const kind of ['reversal', 'adjustment']) {
    expect(why(kind, 0, 77)).toBe('$0.77 were due: the balance covered $0.00 then, and the remaining $0.77 is taken from later earnings.');
  }
  expect(why('payout', -700, 300)).toBe('$10.00 were payable: $3.00 of it settled what the partner owed from earlier deductions.');
  expect(movement('settlement')).toBe('Taken for an earlier deduction');
  expect(why('settlement', -77, 0)).toMatch(/^An earlier refund or manual change, perhaps of another sale,/);
});
