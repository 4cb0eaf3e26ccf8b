/** The overview's view of a report. Amounts are in the smallest unit of the program's currency. */
import type { Answer } from '../../api/client';
import { count, money, shortCount, shortMoney } from '../../domain/money';
import type { Trend } from '../../domain/trend';
import { texts } from '../../texts/pages/overview';
import { words } from '../../texts/words';

export type Report = Answer<'GET /api/advertiser/affiliate-programs/{program_id}/report'>['data'];
export type Figures = Report['total'];

export interface Measure {
  id: 'clicks' | 'leads' | 'conversions' | 'sales' | 'revenue' | 'refunds' | 'net' | 'commission';
  name: string;
  of: (figures: Figures) => number;
  isMoney: boolean;
  /** More of it is no good news. */
  isLoss?: boolean;
}

/** Series with a figure for each day. */
export const measures = (): Measure[] => [
  { id: 'clicks', name: words.clicks, of: ({ clicks }) => clicks, isMoney: false },
  { id: 'leads', name: words.leads, of: ({ leads }) => leads, isMoney: false },
  { id: 'conversions', name: texts.newCustomers, of: ({ conversions }) => conversions, isMoney: false },
  { id: 'sales', name: words.sales, of: ({ sales }) => sales, isMoney: false },
  { id: 'revenue', name: texts.grossRevenue, of: (figures) => figures.revenue_cents, isMoney: true },
  { id: 'refunds', name: words.refunds, of: (figures) => figures.refunded_cents, isMoney: true, isLoss: true },
  { id: 'net', name: words.netRevenue, of: (figures) => figures.net_revenue_cents, isMoney: true },
  { id: 'commission', name: texts.netCommission, of: (figures) => figures.net_commission_cents, isMoney: true },
];

export const full = (measure: Measure, currency: string) => (value: number) =>
  measure.isMoney ? money(value, currency) : count(value);

export const short = (measure: Measure, currency: string) => (value: number) =>
  measure.isMoney ? shortMoney(value, currency) : shortCount(value);

/** As the service compares figures: tenths of a percent of the one before, and 100 where there was nothing. */
export function trendOf(before: number, now: number): Trend {
  const change = now - before;
  const trendDirection = change > 0 ? 'up' : change < 0 ? 'down' : 'stable';
  if (before <= 0) return { trend: change === 0 ? 0 : 100, trendDirection };
  return { trend: Math.round((Math.abs(change) * 1_000) / before) / 10, trendDirection };
}
