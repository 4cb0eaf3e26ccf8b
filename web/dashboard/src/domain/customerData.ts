/** What is stored about a customer, in words. Pure. */
import { say, type Plural } from '../texts/catalogue';
import { texts } from '../texts/domain/customerData';

type Counts = Readonly<Record<string, number | readonly unknown[]>>;

/** By table, in the order in which they are listed. */
function lines(counts: Counts, messages: Readonly<Record<string, Plural>>): string[] {
  return Object.entries(messages).flatMap(([table, message]) => {
    const rows = counts[table] ?? 0;
    const count = typeof rows === 'number' ? rows : rows.length;
    return count > 0 ? [say(message, { count })] : [];
  });
}

/** `3 clicks`, `1 lead`: of an export what an erasure removes, or of an erasure what it removed. */
export const erasedLines = (counts: Counts) => lines(counts, texts.erased);
/** What stays, without a name: money. */
export const keptLines = (counts: Counts) => lines(counts, texts.kept);
/** Nobody is known by the names given. */
export const isNobody = (counts: Counts) => Object.values(counts).every((rows) => (typeof rows === 'number' ? rows : rows.length) === 0);
