import { expect, test } from 'vitest';
import {
  addDays,
  ago,
  isDay,
  length,
  objection,
  parseSpan,
  presetOf,
  presetRange,
  PRESETS,
  previous,
  spanQuery,
  spanText,
} from '../../src/domain/days';

test('days are calendar days, over months, leap years and changes of the clock', () => {
  expect(addDays('2024-02-28', 1)).toBe('2024-02-29');
  expect(addDays('2025-12-31', 1)).toBe('2026-01-01');
  expect(addDays('2026-03-29', -1)).toBe('2026-03-28');
  expect(length({ from: '2026-03-01', to: '2026-03-31' })).toBe(31);
  expect(isDay('2026-02-29')).toBe(false);
  expect(isDay('2026-2-9')).toBe(false);
});

test('the period before is as long, and ends the day before', () => {
  const range = { from: '2026-03-01', to: '2026-03-31' };
  expect(previous(range)).toEqual({ from: '2026-01-29', to: '2026-02-28' });
  expect(length(previous(range))).toBe(length(range));
});

test('a range that cannot be asked for is objected to', () => {
  expect(objection({ from: '2026-01-01', to: '2026-01-01' })).toBeUndefined();
  expect(objection({ from: '2026-01-02', to: '2026-01-01' })).toMatch(/after/);
  expect(objection({ from: '2010-01-01', to: '2026-01-01' })).toMatch(/at most/);
  expect(objection({ from: '', to: '2026-01-01' })).toMatch(/both/);
});

test('a span is written into an address and read back', () => {
  for (const span of ['7d', 'all', { from: '2026-01-01', to: '2026-01-31' }] as const) {
    expect(parseSpan(spanText(span))).toEqual(span);
  }
  for (const none of [null, '']) expect(parseSpan(none)).toBe('30d');
  for (const nonsense of ['31d', '2026-01-31..2026-01-01', 'a..b']) expect(parseSpan(nonsense)).toBeUndefined();
  expect(spanQuery('90d')).toEqual({ period: '90d' });
  expect(spanQuery({ from: 'a', to: 'b' })).toEqual({ dateFrom: 'a', dateTo: 'b' });
});

test('what is close is told in its distance', () => {
  const now = Date.parse('2026-01-31T12:00:00Z');
  expect(ago('2026-01-31T11:59:30Z', now)).toBe('30 seconds ago');
  expect(ago('2026-01-31T10:00:00Z', now)).toBe('2 hours ago');
  expect(ago('2026-01-30T11:00:00Z', now)).toBe('yesterday');
  expect(ago('2025-11-02T00:00:00Z', now)).toBe('Nov 2, 2025');
});

test('presets are days of the calendar, and the current ones end today', () => {
  const ranges = (today: string) => PRESETS.map((preset) => spanText(presetRange(preset, today)));
  expect(ranges('2026-11-26')).toEqual([
    '2026-11-26..2026-11-26',
    '2026-11-25..2026-11-25',
    '2026-11-01..2026-11-26',
    '2026-10-01..2026-10-31',
    '2026-10-01..2026-11-26',
  ]);
  // Over the turn of a year, and a leap day.
  expect(ranges('2027-01-01')).toEqual([
    '2027-01-01..2027-01-01',
    '2026-12-31..2026-12-31',
    '2027-01-01..2027-01-01',
    '2026-12-01..2026-12-31',
    '2027-01-01..2027-01-01',
  ]);
  expect(spanText(presetRange('lastMonth', '2024-03-31'))).toBe('2024-02-01..2024-02-29');
  for (const [month, first] of [['03', '01'], ['04', '04'], ['09', '07'], ['12', '10']]) {
    expect(presetRange('thisQuarter', `2026-${month}-15`).from).toBe(`2026-${first}-01`);
  }
});

test('a preset is recognised by its days', () => {
  const today = '2026-11-26';
  for (const preset of PRESETS) expect(presetOf(presetRange(preset, today), today)).toBe(preset);
  expect(presetOf({ from: '2026-11-02', to: today }, today)).toBeUndefined();
  expect(presetOf('30d', today)).toBeUndefined();
  expect(presetOf(presetRange('thisMonth', '2027-01-01'), '2027-01-01')).toBe('today');
});
