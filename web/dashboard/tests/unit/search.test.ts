import { expect, test } from 'vitest';
import type { ProgramEvent } from '../../src/api/operations';
import { grouped, namedBy, search, type Entry } from '../../src/domain/search';

const entry = (text: string, kind = 'Page', about?: string): Entry => ({ kind, text, about, href: `/${text}` });
const ENTRIES = [
  entry('Overview'),
  entry('Referral links'),
  entry('Settings'),
  entry('Link Shop', 'Program', 'shop.example'),
  entry('José Blinker', 'Partner', 'jose@mail.example'),
];
const names = (text: string, most = 9) => search(ENTRIES, text, most).map((found) => found.text);

test('names that begin with the text come first, then those with a word that does', () => {
  expect(names('link')).toEqual(['Link Shop', 'Referral links', 'José Blinker']);
});

test('case, accents and the order of words do not matter', () => {
  expect(names('JOSE')).toEqual(['José Blinker']);
  expect(names('links ref')).toEqual(['Referral links']);
});

test('what it is, and what it is also known by, are found too', () => {
  expect(names('partner jose')).toEqual(['José Blinker']);
  expect(names('shop.example')).toEqual(['Link Shop']);
  expect(names('jose@mail')).toEqual(['José Blinker']);
});

test('nothing typed: all, in their order and not more than are shown; nothing found: none', () => {
  expect(names(' ')).toEqual(ENTRIES.map(({ text }) => text));
  expect(names('', 2)).toEqual(['Overview', 'Referral links']);
  expect(names('(')).toEqual([]);
});

test('what the service found by a whole text comes first, whatever it shows', () => {
  const found = { ...entry('user-42', 'Customers'), isFound: true };
  expect(search([...ENTRIES, found], 'ann@mail.example', 9)).toEqual([found]);
  expect(search([...ENTRIES, found], 'link', 2).map(({ text }) => text)).toEqual(['Link Shop', 'user-42']);
});

test('results are grouped, in the order of the best of each group', () => {
  const list = [entry('b', 'Pages'), entry('a', 'Partners'), entry('c', 'Pages')];
  expect(grouped(list).map(([kind, entries]) => [kind, entries.map(({ text }) => text)])).toEqual([
    ['Pages', ['b', 'c']],
    ['Partners', ['a']],
  ]);
});

test('events name the sale with the id that was looked for, and each customer once', () => {
  const event = (more: object) => ({ event_type: 'click', id: 1, timestamp: '2026-03-01T12:00:00.000Z', customer_id: 7, click_id: 'cust_1', ...more }) as unknown as ProgramEvent;
  const sale = (transaction_id: string) => event({ event_type: 'sale', id: 5, is_recurring: false, transaction_id, amount_cents: 9_900, currency: 'USD', customer_key: 'user-42' });
  const events = [event({}), sale('t/1'), sale('t/2'), event({ customer_id: 8, click_id: 'cust_2' }), event({ customer_id: null })];
  expect(namedBy(events, 't/1', 3).map(({ kind, text, about, href }) => [kind, text, about, href])).toEqual([
    ['Transactions', 't/1', '$99.00, Mar 1, 12:00:00', '/app/programs/3/sales/5'],
    ['Customers', 'user-42', undefined, '/app/programs/3/customers/7'],
    ['Customers', 'cust_2', undefined, '/app/programs/3/customers/8'],
  ]);
  expect(namedBy(events, 'user-42', 3).map(({ kind }) => kind)).toEqual(['Customers', 'Customers']);
});
