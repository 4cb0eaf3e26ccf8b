import { area } from '../catalogue';

export const en = {
  whatTheChartShows: 'What the chart shows',
  byDay: '{name} by day',
  dayUtc: 'Day (UTC)',
  netCommission: 'Net commission',
  earnedIn: 'Earned in {currency}',
} as const;

export const texts = area(en, () => import('../de/pages/measures'));
