import { area } from '../catalogue';

export const en = {
  nameOrEMailAddress: 'Name or e-mail address',
  partner: 'Partner {id}',
  chooseAnother: 'Remove {name} and choose another',
  searching: 'Searching…',
  thePartnersCouldNotBeLoaded: 'The partners could not be loaded.',
  nobodysNameOrAddressBeginsSo: 'Nobody’s name or address begins so',
} as const;

export const texts = area(en, () => import('../de/pages/partnerChoice'));
