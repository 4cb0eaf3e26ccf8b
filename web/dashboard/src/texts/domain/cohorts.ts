import { area } from '../catalogue';

export const en = {
  measures: {
    customers: 'Customers',
    revenue: 'Net revenue',
    commission: 'Net commission',
  },
} as const;

export const texts = area(en, () => import('../de/domain/cohorts'));
