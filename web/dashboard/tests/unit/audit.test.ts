import { expect, test } from 'vitest';
import { actionText, actorQuery, detailsText } from '../../src/domain/audit';
import { timeText } from '../../src/domain/days';

test.each([
  ['api_key.revoked', 'API key revoked'],
  ['program.updated', 'Program updated'],
  ['cli_session.opened', 'Command line session opened'],
  ['user.signed_in', 'User signed in'],
])('the action %s is read as %s', (action, shown) => {
  expect(actionText(action)).toBe(shown);
});

test.each([
  [{}, ''],
  [{ hold_days: { before: 15, after: 0 } }, 'Hold days: 15 → 0'],
  [{ website: { before: null, after: 'https://shop.example' } }, 'Website: none → https://shop.example'],
  [{ failed_before: 0, code: false }, 'Failed before: 0; Code: no'],
  [{ scopes: ['program:read', 'program:list'], note: '', product_id: null }, 'Scopes: program:read, program:list'],
  [{ before: { name: 'A' }, after: { name: 'B', rate_bps: null } }, 'Before: Name A; After: Name B'],
  [{ permissions: { 8: ['tracking:read'], 9: [] } }, 'Permissions: 8 tracking:read'],
  [{ createdAt: '2026-11-26T17:29:00.400Z' }, `Created at: ${timeText('2026-11-26T17:29:00.400Z')}`],
])('details %j are read as %s', (details, shown) => {
  expect(detailsText(details)).toBe(shown);
});

test.each([
  ['', {}],
  ['operator', { actor: 'operator' }],
  ['user-12', { actor: 'user', actor_id: 12 }],
])('%j in the address asks for %j', (who, query) => {
  expect(actorQuery(who)).toEqual(query);
});
