import { area } from '../catalogue';

export const en = {
  recordAsPaid: 'Record as paid',
  reference: 'Reference',
  forYourRecordsSuchAsThe: 'For your records, such as the bank’s reference.',
  commissionsWillBeMarkedAsPaid: {
    one: '{count} commission will be marked as paid. Send <strong>{amount}</strong> to the partners: what they owe from refunds of paid commissions is already deducted, and suspended partners are left out. This cannot be undone.',
    other: '{count} commissions will be marked as paid. Send <strong>{amount}</strong> to the partners: what they owe from refunds of paid commissions is already deducted, and suspended partners are left out. This cannot be undone.',
  },
  onePayoutHoldsNoMoreCommissions: 'One payout holds no more commissions; pay the rest with another.',
  theAmountHasChanged: 'Nothing was paid: meanwhile the amount has changed from {before} to {now}, through a refund, a rejection or another commission. Check what is shown above now, then record it again.',
  partnersOfThePayout: 'Partners of the payout',
  commissionsOfThePayout: 'Commissions of the payout',
  receives: 'Receives',
  thePayoutHasBeenRecorded: 'The payout has been recorded.',
  approvedCommissionsAreMarkedAsPaid: 'Approved commissions are marked as paid in batches. You send the money yourself, in your usual way.',
  nothingToBePaid: 'Nothing to be paid',
  commissionsCanBePaidOnceTheir: 'Commissions can be paid once their hold has ended.',
  recordAPayout: 'Record a payout',
  toBePaid: 'To be paid',
  canBePaidNow: 'Can be paid now',
  stillPending: 'Still pending',
  paidSoFar: 'Paid so far',
  pay: 'Pay {currency}',
  pastPayouts: 'Past payouts',
  payout: 'Payout {id}',
  payoutNotFound: 'Payout not found',
} as const;

export const texts = area(en, () => import('../de/pages/payouts'));
