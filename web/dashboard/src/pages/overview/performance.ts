/** The overview's view of a report. */
import type { Answer } from '../../api/client';
import type { DayRange } from '../../domain/days';
import { centsOfDollars, count, money, shortMoney } from '../../domain/money';
import type { Trend } from '../../domain/trend';

export type Report = Answer<'GET /api/tracking/performance/{program_id}'>;
type Day = Report['data'][number];

export interface Measure {
  id: 'clicks' | 'leads' | 'conversions' | 'revenue' | 'commission';
  name: string;
  total: (report: Report) => number;
  trend: (report: Report) => Trend;
  ofDay: (day: Day) => number;
  isMoney: boolean;
}

/** Series with a figure for each day. Amounts are in cents. */
export const MEASURES: Measure[] = [
  {
    id: 'clicks',
    name: 'Clicks',
    total: ({ metrics }) => metrics.totalClicks,
    trend: ({ metrics }) => metrics.clicksTrend,
    ofDay: (day) => day.clicks,
    isMoney: false,
  },
  {
    id: 'leads',
    name: 'Leads',
    total: ({ metrics }) => metrics.totalLeads,
    trend: ({ metrics }) => metrics.leadsTrend,
    ofDay: (day) => day.leads,
    isMoney: false,
  },
  {
    id: 'conversions',
    name: 'New customers',
    total: ({ metrics }) => metrics.totalConversions,
    trend: ({ metrics }) => metrics.conversionsTrend,
    ofDay: (day) => day.conversions,
    isMoney: false,
  },
  {
    id: 'revenue',
    name: 'Revenue',
    total: ({ metrics }) => centsOfDollars(metrics.totalRevenue),
    trend: ({ metrics }) => metrics.revenueTrend,
    ofDay: (day) => centsOfDollars(day.revenue),
    isMoney: true,
  },
  {
    id: 'commission',
    name: 'Commission',
    total: ({ metrics }) => centsOfDollars(metrics.totalPartnersCommission),
    trend: ({ metrics }) => metrics.commissionTrend,
    ofDay: (day) => centsOfDollars(day.commission),
    isMoney: true,
  },
];

export const full = (measure: Measure, currency: string) => (value: number) =>
  measure.isMoney ? money(value, currency) : count(value);

export const short = (measure: Measure, currency: string) => (value: number) =>
  measure.isMoney ? shortMoney(value, currency) : compact(value);

/** Integer ticks only for counts. */
function compact(value: number): string {
  return Number.isInteger(value) ? value.toLocaleString('en', { notation: 'compact' }) : '';
}

/** The days that the report's are compared with. */
export function previousDays({ meta }: Report): DayRange {
  const { dateFrom, dateTo } = meta.previousPeriod;
  return { from: dateFrom.slice(0, 10), to: dateTo.slice(0, 10) };
}
