import type { Translated } from '../../catalogue';
import type { en } from '../../pages/eventTable';

export const de: Translated<typeof en> = {
  renewal: 'Verlängerung',
  event: 'Ereignis',
  timeUtc: 'Zeit (UTC)',
  details: 'Details',
  amountAndCommission: 'Betrag, Provision',
  click: 'Klick',
};
