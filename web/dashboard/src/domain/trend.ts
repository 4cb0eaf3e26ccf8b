/** How a figure compares with that of as many days before, as the service reckons it. */

export interface Trend {
  /** Percent, without a sign. */
  trend: number;
  trendDirection: string;
}

export interface TrendWords {
  /** `+12.5%` */
  text: string;
  /** For those who do not see the arrow. */
  spoken: string;
  tone: 'up' | 'down' | 'stable';
}

/** A rise from nothing has no percentage: the service says 100. `before` is the figure of the days before, where it is known. */
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

/** How many of a hundred got to the next step, with one decimal; nothing of nothing is nothing. */
export function share(part: number, whole: number): string {
  if (whole === 0) return '0%';
  return `${((part * 100) / whole).toLocaleString('en', { maximumFractionDigits: 1 })}%`;
}
