/** Display texts of audit log entries. */
import { timeText } from './days';
import { label } from './words';

const INSTANT = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/;

/** Kinds of actors, as the filter offers them after the members by name. */
export const ACTORS = [
  ['key', 'Management keys'],
  ['program', 'Program keys'],
  ['operator', 'Operators'],
] as const;

/** Nouns of actions, as the filter offers them. */
export const ACTIONS = [
  ['', 'Everything'],
  ['user', 'Sign-ins and accounts'],
  ['member', 'Members'],
  ['invitation', 'Invitations'],
  ['api_key', 'Management keys'],
  ['workspace', 'Workspace'],
  ['program', 'Programs'],
  ['program_token', 'Program keys'],
  ['tracking_token', 'Server keys'],
  ['commission_policy', 'Commission terms'],
  ['partner', 'Partners'],
  ['referral_link', 'Referral links'],
  ['commission', 'Commissions'],
  ['payout', 'Payouts'],
  ['customer', 'Customers’ data'],
  ['processor_connection', 'Payment processor'],
  ['webhook_endpoint', 'Webhooks'],
] as const;

/** `user-12` or `key` of the address, as the service is asked. */
export function actorQuery(who: string): { actor?: string; actor_id?: number } {
  const [actor = '', id] = who.split('-');
  if (!actor) return {};
  return id === undefined ? { actor } : { actor, actor_id: Number(id) };
}

/** `api_key.revoked` as `API key revoked`. */
export const actionText = (action: string): string =>
  label(action.replaceAll('.', ' '))
    .replace(/^Api key/, 'API key')
    .replace(/^Cli/, 'Command line');

/** What changed to what: `Hold days: 15 → 30`. What is empty is left out. */
export function detailsText(details: Record<string, unknown>): string {
  return Object.entries(details)
    .filter(([, value]) => !isNothing(value))
    .map(([name, value]) => `${nameText(name)}: ${isChange(value) ? `${plain(value.before)} → ${plain(value.after)}` : plain(value)}`)
    .join('; ');
}

/** `createdAt` as `Created at`. */
const nameText = (name: string): string => label(name.replace(/[a-z][A-Z]/g, ([low, high]) => `${low} ${high?.toLowerCase()}`));

function isChange(value: unknown): value is { before: unknown; after: unknown } {
  return typeof value === 'object' && value !== null && 'before' in value && 'after' in value;
}

function isNothing(value: unknown): boolean {
  return value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0);
}

function plain(value: unknown): string {
  if (isNothing(value)) return 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map(plain).join(', ');
  if (typeof value === 'object')
    return Object.entries(value as object)
      .filter(([, inner]) => !isNothing(inner))
      .map(([name, inner]) => `${nameText(name)} ${plain(inner)}`)
      .join(', ');
  const text = String(value);
  return INSTANT.test(text) ? timeText(text) : text;
}
