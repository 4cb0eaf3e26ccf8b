/** The newest entries of a list, of several pages at once. */
import type { ListMeta } from './operations';

export interface Newest<Row> {
  rows: Row[];
  /** There are no older ones. */
  isWhole: boolean;
}

/** At most `pages` pages, as `read` has them. */
export async function newest<Row extends { id?: number | null }>(
  read: (page: number) => Promise<{ data: Row[]; meta: ListMeta }>,
  pages: number,
): Promise<Newest<Row>> {
  const first = await read(1);
  const { pageCount } = first.meta.pagination;
  const others = Array.from({ length: Math.min(pages, pageCount) - 1 }, (_, index) => read(index + 2));
  const all = [first, ...(await Promise.all(others))].flatMap(({ data }) => data);
  // Entries that arrive meanwhile push others onto the next page.
  return { rows: [...new Map(all.map((row) => [row.id, row])).values()], isWhole: pageCount <= pages };
}
