import { area } from '../catalogue';

export const en = {
  lastChange: 'Last change',
  archivedPrograms: 'Archived programs',
  nameOfAnArchivedProgram: 'Name of an archived program',
  payoutsOf: 'Payouts of {name}',
  unpaid: 'Not yet paid',
  partnersOwe: 'Partners owe {amount}',
  createProgram: 'Create program',
  website: 'Website',
  whereReferralLinksLead: 'Where referral links lead.',
  threeLettersSuchAsUsd: 'Three letters, such as USD.',
  allProgramsYouLookAfterWith: 'All programs you look after, with their last 30 UTC days, today included.',
  noProgramYet: 'No program yet',
  aProgramHasACommissionPartners: 'A program has a commission, partners who promote it, and a key that your server reports sales with.',
  newProgram: 'New program',
  theProgramIsThere: 'The program is there',
  yourServerReportsSalesWithThis: 'Your server reports sales with this key. It is shown now and never again; a lost key is replaced in the settings.',
  createAProgram: 'Create a program',
  grossRevenue: 'Gross revenue',
  toBePaid: 'To be paid',
  noProgramForYou: 'No program for you yet',
  nobodyHasGivenYouRights: 'You see programs here once an owner or admin of the workspace gives you rights in them.',
  noSuchProgram: 'No program matches',
} as const;

export const texts = area(en, () => import('../de/pages/programs'));
