import type { Translated } from '../../catalogue';
import type { en } from '../../pages/programs';

export const de: Translated<typeof en> = {
  lastChange: 'Letzte Änderung',
  archivedPrograms: 'Archivierte Programme',
  nameOfAnArchivedProgram: 'Name eines archivierten Programms',
  payoutsOf: 'Auszahlungen von {name}',
  unpaid: 'Noch nicht ausgezahlt',
  partnersOwe: 'Partner schulden {amount}',
  createProgram: 'Programm erstellen',
  website: 'Website',
  whereReferralLinksLead: 'Wohin Empfehlungslinks führen.',
  threeLettersSuchAsUsd: 'Drei Buchstaben, zum Beispiel USD.',
  allProgramsYouLookAfterWith: 'Alle Programme, die Sie betreuen, mit ihren letzten 30 UTC-Tagen einschließlich heute.',
  noProgramYet: 'Noch kein Programm',
  aProgramHasACommissionPartners:
    'Ein Programm hat eine Provision, Partner, die dafür werben, und einen Schlüssel, mit dem Ihr Server Verkäufe meldet.',
  newProgram: 'Neues Programm',
  theProgramIsThere: 'Das Programm ist angelegt',
  yourServerReportsSalesWithThis:
    'Mit diesem Schlüssel meldet Ihr Server Verkäufe. Er wird jetzt und nie wieder gezeigt; einen verlorenen Schlüssel ersetzen Sie in den Einstellungen.',
  createAProgram: 'Programm erstellen',
  grossRevenue: 'Bruttoumsatz',
  toBePaid: 'Auszuzahlen',
  noProgramForYou: 'Noch kein Programm für Sie',
  nobodyHasGivenYouRights: 'Hier stehen Programme, sobald Inhaber oder Admins des Arbeitsbereichs Ihnen Rechte daran geben.',
  noSuchProgram: 'Kein Programm passt dazu',
};
