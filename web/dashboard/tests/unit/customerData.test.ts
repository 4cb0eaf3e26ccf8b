import { expect, test } from 'vitest';
import { erasedLines, isNobody, keptLines } from '../../src/domain/customerData';

test('what an erasure removes and what it keeps is counted from an export', () => {
  const found = { customers: [{}], click_events: [{}, {}, {}], lead_events: [], sale_events: [{}], commissions: [{}, {}], refunds: [] };
  expect(erasedLines(found)).toEqual(['1 customer’s key and click id', '3 clicks', '1 sale’s items']);
  expect(keptLines(found)).toEqual(['1 sale', '2 commissions']);
  expect(isNobody(found)).toBe(false);
});

test('an erasure answers with numbers', () => {
  expect(erasedLines({ customers: 1, click_events: 0, lead_events: 2 })).toEqual(['1 customer’s key and click id', '2 leads']);
  expect(isNobody({ customers: 0, click_events: 0 })).toBe(true);
  expect(isNobody({ customers: [], unprocessed: [{}] })).toBe(false);
});
