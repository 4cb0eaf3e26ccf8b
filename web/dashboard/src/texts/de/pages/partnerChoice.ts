import type { Translated } from '../../catalogue';
import type { en } from '../../pages/partnerChoice';

export const de: Translated<typeof en> = {
  nameOrEMailAddress: 'Name oder E-Mail-Adresse',
  partner: 'Partner {id}',
  chooseAnother: '{name} entfernen und anderen Partner wählen',
  searching: 'Suche läuft …',
  thePartnersCouldNotBeLoaded: 'Die Partner konnten nicht geladen werden.',
  nobodysNameOrAddressBeginsSo: 'Kein Name und keine Adresse beginnt so',
};
