/** Display texts for the service's values. */
import { texts } from '../texts/domain/words';
import { words } from '../texts/words';

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

/** `self_referral` as `Self referral`; what the catalogue does not know is English. */
export function label(name: string): string {
  const known: Readonly<Record<string, string>> = texts.values;
  if (Object.hasOwn(known, name)) return known[name] ?? '';
  const english = name.replaceAll(/[_:-]+/g, ' ');
  return english.charAt(0).toUpperCase() + english.slice(1);
}

export const EVENT_NAMES: Record<string, string> = texts.eventNames;

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

export const SIGNALS: Record<string, string> = texts.signals;
export const COMMISSION_TYPES: Record<string, string> = texts.commissionTypes;

const CUSTOMER_STATUSES: Record<string, string> = texts.customerStatuses;

/** How far a customer has come. */
export const customerStatus = (status: string): string => CUSTOMER_STATUSES[status] ?? label(status);

const offered = (values: readonly string[], text = label) => [['', words.all], ...values.map((value) => [value, text(value)] as const)] as const;

/** As filters offer them. */
export const customerStatuses = () => offered(['lead', 'conversion'], customerStatus);
export const linkStatuses = () => offered(['active', 'inactive']);
export const commissionStatuses = () => offered(['pending', 'approved', 'paid', 'refunded', 'reversed']);
