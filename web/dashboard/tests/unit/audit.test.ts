import { expect, test } from 'vitest';
import { actionText, detailsText } from '../../src/domain/audit';

test('an action is read as words', () => {
  expect(actionText('api_key.revoked')).toBe('Api key revoked');
  expect(actionText('program.updated')).toBe('Program updated');
});

test.each([
  [{}, ''],
  [{ hold_days: { before: 15, after: 30 } }, 'Hold days: 15 → 30'],
  [{ website: { before: null, after: 'https://shop.example' } }, 'Website: none → https://shop.example'],
  [{ failed_before: 0, code: false }, 'Failed before: 0; Code: false'],
  [{ scopes: ['program:read'], note: '' }, 'Scopes: ["program:read"]; Note: none'],
  [{ before: { name: 'A' }, after: { name: 'B' } }, 'Before: {"name":"A"}; After: {"name":"B"}'],
])('details %j are read as %s', (details, shown) => {
  expect(detailsText(details)).toBe(shown);
});
