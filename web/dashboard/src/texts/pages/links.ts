import { area } from '../catalogue';

export const en = {
  chooseAPartner: 'Choose a partner.',
  address: 'Address',
  turnOff: 'Turn {code} off?',
  clicksOnThisLinkAreNot: 'Clicks on this link are not counted until it is turned on again.',
  isTurnedOn: '{code} is turned on.',
  isTurnedOff: '{code} is turned off.',
  theCodeHasBeenChanged: 'The code has been changed.',
  codeOrPartner: 'Code or partner',
  noSuchLinks: 'No link matches',
  noLinksYet: 'No links yet',
  createOneForAnApprovedPartner: 'Create one for an approved partner.',
  link: 'Link {code}',
  createdByThePartner: 'Created by the partner',
  changeCodeOf: 'Change code of {code}',
  turnOnCode: 'Turn on {code}',
  turnOffCode: 'Turn off {code}',
  changeTheCode: 'Change the code',
  turnOn: 'Turn on',
  linksWithTheOldCodeStop: 'Links with the old code stop working at once.',
  theLinkHasBeenCreated: 'The link has been created.',
  eachBelongsToOnePartnerWho: 'Each belongs to one partner, who is credited with its clicks.',
  newReferralLink: 'New referral link',
  newLink: 'New link',
  partner: 'Partner {id}',
  createLink: 'Create link',
  lettersDigitsAndLeaveItEmpty: 'Letters, digits, - and _. Leave it empty to have one generated.',
  noPartnerIsApprovedYetApprove: 'No partner is approved yet. Approve one first.',
} as const;

export const texts = area(en, () => import('../de/pages/links'));
