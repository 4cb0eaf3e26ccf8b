import type { Translated } from '../../catalogue';
import type { en } from '../../domain/days';

export const de: Translated<typeof en> = {
  bothDays: 'Wählen Sie beide Tage.',
  firstAfterLast: 'Der erste Tag liegt nach dem letzten.',
  longestRange: 'Ein Zeitraum hat höchstens {days} Tage.',
  presets: {
    today: 'Heute',
    yesterday: 'Gestern',
    thisMonth: 'Dieser Monat',
    lastMonth: 'Letzter Monat',
    thisQuarter: 'Dieses Quartal',
  },
};
