import type { Translated } from '../../catalogue';
import type { en } from '../../pages/auditLog';

export const de: Translated<typeof en> = {
  theProgramsCouldNotBeLoaded: 'Die Programme konnten nicht geladen werden.',
  noProgramsNameHasThis: 'Kein Programmname enthält dies',
  theWholeWorkspace: 'Der ganze Arbeitsbereich',
  everybody: 'Alle',
  keyNamed: 'Schlüssel {name}',
  theFileIsBeingPrepared: 'Die Datei wird vorbereitet.',
  time: 'Zeit',
  who: 'Wer',
  what: 'Was',
  details: 'Details',
  auditLog: 'Änderungsprotokoll',
  whoDidWhatInThisWorkspace: 'Wer in diesem Arbeitsbereich was getan hat, das Neueste zuerst. Die CSV-Datei enthält alles.',
  noEntries: 'Keine Einträge',
  whatMembersKeysAndOperatorsChange: 'Was Mitglieder, Schlüssel und Betreiber ändern, erscheint hier.',
  nothingWasDoneLikeThis: 'Nichts Passendes',
  noEntryIsByThesePeople: 'Kein Eintrag stammt von diesen Personen, ist von dieser Art und aus diesen Tagen.',
  daysAndTimesAreInUtc: 'Tage und Uhrzeiten in UTC.',
};
