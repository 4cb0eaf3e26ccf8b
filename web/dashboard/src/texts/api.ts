import { area } from './catalogue';

export const en = {
  unreachable: 'The service cannot be reached. Check your connection, then try again.',
  failed: 'Something went wrong on our side. Try again in a moment.',
  streamEnded: 'The stream has ended.',
  connectionLost: 'The connection was lost.',
} as const;

export const texts = area(en, () => import('./de/api'));
