/** What is done in a program: the rights it takes, and whether an archived program still allows it. The service decides; the pages offer nothing else. Pure. */
import type { RouteName } from '../router/routes';

const ACTS = {
  see: { rights: ['program:read'], inArchived: true },
  seeEvents: { rights: ['tracking:list'], inArchived: true },
  seeTracking: { rights: ['tracking:read'], inArchived: true },
  change: { rights: ['program:update'], inArchived: false },
  /** Endpoints are sent everything that happens. */
  sendEvents: { rights: ['program:update', 'events:read'], inArchived: false },
  /** What is no longer wanted, connections and endpoints. */
  remove: { rights: ['program:update'], inArchived: true },
  makeKey: { rights: ['program:regenerate-token'], inArchived: false },
  revokeKey: { rights: ['program:regenerate-token'], inArchived: true },
  goLive: { rights: ['program:go_live'], inArchived: false },
  archive: { rights: ['program:delete'], inArchived: false },
  /** Commissions are decided on and paid. */
  pay: { rights: ['program:pay_out'], inArchived: true },
} as const;
export type Act = keyof typeof ACTS;

/** What keeps somebody from it, if anything does. */
export type Obstacle = 'archived' | 'right';

/** `rights`: theirs in the program, or `undefined` of those who have all. */
export function obstacle(act: Act, rights: readonly string[] | undefined, status: string): Obstacle | undefined {
  const { rights: needed, inArchived } = ACTS[act];
  if (rights && !needed.every((right) => rights.includes(right))) return 'right';
  return status === 'archived' && !inArchived ? 'archived' : undefined;
}

/** Of what the service lists for a partner: its program records nothing any more, and what is owed can still be paid. */
export const isArchived = (row: object): boolean => 'program_status' in row && row.program_status === 'archived';

/** What the pages of a program are for; the overview is for all who have the program. */
export const PAGE_ACTS: Partial<Record<RouteName, Act>> = {
  events: 'seeEvents',
  customers: 'seeEvents',
  customer: 'seeEvents',
  sale: 'seeEvents',
  live: 'seeEvents',
  integration: 'seeTracking',
  partners: 'see',
  partner: 'see',
  links: 'see',
  commissions: 'see',
  review: 'pay',
  payouts: 'see',
  payout: 'see',
  processor: 'see',
  webhooks: 'see',
  webhook: 'see',
  notifications: 'see',
  settings: 'see',
};

/** What a page is for, whatever its reader's rights in a program: to be owner or admin of the program's workspace or of any, or owner of one. */
export type Standing = 'runsProgram' | 'runsWorkspace' | 'ownsWorkspace';

export const PAGE_STANDINGS: Partial<Record<RouteName, Standing>> = {
  customerData: 'runsProgram',
  workspace: 'runsWorkspace',
  keys: 'runsWorkspace',
  members: 'runsWorkspace',
  auditLog: 'ownsWorkspace',
};
