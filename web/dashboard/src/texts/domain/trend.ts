import { area } from '../catalogue';

export const en = {
  isNew: 'new',
  noneBefore: 'none in the days before',
  more: '{amount} more than in the days before',
  less: '{amount} less than in the days before',
  same: 'as much as in the days before',
} as const;

export const texts = area(en, () => import('../de/domain/trend'));
