import type { Translated } from '../../catalogue';
import type { en } from '../../pages/measures';

export const de: Translated<typeof en> = {
  whatTheChartShows: 'Was das Diagramm zeigt',
  byDay: '{name} nach Tagen',
  dayUtc: 'Tag (UTC)',
  netCommission: 'Nettoprovision',
  earnedIn: 'Verdient in {currency}',
};
