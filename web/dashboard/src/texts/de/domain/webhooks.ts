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
  failures: {
    'TLS failed: the certificate is not valid for the host, or there is none':
      'TLS schlug fehl: Das Zertifikat gilt nicht für den Host, oder es gibt keines',
    'no connection': 'Keine Verbindung',
    'no whole answer in time': 'Keine vollständige Antwort innerhalb der Zeit',
    'the URL is not allowed': 'Die URL ist nicht erlaubt',
    'the connection ended before the answer': 'Die Verbindung endete vor der Antwort',
    'the host was not found': 'Der Host wurde nicht gefunden',
    "the host's address is not public": 'Die Adresse des Hosts ist nicht öffentlich',
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
