import { expect, test } from 'vitest';
import { obstacle, PAGE_ACTS } from '../../src/domain/acts';
import { rightsOf } from '../../src/domain/rights';

test('an analyst sees, and changes and pays nothing', () => {
  const rights = rightsOf('analyst');
  for (const act of ['see', 'seeEvents', 'seeTracking'] as const) expect(obstacle(act, rights, 'live')).toBeUndefined();
  for (const act of ['change', 'remove', 'makeKey', 'revokeKey', 'goLive', 'archive', 'pay'] as const) expect(obstacle(act, rights, 'live')).toBe('right');
});

test('who may see events may see whose they are, and each sale', () => {
  for (const page of ['events', 'customers', 'customer', 'sale'] as const) expect(PAGE_ACTS[page]).toBe('seeEvents');
});

test('what an endpoint is sent takes the right to read it, too', () => {
  expect(obstacle('sendEvents', rightsOf('partners'), 'live')).toBe('right');
  expect(obstacle('sendEvents', rightsOf('manager'), 'live')).toBeUndefined();
});

test('in an archived program what is owed is paid and what is left is removed, and nothing else', () => {
  for (const rights of [undefined, rightsOf('manager')]) {
    for (const act of ['see', 'pay', 'remove', 'revokeKey'] as const) expect(obstacle(act, rights, 'archived')).toBeUndefined();
    for (const act of ['change', 'sendEvents', 'makeKey', 'goLive', 'archive'] as const) expect(obstacle(act, rights, 'archived')).toBe('archived');
  }
});
