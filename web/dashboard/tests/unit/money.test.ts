import { expect, test } from 'vitest';
import { amountRule, basisPointsOfText, centsOfDollars, centsOfText, decimal, money, percent, shortCount, shortMoney, textOfBasisPoints, textOfCents, withMoney } from '../../src/domain/money';

test('amounts keep every cent, however large', () => {
  expect(money(5, 'USD')).toBe('$0.05');
  expect(money(-123_450, 'USD')).toBe('-$1,234.50');
  expect(money(9_007_199_254_740_991, 'USD')).toBe('$90,071,992,547,409.91');
});

test('currencies have their own number of decimals', () => {
  expect(money(1_234, 'JPY')).toBe('¥1,234');
  expect(money(1_234, 'KWD').replace(/\s/, ' ')).toBe('KWD 1.234');
  expect(money(1_234, 'not one')).toBe('12.34 not one');
});

test('a decimal is made of digits', () => {
  expect(decimal(0, 2)).toBe('0.00');
  expect(decimal(-7, 3)).toBe('-0.007');
  expect(decimal(42, 0)).toBe('42');
});

test('what reports state in dollars is read back to the cent', () => {
  for (const cents of [0, 1, 29, 4_900, 1_005, 123_456_789, 100_000_000_000_001]) {
    expect(centsOfDollars(cents / 100)).toBe(cents);
    expect(centsOfDollars(-cents / 100)).toBe(-cents === 0 ? -0 || 0 : -cents);
  }
});

test('what somebody types is read to the cent, or not at all', () => {
  expect(centsOfText('12.5', 'USD')).toBe(1_250);
  expect(centsOfText(' 0,05 ', 'EUR')).toBe(5);
  expect(centsOfText('100', 'JPY')).toBe(100);
  for (const nonsense of ['', '1.234', '-1', '1e3', 'ten', '1.2.3']) expect(centsOfText(nonsense, 'USD')).toBeUndefined();
  expect(centsOfText('1.5', 'JPY')).toBeUndefined();
});

test('rates are hundredths of a percent', () => {
  expect(percent(2_000)).toBe('20%');
  expect(percent(1_250)).toBe('12.5%');
  expect(percent(10_000)).toBe('100%');
  expect(percent(0)).toBe('0%');
  expect(basisPointsOfText('12.5')).toBe(1_250);
  expect(basisPointsOfText('100')).toBe(10_000);
  expect(basisPointsOfText('100.01')).toBeUndefined();
});

test('what an amount must be is said in its currency', () => {
  for (const [currency, example] of [
    ['USD', '12.50'],
    ['JPY', '1250'],
    ['KWD', '12.500'],
  ] as const) {
    expect(amountRule(currency)).toContain(`${currency}`);
    expect(amountRule(currency)).toContain(`such as ${example}.`);
    expect(centsOfText(example, currency)).toBeDefined();
  }
  expect(centsOfText('12.50', 'JPY')).toBeUndefined();
});

test('what is in force is typed as it would be read', () => {
  for (const currency of ['USD', 'JPY', 'KWD']) {
    for (const cents of [0, 5, 1_250, 123_456_789]) expect(centsOfText(textOfCents(cents, currency), currency)).toBe(cents);
  }
  expect(textOfCents(1_250, 'USD')).toBe('12.50');
  expect(textOfBasisPoints(1_250)).toBe('12.5');
  for (const points of [0, 5, 2_000, 3_333, 10_000]) expect(basisPointsOfText(textOfBasisPoints(points))).toBe(points);
});

test('ticks of an axis are distinct, and none is rounded', () => {
  const ticks = [0, 25, 50, 75, 100, 125, 150, 175].map((tick) => tick * 1e8);
  expect(ticks.map((yen) => shortMoney(yen, 'JPY'))).toEqual(['¥0', '¥2.5B', '¥5B', '¥7.5B', '¥10B', '¥12.5B', '¥15B', '¥17.5B']);
  expect([1_000, 1_250, 12_500].map(shortCount)).toEqual(['1K', '1.25K', '12.5K']);
  expect([0.5, 1].map((cents) => shortMoney(cents, 'USD'))).toEqual(['', '$0.01']);
});

test.each([
  ['Commission 12 was refunded: 41152263 JPY deducted.', 'Commission 12 was refunded: ¥41,152,263 deducted.'],
  ['Commission 12 was changed by +5.00 USD, and is pending. Reason: 3 USD', 'Commission 12 was changed by +$5.00, and is pending. Reason: 3 USD'],
  ['Commission 12 was changed by -5.00 USD, and is pending.', 'Commission 12 was changed by -$5.00, and is pending.'],
  ['The connection of 4.90 USD', 'The connection of 4.90 USD'],
])('%s', (message, shown) => {
  expect(withMoney(message)).toBe(shown);
});
