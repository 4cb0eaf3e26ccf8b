import type { Translated } from '../catalogue';
import type { en } from '../api';

export const de: Translated<typeof en> = {
  unreachable: 'Der Dienst ist nicht erreichbar. Prüfen Sie Ihre Verbindung und versuchen Sie es erneut.',
  failed: 'Bei uns ist etwas schiefgegangen. Versuchen Sie es gleich noch einmal.',
  streamEnded: 'Der Datenstrom ist zu Ende.',
  connectionLost: 'Die Verbindung wurde unterbrochen.',
};
