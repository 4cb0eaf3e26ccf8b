import { expect, test } from 'vitest';
import { search, type Entry } from '../../src/domain/search';

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
