import { area } from '../catalogue';

export const en = {
  renewal: 'Renewal',
  event: 'Event',
  timeUtc: 'Time (UTC)',
  details: 'Details',
  amountAndCommission: 'Amount, commission',
  click: 'Click',
} as const;

export const texts = area(en, () => import('../de/pages/eventTable'));
