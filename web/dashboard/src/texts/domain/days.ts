import { area } from '../catalogue';

export const en = {
  bothDays: 'Choose both days.',
  firstAfterLast: 'The first day is after the last.',
  longestRange: 'A range has at most {days} days.',
  presets: {
    today: 'Today',
    yesterday: 'Yesterday',
    thisMonth: 'This month',
    lastMonth: 'Last month',
    thisQuarter: 'This quarter',
  },
} as const;

export const texts = area(en, () => import('../de/domain/days'));
