import type { Translated } from '../../catalogue';
import type { en } from '../../domain/money';

export const de: Translated<typeof en> = {
  wholeAmount: 'Der Betrag ist eine ganze Zahl in {currency}, zum Beispiel 1250.',
  decimalAmount: 'Der Betrag ist eine Zahl in {currency} mit höchstens {digits} Nachkommastellen, zum Beispiel {example}.',
};
