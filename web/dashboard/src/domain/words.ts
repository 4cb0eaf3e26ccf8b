/** Display texts for the service's values. */

export type Tone = 'good' | 'wait' | 'bad' | 'plain' | 'info';

const TONES: Record<string, Tone> = {
  live: 'good',
  active: 'good',
  approved: 'good',
  connected: 'good',
  pending: 'wait',
  draft: 'wait',
  refunded: 'wait',
  open: 'wait',
  suspended: 'bad',
  reversed: 'bad',
  revoked: 'bad',
  disconnected: 'bad',
  paid: 'info',
  accepted: 'good',
  unverified: 'wait',
};

export const tone = (status: string): Tone => TONES[status] ?? 'plain';

/** `self_referral` as `Self referral`. */
export function label(name: string): string {
  const words = name.replaceAll(/[_:-]+/g, ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export const EVENT_NAMES: Record<string, string> = {
  click: 'Click',
  lead: 'Lead',
  conversion: 'Sale',
  sale: 'Sale',
  refund: 'Refund',
  commission: 'Commission',
  ledger: 'Balance',
  payout: 'Payout',
};

export const EVENT_TONES: Record<string, Tone> = {
  click: 'plain',
  lead: 'info',
  conversion: 'good',
  sale: 'good',
  refund: 'wait',
  commission: 'info',
  ledger: 'plain',
  payout: 'good',
};

export const SIGNALS: Record<string, string> = {
  self_referral: 'The customer has the partner’s own e-mail address.',
  fast_sale: 'The sale followed the first click within seconds.',
  contested_key: 'A browser reported this customer with one click, the server or a payment with another.',
  many_leads: 'Browsers reported many signups for this link, or from one address, within an hour.',
  replaces_changed: 'It replaces a commission that was rejected or adjusted manually.',
  erased: 'There was a signal, which was erased with the customer’s data.',
};

export const COMMISSION_TYPES: Record<string, string> = {
  cps_recurring: 'Renewals for some months',
  cps_lifetime: 'Every renewal',
  cps_one_time: 'First payment only',
};

/** As filters offer them. */
export const COMMISSION_STATUSES = [
  ['', 'All'],
  ['pending', 'Pending'],
  ['approved', 'Approved'],
  ['paid', 'Paid'],
  ['refunded', 'Refunded in part'],
  ['reversed', 'Reversed'],
] as const;

/** `1 partner`, `2 partners`. */
export function counted(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`;
}
