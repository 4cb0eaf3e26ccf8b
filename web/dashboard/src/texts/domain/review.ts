import { area } from '../catalogue';

export const en = {
  commission: 'Commission {id}',
  worthNow: '{name} is worth {now} by now, not {then}.',
  moreChanged: '{number} more have changed.',
  reload: 'Reload to see them as they are.',
} as const;

export const texts = area(en, () => import('../de/domain/review'));
