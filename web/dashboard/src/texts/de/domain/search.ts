import type { Translated } from '../../catalogue';
import type { en } from '../../domain/search';

export const de: Translated<typeof en> = {
  customers: 'Kunden',
  transactions: 'Transaktionen',
};
