import { area } from '../catalogue';

export const en = {
  chooseAPartner: 'Choose a partner.',
  theAmountIsANumberIn: 'The amount is a number in {currency} other than 0, such as 5 or -5.',
  adjust: 'Adjust',
  amountIn: 'Amount in {currency}',
  addedToTheCommissionStartWith: 'Added to the commission; start with a minus to subtract.',
  shownToThePartner: 'Shown to the partner.',
  theCommissionIsNowItsPartner: 'The commission is {amount} now. Its partner sees the reason.',
  withAnySignal: 'With any signal',
  selfReferral: 'Self referral',
  fastSale: 'Fast sale',
  contestedKey: 'Contested key',
  manyLeads: 'Many leads',
  replacesAChangedOne: 'Replaces a changed one',
  erased: 'Erased',
  commissionsRejected: {
    one: '{count} commission rejected.',
    other: '{count} commissions rejected.',
  },
  noCommissionOnThisPageWaits: 'No commission on this page waits for approval.',
  commissionsApproved: {
    one: '{count} commission approved.',
    other: '{count} commissions approved.',
  },
  commissionsSelected: {
    one: '{count} commission selected: {amount}',
    other: '{count} commissions selected: {amount}',
  },
  selectCommissionsToApproveAdjustOr: 'Select commissions to approve, adjust or reject them.',
  whatPartnersEarnOnSalesPending: 'What partners earn on sales. Pending ones are approved when their hold ends, except those that the program’s settings leave to you.',
  signals: 'Signals',
  transaction: 'Transaction',
  rejectCommissions: 'Reject commissions',
  adjustACommission: 'Adjust a commission',
  addACommission: 'Add a commission',
  selectAllOnThisPage: 'Select all on this page',
  theCommissionHasBeenAdjusted: 'The commission has been adjusted.',
  theCommissionHasBeenAdded: 'The commission has been added.',
  theAmountMustBeAbove0: 'The amount must be above 0.',
  add: 'Add',
  note: 'Note',
  whatItIsForShownTo: 'What it is for. Shown to the partner.',
  theTransactionIdOfTheSale: 'The transaction_id of the sale it is for, if there is one.',
  itIsApprovedAtOnceAnd: 'It is approved at once and can be paid. Refunds do not reduce it.',
} as const;

export const texts = area(en, () => import('../de/pages/commissions'));
