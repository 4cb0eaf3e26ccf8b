import { area } from './catalogue';

export const en = {
  discardYourChanges: 'Discard your changes?',
  whatYouHaveEntered: 'What you have entered has not been saved.',
  discard: 'Discard',
  keepEditing: 'Keep editing',
  pageNotLoaded: 'This page could not be loaded. Reload it: there may be a newer version.',
  theProgramIsLive: 'The program is live.',
  noSessionKept: 'This browser keeps no session for this address. Are cookies blocked?',
  wentWrongHere: 'Something went wrong in this page. Reload it, and try again.',
  /** Why something is not offered. */
  obstacles: {
    archived: 'This program is archived and cannot be changed.',
    right: 'You do not have the right to change this. An owner or admin of the workspace can give it to you.',
  },
} as const;

export const texts = area(en, () => import('./de/state'));
