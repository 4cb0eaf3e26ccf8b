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
  failures: {
    'TLS failed: the certificate is not valid for the host, or there is none': 'TLS failed: the certificate is not valid for the host, or there is none',
    'no connection': 'No connection',
    'no whole answer in time': 'No whole answer in time',
    'the URL is not allowed': 'The URL is not allowed',
    'the connection ended before the answer': 'The connection ended before the answer',
    'the host was not found': 'The host was not found',
    "the host's address is not public": 'The host’s address is not public',
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
