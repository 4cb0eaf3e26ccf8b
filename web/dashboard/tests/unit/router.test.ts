import { expect, test } from 'vitest';
import { ID, knownText } from '../../src/router/filters';
import { isForPartners, match, pageOf, path, ROUTES, safeNext, type RouteName } from '../../src/router/routes';

test('every page is found under its own address, and under no other', () => {
  const parameters = { program: '7', partner: '8', payout: '9', endpoint: '10', customer: '11', sale: '12', token: 'inv_a-b' };
  for (const name of Object.keys(ROUTES) as RouteName[]) {
    const found = match(path(name, parameters));
    expect(found?.name).toBe(name);
    for (const [place, text] of Object.entries(found?.parameters ?? {})) {
      expect(text).toBe(parameters[place as keyof typeof parameters]);
    }
    expect(match(`${path(name, parameters)}/`)?.name).toBe(name);
  }
});

test('a partner has pages of their own', () => {
  for (const path of ['/app/partner', '/app/partner/', '/app/partner/links']) expect(isForPartners(path), path).toBe(true);
  for (const path of ['/app', '/app/partners', '/app/programs/1/partners/2']) expect(isForPartners(path), path).toBe(false);
});

test('what is no address of ours has no page', () => {
  for (const nothing of ['/', '/api/users/me', '/app/nothing', '/app/programs/0', '/app/programs/x', '/invitations/a/b']) {
    expect(match(nothing)).toBeUndefined();
  }
});

test('a page of an address is a number from 1 on, and may name the newest entry', () => {
  expect(pageOf('17')).toEqual({ page: 17 });
  expect(pageOf('2-1234')).toEqual({ page: 2, upTo: 1234 });
  for (const nothing of ['', '0', '-1', '1.5', 'two', '1e3', '2-', '2-0', '2-x', '9'.repeat(12)]) {
    expect(pageOf(nothing)).toEqual({ page: 1 });
  }
});

test('an address names a choice of a filter, or an entry by its id; anything else is no filter', () => {
  const choices = [['', 'All'], ['live', 'Live']] as const;
  for (const [text, known, taken] of [
    ['live', choices, 'live'],
    ['zzz', choices, ''],
    ['', choices, ''],
    ['17', ID, '17'],
    ['0', ID, ''],
    ['17x', ID, ''],
    ['any text', undefined, 'any text'],
  ] as const) {
    expect(knownText(text, known)).toBe(taken);
  }
});

test('a sign-in leads nowhere else', () => {
  expect(safeNext('/app/programs/3/events?type=click', false)).toBe('/app/programs/3/events?type=click');
  for (const elsewhere of [null, '', '//evil.example/app', 'https://evil.example/app', '/app/../x', 'javascript:alert(1)']) {
    expect(safeNext(elsewhere, false)).toBeUndefined();
  }
  // Of somebody else, who signed in here before.
  expect(safeNext('/app/programs/3/events', true)).toBeUndefined();
  expect(safeNext('/app/partner/links', false)).toBeUndefined();
  expect(safeNext('/app/partner/links', true)).toBe('/app/partner/links');
  expect(safeNext('/app/account', true)).toBe('/app/account');
});
