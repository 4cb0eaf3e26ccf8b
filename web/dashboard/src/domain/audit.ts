/** Display texts of audit log entries. */
import { timeText } from './days';
import { money } from './money';
import { label } from './words';
import { say } from '../texts/catalogue';
import { texts } from '../texts/domain/audit';

const INSTANT = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/;

/** Details that people wrote. */
const WRITTEN = ['name', 'note', 'description', 'reference', 'short_code', 'slug'];

/** Kinds of actors, as the filter offers them after the members by name. */
export const actorKinds = () => Object.entries(texts.actors);
/** Nouns of actions, as the filter offers them. */
export const actionKinds = () => Object.entries(texts.kinds);

/** One or all of a kind, in the address. */
export const ACTOR = /^(?:(?:user|key)-[1-9]\d{0,15}|key|program|operator)$/;

/** `user-12` or `key` of the address, as the service is asked. */
export function actorQuery(who: string): { actor?: string; actor_id?: number } {
  const [actor = '', id] = who.split('-');
  if (!actor) return {};
  return id === undefined ? { actor } : { actor, actor_id: Number(id) };
}

/** Who it was; an operator has no name. */
export const actorText = ({ type, name }: { type: string; name: string }): string => (name === type ? (of(texts.values, type) ?? name) : name);

/** `api_key.revoked` as `API key revoked`. */
export function actionText(action: string): string {
  const [noun = '', verb = ''] = action.split('.');
  const nouns: Readonly<Record<string, string>> = texts.nouns;
  const verbs: Readonly<Record<string, string>> = texts.verbs;
  return say(texts.action, { noun: nouns[noun] ?? label(noun), verb: verbs[verb] ?? verb.replaceAll('_', ' ') });
}

/** What changed to what: `Hold days: 15 → 30`. What is empty is left out. */
export function detailsText(details: Record<string, unknown>): string {
  return readable(details)
    .filter(([, value]) => !isNothing(value))
    .map(([name, value]) => `${nameText(name)}: ${isChange(value) ? `${plain(value.before, name)} → ${plain(value.after, name)}` : plain(value, name)}`)
    .join('; ');
}

/** Amounts are in the currency beside them, which is not said again. Older entries have none. */
function readable(details: object): [string, unknown][] {
  const { currency } = details as { currency?: unknown };
  const entries: [string, unknown][] = Object.entries(details);
  const isAmount = ([name, value]: [string, unknown]) => name.endsWith('_cents') && typeof value === 'number';
  if (!entries.some(isAmount)) return entries;
  const text = (cents: number) => (typeof currency === 'string' ? money(cents, currency) : say(texts.inSmallestUnit, { number: cents }));
  return entries
    .filter(([name]) => name !== 'currency')
    .map(([name, value]) => (isAmount([name, value]) ? [name, text(Number(value))] : [name, value]));
}

/** `createdAt` as `Created at`. */
const nameText = (name: string): string => of(texts.fields, name) ?? label(name.replace(/[a-z][A-Z]/g, ([low, high]) => `${low} ${high?.toLowerCase()}`));

const of = (known: Readonly<Record<string, string>>, name: string): string | undefined => (Object.hasOwn(known, name) ? known[name] : undefined);

function isChange(value: unknown): value is { before: unknown; after: unknown } {
  return typeof value === 'object' && value !== null && 'before' in value && 'after' in value;
}

function isNothing(value: unknown): boolean {
  return value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0);
}

function plain(value: unknown, name: string): string {
  if (isNothing(value)) return texts.none;
  if (typeof value === 'boolean') return value ? texts.yes : texts.no;
  if (Array.isArray(value)) return value.map((one) => plain(one, name)).join(', ');
  if (typeof value === 'object' && value !== null)
    return readable(value)
      .filter(([, inner]) => !isNothing(inner))
      .map(([name, inner]) => `${nameText(name)} ${plain(inner, name)}`)
      .join(', ');
  const text = String(value);
  return INSTANT.test(text) ? timeText(text) : (WRITTEN.includes(name) ? text : (of(texts.values, text) ?? text));
}
