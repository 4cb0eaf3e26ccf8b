import { area } from '../catalogue';

export const en = {
  theNameHasBeenSaved: 'The name has been saved.',
  theWorkspaceHoldsYourProgramsMembers: 'The workspace holds your programs, members and management keys.',
  save: 'Save',
  inInvitationsAndWhereSomebodyChooses: 'In invitations, and where somebody chooses among several workspaces.',
} as const;

export const texts = area(en, () => import('../de/pages/workspace'));
