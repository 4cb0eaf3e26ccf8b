import { expect, test } from 'vitest';
import { wholeList } from '../../src/domain/wholeList';

const ROWS = [
  { url: 'https://b.example', failed: null },
  { url: 'https://A.example', failed: '2026-11-02T00:00:00Z' },
  { url: 'https://c.example', failed: '2026-11-01T00:00:00Z' },
];
type Row = (typeof ROWS)[number];

function shown(sort: string, order: 'asc' | 'desc', search = '') {
  const columns = { url: ({ url }: Row) => url, failed: ({ failed }: Row) => failed };
  const { data, meta } = wholeList(ROWS, { search, text: ({ url }) => url, sorting: sort ? { sort, order } : undefined, columns });
  expect(meta.pagination).toEqual({ page: 1, pageSize: data.length, pageCount: 1, total: data.length });
  return data.map(({ url }) => url.slice(8, 9)).join('');
}

test('rows are in their own order, or in that of a column; what has no value comes last', () => {
  expect(shown('', 'asc')).toBe('bAc');
  expect(shown('url', 'asc')).toBe('Abc');
  expect(shown('url', 'desc')).toBe('cbA');
  expect(shown('failed', 'asc')).toBe('cAb');
  expect(shown('failed', 'desc')).toBe('Acb');
});

test('rows are found by a part of their text, whatever its case', () => {
  expect(shown('', 'asc', 'HTTPS://a')).toBe('A');
  expect(shown('url', 'desc', 'example')).toBe('cbA');
  expect(shown('', 'asc', 'nothing')).toBe('');
});
