/** Search in a short list that is there as a whole, and what the service adds to it. Pure. */
import type { ProgramEvent } from '../api/operations';
import { path } from '../router/routes';
import { texts } from '../texts/domain/search';
import { timeText } from './days';
import { customerName } from './journey';
import { money } from './money';

export interface Entry {
  /** `Pages`, `Programs`, `Partners`; '' where all are of one kind. */
  kind: string;
  text: string;
  /** Also found by it, such as an e-mail address. */
  about?: string | undefined;
  /** Where it leads, or its id. */
  href: string;
  /** The service found it by the whole text, which it need not show: an e-mail address. */
  isFound?: boolean;
}

/** Without case and accents. */
function folded(text: string): string {
  return text.normalize('NFD').replaceAll(/\p{Diacritic}/gu, '').toLowerCase();
}

/** Entries in which every word of the text occurs: names that begin with the text first, then those with its words at the beginning of theirs. */
export function search(entries: readonly Entry[], text: string, most: number): Entry[] {
  const wanted = folded(text).trim();
  const words = wanted.split(/\s+/).filter(Boolean);
  const found = entries.flatMap((entry) => {
    if (entry.isFound) return [{ entry, rank: 0 }];
    const name = folded(entry.text);
    const all = `${name} ${folded(entry.kind)} ${folded(entry.about ?? '')}`;
    if (!words.every((word) => all.includes(word))) return [];
    const rank = name.startsWith(wanted) ? 0 : words.every((word) => ` ${name}`.includes(` ${word}`)) ? 1 : 2;
    return [{ entry, rank }];
  });
  // Sorting keeps the order of equals.
  return found.sort((one, other) => one.rank - other.rank).slice(0, most).map(({ entry }) => entry);
}

/** By kind, in the order in which the kinds come first. */
export function grouped(entries: readonly Entry[]): [kind: string, Entry[]][] {
  const kinds = new Map<string, Entry[]>();
  for (const entry of entries) kinds.set(entry.kind, [...(kinds.get(entry.kind) ?? []), entry]);
  return [...kinds];
}

/** The sale with this transaction id, and the customers of events that the service found by a text. */
export function namedBy(events: readonly ProgramEvent[], text: string, program: number): Entry[] {
  const sales = events.flatMap((event) =>
    'is_recurring' in event && event.transaction_id === text
      ? [{
          kind: texts.transactions,
          text: event.transaction_id,
          about: `${money(event.amount_cents, event.currency)}, ${timeText(event.timestamp)}`,
          href: path('sale', { program, sale: event.id }),
          isFound: true,
        }]
      : [],
  );
  const customers = new Map<number, Entry>();
  for (const event of events) {
    if (event.customer_id == null) continue;
    if (!event.customer_key && customers.has(event.customer_id)) continue;
    const href = path('customer', { program, customer: event.customer_id });
    customers.set(event.customer_id, { kind: texts.customers, text: customerName(event), about: event.partner?.name ?? undefined, href, isFound: true });
  }
  return [...sales.slice(0, 1), ...customers.values()];
}
