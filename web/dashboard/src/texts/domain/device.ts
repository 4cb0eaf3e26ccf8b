import { area } from '../catalogue';

export const en = {
  unknown: 'Unknown',
  programOnSystem: '{program} on {system}',
} as const;

export const texts = area(en, () => import('../de/domain/device'));
