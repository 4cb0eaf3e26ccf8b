import { area } from '../catalogue';

export const en = {
  nothingYet: 'Nothing yet',
  shareOfEvery: '{share} of every payment',
  shareOfFirst: '{share} of the first payment',
  shareDuring: { one: '{share} of payments during {count} month', other: '{share} of payments during {count} months' },
  amountForEvery: '{amount} for every payment',
  amountForFirst: '{amount} for the first payment',
  amountDuring: { one: '{amount} for payments during {count} month', other: '{amount} for payments during {count} months' },
} as const;

export const texts = area(en, () => import('../de/domain/terms'));
