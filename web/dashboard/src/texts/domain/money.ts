import { area } from '../catalogue';

export const en = {
  wholeAmount: 'The amount is a whole number of {currency}, such as 1250.',
  decimalAmount: 'The amount is a number of {currency} with at most {digits} decimals, such as {example}.',
} as const;

export const texts = area(en, () => import('../de/domain/money'));
