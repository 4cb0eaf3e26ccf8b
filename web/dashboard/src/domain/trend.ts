/** A figure compared with the previous period, as the service computes it. */

export interface Trend {
  /** Percent, without a sign. */
  trend: number;
  trendDirection: string;
}

export interface TrendWords {
  /** `+12.5%` */
  text: string;
  /** For screen readers. */
  spoken: string;
  tone: 'up' | 'down' | 'stable';
}

/** A rise from zero has no percentage; the service reports 100. `before`: the previous period's figure, if known. */
export function trendWords({ trend, trendDirection }: Trend, before?: number): TrendWords {
  if (before === 0 && trendDirection === 'up') return { text: 'new', spoken: 'none in the days before', tone: 'stable' };
  const amount = `${trend.toLocaleString('en', { maximumFractionDigits: 1 })}%`;
  switch (trendDirection) {
    case 'up':
      return { text: `+${amount}`, spoken: `${amount} more than in the days before`, tone: 'up' };
    case 'down':
      return { text: `−${amount}`, spoken: `${amount} less than in the days before`, tone: 'down' };
    default:
      return { text: '0%', spoken: 'as much as in the days before', tone: 'stable' };
  }
}

/** The conversion rate in percent, with one decimal; empty without a base. */
export function share(part: number, whole: number): string {
  if (whole === 0) return '0%';
  return `${((part * 100) / whole).toLocaleString('en', { maximumFractionDigits: 1 })}%`;
}
