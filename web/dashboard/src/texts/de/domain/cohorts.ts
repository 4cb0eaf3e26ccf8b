import type { Translated } from '../../catalogue';
import type { en } from '../../domain/cohorts';

export const de: Translated<typeof en> = {
  measures: {
    customers: 'Kunden',
    revenue: 'Nettoumsatz',
    commission: 'Nettoprovision',
  },
};
