/** A figure compared with the previous period, as the service computes it. */
import { say } from '../texts/catalogue';
import { texts } from '../texts/domain/trend';
import { locale } from '../texts/language';

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

const SHARE = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 });

/** A rise from zero has no percentage; the service reports 100. `before`: the previous period's figure, if known. */
export function trendWords({ trend, trendDirection }: Trend, before?: number): TrendWords {
  if (before === 0 && trendDirection === 'up') return { text: texts.isNew, spoken: texts.noneBefore, tone: 'stable' };
  const amount = SHARE.format(trend / 100);
  switch (trendDirection) {
    case 'up':
      return { text: `+${amount}`, spoken: say(texts.more, { amount }), tone: 'up' };
    case 'down':
      return { text: `−${amount}`, spoken: say(texts.less, { amount }), tone: 'down' };
    default:
      return { text: SHARE.format(0), spoken: texts.same, tone: 'stable' };
  }
}

/** In percent, with one decimal; of nothing, nothing. `undefined` if the part is no part: those of earlier days are in it. */
export function share(part: number, whole: number): string | undefined {
  if (part > whole) return undefined;
  return SHARE.format(whole === 0 ? 0 : part / whole);
}
