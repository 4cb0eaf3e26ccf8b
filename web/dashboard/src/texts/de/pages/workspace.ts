import type { Translated } from '../../catalogue';
import type { en } from '../../pages/workspace';

export const de: Translated<typeof en> = {
  theNameHasBeenSaved: 'Der Name wurde gespeichert.',
  theWorkspaceHoldsYourProgramsMembers: 'Der Arbeitsbereich enthält Ihre Programme, Mitglieder und Verwaltungsschlüssel.',
  save: 'Speichern',
  inInvitationsAndWhereSomebodyChooses: 'In Einladungen, und wo jemand unter mehreren Arbeitsbereichen wählt.',
};
