import { area } from '../catalogue';

export const en = {
  renewal: 'Renewal',
  event: 'Event',
  timeUtc: 'Time (UTC)',
  details: 'Details',
  source: 'Source',
  click: 'Click',
} as const;

export const texts = area(en, () => import('../de/pages/eventTable'));
