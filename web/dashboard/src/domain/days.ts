/** UTC calendar days as `2026-01-31`, the only days the service knows. */
import { say } from '../texts/catalogue';
import { texts } from '../texts/domain/days';
import { locale } from '../texts/language';

const DAY_MS = 86_400_000;
const FORM = /^\d{4}-\d{2}-\d{2}$/;
export const LONGEST_RANGE = 3_660;

export type Day = string;

/** Both days included. */
export interface DayRange {
  from: Day;
  to: Day;
}

export const PERIODS = ['7d', '30d', '90d', 'all'] as const;
export type Period = (typeof PERIODS)[number];
/** The range of a report: a preset period, or custom days. */
export type Span = Period | DayRange;

export function isDay(text: string): boolean {
  return FORM.test(text) && dayOf(new Date(`${text}T00:00:00Z`)) === text;
}

export function dayOf(date: Date): Day {
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().slice(0, 10);
}

export function addDays(day: Day, days: number): Day {
  return dayOf(new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS));
}

/** How many days, both included. */
export function length({ from, to }: DayRange): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1;
}

/** The previous period of the same length. */
export function previous(range: DayRange): DayRange {
  return { from: addDays(range.from, -length(range)), to: addDays(range.from, -1) };
}

/** The error of custom days; `undefined` if they are valid. */
export function objection(range: DayRange): string | undefined {
  if (!isDay(range.from) || !isDay(range.to)) return texts.bothDays;
  if (range.from > range.to) return texts.firstAfterLast;
  if (length(range) > LONGEST_RANGE) return say(texts.longestRange, { days: LONGEST_RANGE });
  return undefined;
}

/** As in an address: `30d`, or `2026-01-01..2026-01-31`. */
export function spanText(span: Span): string {
  return typeof span === 'string' ? span : `${span.from}..${span.to}`;
}

export const DEFAULT_PERIOD: Period = '30d';

/** Parses an address; the last 30 days if it names none, nothing if it names what are no days. */
export function parseSpan(text: string | null): Span | undefined {
  if (!text) return DEFAULT_PERIOD;
  const period = PERIODS.find((name) => name === text);
  if (period) return period;
  const [from = '', to = ''] = text.split('..');
  const range = { from, to };
  return objection(range) === undefined ? range : undefined;
}

/** A day of an address; '' if it is none. */
export const dayIn = (text: string): Day => (isDay(text) ? text : '');

/** For the query of a report. */
export function spanQuery(span: Span): { period?: string; dateFrom?: string; dateTo?: string } {
  return typeof span === 'string' ? { period: span } : { dateFrom: span.from, dateTo: span.to };
}

/** Ranges that people ask for by name. */
export const PRESETS = ['today', 'yesterday', 'thisMonth', 'lastMonth', 'thisQuarter'] as const;
export type Preset = (typeof PRESETS)[number];

export const presetName = (preset: Preset): string => texts.presets[preset];

/** Its days; the current month and quarter end today. */
export function presetRange(preset: Preset, today: Day): DayRange {
  const yesterday = addDays(today, -1);
  const [year = 0, month = 1] = today.split('-').map(Number);
  const firstOf = (month: number) => dayOf(new Date(Date.UTC(year, month - 1, 1)));
  switch (preset) {
    case 'today':
      return { from: today, to: today };
    case 'yesterday':
      return { from: yesterday, to: yesterday };
    case 'thisMonth':
      return { from: firstOf(month), to: today };
    case 'lastMonth':
      return { from: firstOf(month - 1), to: addDays(firstOf(month), -1) };
    case 'thisQuarter':
      return { from: firstOf(month - ((month - 1) % 3)), to: today };
  }
}

/** The first preset with these days. */
export function presetOf(span: Span, today: Day): Preset | undefined {
  if (typeof span === 'string') return undefined;
  return PRESETS.find((preset) => spanText(presetRange(preset, today)) === spanText(span));
}

const SHORT = new Intl.DateTimeFormat(locale, { timeZone: 'UTC', day: 'numeric', month: 'short' });
const LONG = new Intl.DateTimeFormat(locale, { timeZone: 'UTC', day: 'numeric', month: 'short', year: 'numeric' });

/** `Jan 31`. */
export function shortDay(day: Day): string {
  return SHORT.format(new Date(`${day}T00:00:00Z`));
}

/** `Jan 1 – Jan 31, 2026`. */
export function rangeText({ from, to }: DayRange): string {
  const last = LONG.format(new Date(`${to}T00:00:00Z`));
  return from === to ? last : `${shortDay(from)} – ${last}`;
}

/** An instant's UTC day: `Jan 31, 2026`. */
export function dateText(instant: string): string {
  return LONG.format(new Date(instant));
}

const TIME = new Intl.DateTimeFormat(locale, {
  timeZone: 'UTC',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});

/** `Jan 31, 14:05:09`, in UTC. */
export function timeText(instant: string): string {
  return TIME.format(new Date(instant));
}

const STEPS: [limit: number, seconds: number, unit: Intl.RelativeTimeFormatUnit][] = [
  [60, 1, 'second'],
  [3_600, 60, 'minute'],
  [86_400, 3_600, 'hour'],
  [2_592_000, 86_400, 'day'],
];
const RELATIVE = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });

/** `5 minutes ago`; from a month on, the day. */
export function ago(instant: string, now: number): string {
  const seconds = Math.round((Date.parse(instant) - now) / 1000);
  const step = STEPS.find(([limit]) => Math.abs(seconds) < limit);
  return step ? RELATIVE.format(Math.trunc(seconds / step[1]), step[2]) : dateText(instant);
}
