import { area } from '../catalogue';

export const en = {
  commissionOnASaleOf: 'Commission on a sale of {amount}',
  addedManually: 'Added manually',
  noCommissions: 'No commissions',
  aCommissionIsRecordedForEach: 'A commission is recorded for each attributed sale.',
  selectTheCommissionOf: 'Select the commission of {name}',
  refunded: '{amount} refunded',
  payable: 'Payable',
  heldUntilOrPaid: 'Held until, or paid',
  manual: 'Manual: {note}',
  of: 'of {amount}',
  adjustedBy: 'adjusted by {amount}',
  payout: 'Payout {id}',
  shownToThePartners: 'Shown to the partners.',
  commissionsWorthWillBeSetTo: {
    one: '{count} commission worth <strong>{amount}</strong> will be set to zero, and the partners see the reason. This cannot be undone.',
    other: '{count} commissions worth <strong>{amount}</strong> will be set to zero, and the partners see the reason. This cannot be undone.',
  },
} as const;

export const texts = area(en, () => import('../de/pages/commissionTable'));
