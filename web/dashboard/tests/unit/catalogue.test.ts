/** The catalogues of all languages: the same messages, with the same places to fill in. */
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { pieces, say } from '../../src/texts/catalogue';
import { preferred } from '../../src/texts/language';
import { files, read } from './english';

const TEXTS = new URL('../../src/texts/', import.meta.url);
/** Messages of the service have a test of their own. */
const NO_AREAS = ['catalogue.ts', 'language.ts', 'server.ts', 'serverFields.ts', 'serverMessages.ts'];
const names = (folder: string) =>
  readdirSync(new URL(folder, TEXTS), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
const areas = names('.').filter((name) => !name.startsWith('de/') && !NO_AREAS.includes(name));
const german = names('de/').filter((name) => !NO_AREAS.includes(name));

type Messages = { [key: string]: string | Messages };
const load = async (name: string, of: 'en' | 'de'): Promise<Messages> =>
  ((await import(new URL(of === 'en' ? name : `de/${name}`, TEXTS).href)) as Record<string, Messages>)[of] ?? {};

const catalogues = new Map(await Promise.all(areas.map(async (name) => [name, [await load(name, 'en'), await load(name, 'de')]] as const)));

/** `kept.refunds.one` and its text. */
const flat = (messages: Messages, before = ''): [string, string][] =>
  Object.entries(messages).flatMap(([key, text]) => (typeof text === 'string' ? [[before + key, text]] : flat(text, `${before}${key}.`)));

/** Names to fill in, and parts to draw. */
const places = (text: string) => [...text.matchAll(/\{(\w+)\}|<\/?(\w+)>/g)].map(([place]) => place).sort();

test('every area is there in German', () => {
  expect(areas.length).toBeGreaterThan(10);
  expect(german.sort()).toEqual([...areas].sort());
});

test.each([...catalogues])('%s has the same messages in German', (_, [en, de]) => {
  const [english, german] = [flat(en), flat(de)];
  expect(english.length).toBeGreaterThan(0);
  expect(german.map(([key]) => key).sort()).toEqual(english.map(([key]) => key).sort());
  const translated = new Map(german);
  for (const [key, text] of english) {
    const other = translated.get(key) ?? '';
    expect(other.trim().length, key).toBeGreaterThan(0);
    expect(places(other), key).toEqual(places(text));
    // Joins with what stands beside it in the same way.
    expect([/^\s/.test(other), /\s$/.test(other)], key).toEqual([/^\s/.test(text), /\s$/.test(text)]);
  }
});

test('a message is filled in, in the plural form of its count', () => {
  const sales = { one: '{count} sale of {name}', other: '{count} sales of {name}' } as const;
  expect(say(sales, { count: 1, name: 'Ada' })).toBe('1 sale of Ada');
  expect(say(sales, { count: 0, name: 'Ada' })).toBe('0 sales of Ada');
  expect(say(sales, { count: 1_234, name: 'Ada' })).toBe('1,234 sales of Ada');
  expect(say('Commission {id}', { id: 1_234 })).toBe('Commission 1234');
  // What is filled in is text, whatever it looks like.
  expect(say('Hello {name}', { name: '{id} $& <code>' })).toBe('Hello {id} $& <code>');
});

test('a message has parts that are drawn', () => {
  expect(pieces('Run <code>{command}</code>, {name}, or ask {partner}.', { command: 'ctl', name: 'Ada' })).toEqual([
    { text: 'Run ' },
    { part: 'code', text: 'ctl' },
    { text: ', Ada, or ask ' },
    { part: 'partner', text: '' },
    { text: '.' },
  ]);
  expect(pieces({ one: '<b>{count}</b> is left', other: '<b>{count}</b> are left' }, { count: 2 })).toEqual([
    { part: 'b', text: '2' },
    { text: ' are left' },
  ]);
  expect(pieces('{name}', { name: '<code>x</code>' })).toEqual([{ text: '<code>x</code>' }]);
});

test('the language is the chosen one, or the first of the browser’s that there is', () => {
  expect(preferred(null, ['de-AT', 'en'])).toBe('de');
  expect(preferred(null, ['fr', 'DE', 'en'])).toBe('de');
  expect(preferred(null, ['en-GB', 'de'])).toBe('en');
  expect(preferred('en', ['de'])).toBe('en');
  expect(preferred('xx', ['de'])).toBe('de');
  expect(preferred(null, ['fr'])).toBe('en');
  expect(preferred(null, [])).toBe('en');
});

test('every message is shown somewhere', () => {
  const sources = files.filter((name) => !name.startsWith('texts/')).map(read);
  const unused = [...catalogues].flatMap(([name, [english]]) => {
    const area = name.replace(/\.ts$/, '');
    const users = sources.filter((source) => source.includes(`texts/${area}'`)).join('\n');
    return Object.keys(english ?? {}).filter((key) => !new RegExp(`\\b(texts|words)\\.${key}\\b`).test(users)).map((key) => `${name}: ${key}`);
  });
  expect(unused).toEqual([]);
});
