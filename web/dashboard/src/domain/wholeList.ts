/** A list that the service gives whole, searched and sorted here: as a page of a longer one would be. */
import type { ListMeta } from '../api/operations';
import type { Sorting } from '../router/sorting';

export interface Look<Row> {
  /** In the text of a row, whatever its case. */
  search: string;
  text: (row: Row) => string;
  sorting: Sorting | undefined;
  /** What rows are sorted by: texts and instants. What has none comes last, either way. */
  columns: Readonly<Record<string, (row: Row) => string | null>>;
}

export function wholeList<Row>(all: readonly Row[], { search, text, sorting, columns }: Look<Row>): { data: Row[]; meta: ListMeta } {
  const wanted = search.toLocaleLowerCase();
  const data = all.filter((row) => text(row).toLocaleLowerCase().includes(wanted));
  const column = sorting && columns[sorting.sort];
  if (column) data.sort((one, other) => compared(column(one), column(other), sorting.order === 'asc' ? 1 : -1));
  return { data, meta: { pagination: { page: 1, pageSize: data.length, pageCount: 1, total: data.length } } };
}

function compared(one: string | null, other: string | null, sign: number): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  return sign * one.localeCompare(other);
}
