import { area } from '../catalogue';

export const en = {
  nameOrEMailAddress: 'Name or e-mail address',
  chooseAnother: 'Remove {name} and choose another',
  searching: 'Searching…',
  thePartnersCouldNotBeLoaded: 'The partners could not be loaded.',
  nobodysNameOrAddressHasThis: 'Nobody’s name or address has this in it',
} as const;

export const texts = area(en, () => import('../de/pages/choices'));
