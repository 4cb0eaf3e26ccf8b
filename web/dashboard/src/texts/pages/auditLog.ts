import { area } from '../catalogue';

export const en = {
  theProgramsCouldNotBeLoaded: 'The programs could not be loaded.',
  noProgramsNameHasThis: 'No program’s name has this in it',
  theWholeWorkspace: 'The whole workspace',
  everybody: 'Everybody',
  keyNamed: 'Key {name}',
  theFileIsBeingPrepared: 'The file is being prepared.',
  time: 'Time',
  who: 'Who',
  what: 'What',
  details: 'Details',
  auditLog: 'Audit log',
  whoDidWhatInThisWorkspace: 'Who did what in this workspace, newest first. The CSV file has all of it.',
  noEntries: 'No entries',
  whatMembersKeysAndOperatorsChange: 'What members, keys and operators change appears here.',
  nothingWasDoneLikeThis: 'Nothing was done like this',
  noEntryIsByThesePeople: 'No entry is by these people, of this kind and within these days.',
  daysAndTimesAreInUtc: 'Days and times are in UTC.',
} as const;

export const texts = area(en, () => import('../de/pages/auditLog'));
