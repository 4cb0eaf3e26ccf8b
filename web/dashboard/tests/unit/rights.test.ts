import { expect, test } from 'vitest';
import { CUSTOM, PRESETS, presetOf, RIGHTS, rightsOf, rightsText } from '../../src/domain/rights';

test('each preset is known again by its rights, in any order', () => {
  for (const { id } of PRESETS) expect(presetOf(rightsOf(id).reverse())).toBe(id);
  expect(presetOf([])).toBe(CUSTOM);
  expect(presetOf([...rightsOf('analyst'), 'program:delete'])).toBe(CUSTOM);
});

test('presets give only rights that exist; one gives all', () => {
  const all: string[] = [...RIGHTS];
  for (const { rights } of PRESETS) expect(rights.filter((right) => !all.includes(right))).toEqual([]);
  expect(presetOf(all)).toBe('manager');
});

test('who only looks, pays or develops cannot change or archive anything else', () => {
  for (const id of ['analyst', 'finance', 'developer']) {
    expect(rightsOf(id)).not.toContain('program:update');
    expect(rightsOf(id)).not.toContain('program:delete');
  }
  expect(PRESETS.filter(({ rights }) => rights.includes('program:pay_out')).map(({ id }) => id)).toEqual(['finance', 'manager']);
});

test('rights in a few words', () => {
  const analyst = rightsOf('analyst');
  expect(rightsText('owner', {})).toBe('All programs');
  expect(rightsText('member', {})).toBe('No program');
  expect(rightsText('member', { 1: analyst, 2: analyst, 3: ['program:list'], 4: [] })).toBe('Analyst in 2 programs, Some rights in 1 program');
});
