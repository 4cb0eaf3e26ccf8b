import type { Translated } from '../../catalogue';
import type { en } from '../../pages/choices';

export const de: Translated<typeof en> = {
  nameOrEMailAddress: 'Name oder E-Mail-Adresse',
  chooseAnother: '{name} entfernen und neu wählen',
  searching: 'Suche läuft …',
  thePartnersCouldNotBeLoaded: 'Die Partner konnten nicht geladen werden.',
  nobodysNameOrAddressHasThis: 'Kein Name und keine Adresse enthält dies',
};
