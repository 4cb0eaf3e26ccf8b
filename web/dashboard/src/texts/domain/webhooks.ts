import { area } from '../catalogue';

export const en = {
  groups: {
    leads: 'Leads',
    sales: 'Sales',
    commissions: 'Commissions',
    payouts: 'Payouts',
    partners: 'Partners',
    attention: 'For your attention',
  },
  reasons: {
    by_hand: 'It was turned off manually.',
    gone: 'It answered 410 Gone: it accepts no more events.',
    failing: 'Every attempt failed for five days.',
  },
  off: 'Off',
  failing: 'Failing',
  works: 'Works',
  nothingSentYet: 'Nothing sent yet',
  notTriedYet: 'Not tried yet',
  inTime: '{outcome} in {duration} ms',
  noAnswer: 'No answer',
  states: {
    waiting: 'Waiting',
    delivered: 'Delivered',
    given_up: 'Given up',
    cancelled: 'Cancelled',
  },
  itAnswered: 'It answered {outcome}.',
} as const;

export const texts = area(en, () => import('../de/domain/webhooks'));
