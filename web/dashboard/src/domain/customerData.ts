/** What is stored about a customer, in words. Pure. */
import { counted } from './words';

/** Tables whose rows an erasure changes or deletes. */
const ERASED: [table: string, one: string, many?: string][] = [
  ['customers', 'customer’s key and click id', 'customers’ keys and click ids'],
  ['click_events', 'click'],
  ['lead_events', 'lead'],
  ['sale_events', 'sale’s items', 'sales’ items'],
  ['refunds', 'reason of a refund', 'reasons of refunds'],
  ['notifications', 'notification'],
  ['processor_customers', 'binding to the payment processor', 'bindings to the payment processor'],
  ['outbound_events', 'event sent to others', 'events sent to others'],
  ['webhook_deliveries', 'answer to a webhook', 'answers to webhooks'],
  ['unprocessed', 'record that could not be processed', 'records that could not be processed'],
];

/** Tables of money, which an erasure keeps. */
const KEPT: [table: string, one: string, many?: string][] = [
  ['sale_events', 'sale'],
  ['commissions', 'commission'],
  ['refunds', 'refund'],
];

type Counts = Readonly<Record<string, number | readonly unknown[]>>;

function lines(counts: Counts, of: typeof ERASED): string[] {
  return of.flatMap(([table, one, many]) => {
    const rows = counts[table] ?? 0;
    const number = typeof rows === 'number' ? rows : rows.length;
    return number > 0 ? [counted(number, one, many)] : [];
  });
}

/** `3 clicks`, `1 lead`: of an export what an erasure removes, or of an erasure what it removed. */
export const erasedLines = (counts: Counts) => lines(counts, ERASED);
/** What stays, without a name. */
export const keptLines = (counts: Counts) => lines(counts, KEPT);
/** Nobody is known by the names given. */
export const isNobody = (counts: Counts) => Object.values(counts).every((rows) => (typeof rows === 'number' ? rows : rows.length) === 0);
