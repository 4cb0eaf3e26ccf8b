import type { Translated } from '../../catalogue';
import type { en } from '../../domain/terms';

export const de: Translated<typeof en> = {
  nothingYet: 'Noch nichts',
  shareOfEvery: '{share} jeder Zahlung',
  shareOfFirst: '{share} der ersten Zahlung',
  shareDuring: { one: '{share} der Zahlungen während {count} Monats', other: '{share} der Zahlungen während {count} Monaten' },
  amountForEvery: '{amount} für jede Zahlung',
  amountForFirst: '{amount} für die erste Zahlung',
  amountDuring: { one: '{amount} für Zahlungen während {count} Monats', other: '{amount} für Zahlungen während {count} Monaten' },
};
