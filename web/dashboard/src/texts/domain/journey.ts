import { area } from '../catalogue';

export const en = {
  customer: 'Customer {id}',
  renewal: 'Renewal',
  saleOf: '{kind} {transaction}',
  ofSale: 'Of sale {transaction}',
  models: {
    last_click: 'the last link that was clicked before the payment gets the sale',
    first_click: 'the first link that was clicked gets the sale',
    linear: 'the partners whose links were clicked share the sale',
  },
  addedManually: 'It was added manually.',
  link: 'link {code}',
  removedLink: 'a link that was removed',
  clicked: ', clicked {time}',
  renewalStays: ' A renewal stays with the partner of the first payment, {time}.',
  byLink: 'By {link}{clicked}{model}.{renewal}',
  chosenByMember: 'The amount was chosen by a member of the workspace.',
  everyPayment: ', on every payment',
  firstPayment: ', on the first payment',
  duringMonths: { one: ', on payments during {count} month', other: ', on payments during {count} months' },
  shareOf: '{share} of {amount}',
  sharedBy: ', shared by {count} partners',
  ofProduct: 'of product {product}',
  ofOtherProducts: 'of all other products',
  since: ', in force since {time}',
  rate: '{amount}{shared}{when} (policy {policy} {product}{since}).',
  movements: {
    accrual: 'Earned',
    reversal: 'Taken back by a refund',
    replaced: 'Taken back, as another commission replaces it',
    adjustment: 'Changed manually',
    settlement: 'Taken for an earlier deduction',
    payout: 'Paid out',
  },
  takenLater: '{due} were due: the balance covered {covered} then, and the remaining {rest} is taken from later earnings.',
  keptForDebt: '{due} were payable: {rest} of it settled what the partner owed from earlier deductions.',
  leftOpenBefore:
    'An earlier refund or manual change, perhaps of another sale, was more than the balance covered then. What remained was taken with a payout.',
} as const;

export const texts = area(en, () => import('../de/domain/journey'));
