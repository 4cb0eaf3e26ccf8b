import { area } from '../catalogue';

export const en = {
  customers: 'Customers',
  transactions: 'Transactions',
} as const;

export const texts = area(en, () => import('../de/domain/search'));
