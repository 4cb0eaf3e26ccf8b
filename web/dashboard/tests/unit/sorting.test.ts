import { expect, test } from 'vitest';
import { chosen, sortingOf } from '../../src/router/sorting';

const SORTS = { name: 'asc', clicks: 'desc' } as const;

test('an address names a column of the list, and an order or its first', () => {
  expect(sortingOf('clicks', 'asc', SORTS)).toEqual({ sort: 'clicks', order: 'asc' });
  expect(sortingOf('clicks', '', SORTS)).toEqual({ sort: 'clicks', order: 'desc' });
  expect(sortingOf('name', 'upwards', SORTS)).toEqual({ sort: 'name', order: 'asc' });
  for (const nothing of ['', 'balance', 'toString']) expect(sortingOf(nothing, 'asc', SORTS)).toBeUndefined();
});

test('names begin with A, figures with the greatest; the third choice is the list’s own order', () => {
  for (const [sort, orders] of [['name', ['asc', 'desc']], ['clicks', ['desc', 'asc']]] as const) {
    const once = chosen(undefined, sort, SORTS);
    expect(once).toEqual({ sort, order: orders[0] });
    const twice = chosen(once, sort, SORTS);
    expect(twice).toEqual({ sort, order: orders[1] });
    expect(chosen(twice, sort, SORTS)).toBeUndefined();
  }
});

test('another column begins with its own order', () => {
  expect(chosen({ sort: 'name', order: 'desc' }, 'clicks', SORTS)).toEqual({ sort: 'clicks', order: 'desc' });
});
