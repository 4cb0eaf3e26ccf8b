/** How a list is sorted, as a page's address and a request say it. Pure. */

export type Order = 'asc' | 'desc';

/** What a list can be sorted by, each with the order in which it begins: names with A, figures with the greatest. */
export type Sorts = Readonly<Record<string, Order>>;

export interface Sorting {
  sort: string;
  order: Order;
}

/** Nothing is the list's own order: its newest first. */
export function sortingOf(sort: string, order: string, sorts: Sorts): Sorting | undefined {
  const first = Object.hasOwn(sorts, sort) ? sorts[sort] : undefined;
  return first && { sort, order: order === 'asc' || order === 'desc' ? order : first };
}

/** Choosing a column: its first order, then the other, then the list's own. */
export function chosen(now: Sorting | undefined, sort: string, sorts: Sorts): Sorting | undefined {
  const first = sorts[sort] ?? 'asc';
  if (now?.sort !== sort) return { sort, order: first };
  return now.order === first ? { sort, order: first === 'asc' ? 'desc' : 'asc' } : undefined;
}
