import { describe, expect, it } from 'vitest';
import { refusalText, shownAmounts, totals } from '../../src/domain/review';

const shown = [
  { id: 1, transaction_id: 't1', payable_cents: 2_000, currency: 'USD' },
  { id: 2, transaction_id: 't2', payable_cents: 500, currency: 'JPY' },
  { id: 3, payable_cents: 1, currency: 'USD' },
];

describe('decisions on commissions as they are shown', () => {
  it('names each with its amount', () => {
    expect(shownAmounts(shown)).toEqual({ commission_ids: [1, 2, 3], expected_payable_cents: { 1: 2_000, 2: 500, 3: 1 } });
    expect(totals(shown)).toBe('$20.01, ¥500');
    expect(totals([])).toBe('');
  });

  it('says what is not as it was shown', () => {
    const reasons = [
      { commission_id: 2, reason: 'changed meanwhile: 250 is payable, not 500' },
      { commission_id: 3, reason: 'paid commissions cannot be approved' },
    ];
    expect(refusalText('None was', reasons, shown)).toBe(
      'None was. t2 is worth ¥250 by now, not ¥500. Commission 3: paid commissions cannot be approved. Reload to see them as they are.',
    );
    const many = [1, 2, 3, 4].map((id) => ({ commission_id: id, reason: 'reversed' }));
    expect(refusalText('None was', many, shown)).toContain('Commission 3: reversed. 1 more have changed.');
  });
});
