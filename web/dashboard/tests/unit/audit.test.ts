import { expect, test } from 'vitest';
import { ACTOR, actionText, actorQuery, detailsText } from '../../src/domain/audit';
import { timeText } from '../../src/domain/days';
import { money } from '../../src/domain/money';

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
  [{ amount_cents: 1252, currency: 'KWD', commission_count: 2 }, `Amount: ${money(1252, 'KWD')}; Number of commissions: 2`],
  [{ amount_cents: -700 }, 'Amount: -700 in the currency’s smallest unit'],
  [{ before: { fixed_cents: 500, currency: 'USD', rate_bps: null } }, 'Before: Fixed amount $5.00'],
  [{ currency: { before: 'USD', after: 'EUR' } }, 'Currency: USD → EUR'],
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

test('an address names one who acted, or all of a kind', () => {
  for (const known of ['user-12', 'key-3', 'key', 'program', 'operator']) expect(known).toMatch(ACTOR);
  for (const unknown of ['', 'zzz', 'user', 'user-x', 'user-0', 'operator-1', 'key-3-4']) expect(unknown).not.toMatch(ACTOR);
});
