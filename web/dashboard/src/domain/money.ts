/** Amounts are integers in a currency's smallest unit, and stay integers: text is made from their digits. */
import { say } from '../texts/catalogue';
import { texts } from '../texts/domain/money';
import { locale } from '../texts/language';

const FALLBACK_DIGITS = 2;
const COUNT = new Intl.NumberFormat(locale);
/** Neighbouring ticks of an axis differ within three digits: 12.5 and 15 billion. */
const SHORT = { notation: 'compact', maximumSignificantDigits: 3 } as const;
const SHORT_COUNT = new Intl.NumberFormat(locale, SHORT);
const PERCENT = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 2 });
const THOUSANDS = COUNT.formatToParts(1_000).find(({ type }) => type === 'group')?.value;

interface Formats {
  digits: number;
  long: Intl.NumberFormat;
  short: Intl.NumberFormat;
}

/** By currency. Making one takes longer than a hundred uses of it, and a table shows an amount in every row. */
const formats = new Map<string, Formats | undefined>();

/** `undefined` of what is no currency. */
function formatsOf(currency: string): Formats | undefined {
  if (!formats.has(currency)) formats.set(currency, made(currency));
  return formats.get(currency);
}

function made(currency: string): Formats | undefined {
  try {
    const long = new Intl.NumberFormat(locale, { style: 'currency', currency });
    const short = new Intl.NumberFormat(locale, { style: 'currency', currency, ...SHORT });
    return { digits: long.resolvedOptions().maximumFractionDigits ?? FALLBACK_DIGITS, long, short };
  } catch {
    return undefined;
  }
}

/** Decimal digits of a currency: two for dollars, none for yen. */
export function minorDigits(currency: string): number {
  return formatsOf(currency)?.digits ?? FALLBACK_DIGITS;
}

/** The amount as a decimal number, exactly: `-5` cents are `-0.05`. */
export function decimal(cents: number, digits: number): `${number}` {
  const text = Math.abs(cents).toString().padStart(digits + 1, '0');
  const sign = cents < 0 ? '-' : '';
  const whole = text.slice(0, text.length - digits);
  return (digits === 0 ? `${sign}${whole}` : `${sign}${whole}.${text.slice(-digits)}`) as `${number}`;
}

/** Formatted: `$1,234.50`, in German `1.234,50 $`. */
export function money(cents: number, currency: string): string {
  const amount = decimal(cents, minorDigits(currency));
  return formatsOf(currency)?.long.format(amount) ?? `${amount} ${currency}`;
}

/** A message of the service about a commission, which begins as `Commission 12 was refunded: 4.90 USD`, with its amount as people read it. */
export function withMoney(message: string): string {
  const amount = /^(Commission \d+ .*?)([+-]?)(\d+)(?:\.(\d+))? ([A-Z]{3})\b/s;
  return message.replace(amount, (_, before: string, sign: string, whole: string, rest = '', currency: string) => {
    const text = money(Number(whole + rest) * (sign === '-' ? -1 : 1), currency);
    return before + (sign === '+' ? `+${text}` : text);
  });
}

/** Short, for axes, whose ticks are whole cents alone: `$1.2K`. */
export function shortMoney(cents: number, currency: string): string {
  if (!Number.isInteger(cents)) return '';
  const amount = decimal(cents, minorDigits(currency));
  return formatsOf(currency)?.short.format(amount) ?? amount;
}

/** Reports state amounts as dollars with two decimals; their digits are the cents. */
export function centsOfDollars(dollars: number): number {
  return Number(dollars.toFixed(2).replace('.', ''));
}

/** Parses an input such as `12.5` into the smallest unit; `undefined` if it is not an amount. */
export function centsOfText(text: string, currency: string): number | undefined {
  const digits = minorDigits(currency);
  const match = /^(\d{1,12})(?:([.,])(\d+))?$/.exec(text.trim());
  if (!match) return undefined;
  const [, whole = '', mark, fraction = ''] = match;
  if (fraction.length > digits) return undefined;
  // Three digits behind a mark that separates thousands in this language may be meant as such.
  if (fraction.length === 3 && mark === THOUSANDS) return undefined;
  return Number(whole + fraction.padEnd(digits, '0'));
}

/** An amount as it is typed: `12.50`. */
export function textOfCents(cents: number, currency: string): string {
  const digits = minorDigits(currency);
  return typed(decimal(cents, digits), digits);
}

/** A rate as it is typed: 1250 as `12.5`. */
export const textOfBasisPoints = (points: number): string => typed(decimal(points, 2));

function typed(number: `${number}`, least = 0): string {
  return new Intl.NumberFormat(locale, { useGrouping: false, minimumFractionDigits: least, maximumFractionDigits: Math.max(least, 2) }).format(number);
}

/** What [`centsOfText`] takes, for whoever typed something else. */
export function amountRule(currency: string): string {
  const digits = minorDigits(currency);
  if (digits === 0) return say(texts.wholeAmount, { currency });
  const example = typed('12.5', digits);
  return say(texts.decimalAmount, { currency, digits, example });
}

/** A rate in hundredths of a percent as people read it: `12.5%`. */
export function percent(basisPoints: number): string {
  // A hundredth of a percent is the fourth decimal of a share.
  return PERCENT.format(decimal(basisPoints, 4));
}

/** `12.5` as 1250; `undefined` when it is no percentage from 0 to 100. */
export function basisPointsOfText(text: string): number | undefined {
  const match = /^(\d{1,3})(?:[.,](\d{1,2}))?$/.exec(text.trim());
  if (!match) return undefined;
  const points = Number(match[1]) * 100 + Number((match[2] ?? '').padEnd(2, '0'));
  return points <= 10_000 ? points : undefined;
}

/** A count with thousands separators. */
export function count(number: number): string {
  return COUNT.format(number);
}

/** Short, for axes, whose ticks are whole numbers alone: `1.2K`. */
export function shortCount(value: number): string {
  return Number.isInteger(value) ? SHORT_COUNT.format(value) : '';
}
