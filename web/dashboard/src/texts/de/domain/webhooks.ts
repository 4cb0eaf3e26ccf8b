import type { Translated } from '../../catalogue';
import type { en } from '../../domain/webhooks';

export const de: Translated<typeof en> = {
  groups: {
    leads: 'Leads',
    sales: 'Verkäufe',
    commissions: 'Provisionen',
    payouts: 'Auszahlungen',
    partners: 'Partner',
    attention: 'Zu Ihrer Kenntnis',
  },
  reasons: {
    by_hand: 'Er wurde manuell ausgeschaltet.',
    gone: 'Er antwortete 410 Gone: Er nimmt keine Ereignisse mehr an.',
    failing: 'Fünf Tage lang schlug jeder Versuch fehl.',
  },
  off: 'Aus',
  failing: 'Schlägt fehl',
  works: 'Funktioniert',
  nothingSentYet: 'Noch nichts gesendet',
  notTriedYet: 'Noch nicht versucht',
  inTime: '{outcome} in {duration} ms',
  noAnswer: 'Keine Antwort',
  states: {
    waiting: 'Wartet',
    delivered: 'Zugestellt',
    given_up: 'Aufgegeben',
    cancelled: 'Abgebrochen',
  },
  itAnswered: 'Die Antwort war {outcome}.',
};
