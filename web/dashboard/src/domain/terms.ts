import { money, percent } from './money';
import { say } from '../texts/catalogue';
import { texts } from '../texts/domain/terms';

interface Terms {
  commission_type?: string | null;
  default_duration_months?: number | null;
  rate_bps?: number | null;
  fixed_cents?: number | null;
  currency?: string | null;
}

/** Short description of a commission policy: `20% of every payment`. */
export function termsText(terms: Terms, currency: string): string {
  if (!terms.commission_type) return texts.nothingYet;
  const count = terms.default_duration_months ?? 0;
  if (terms.fixed_cents != null) {
    const amount = money(terms.fixed_cents, terms.currency ?? currency);
    switch (terms.commission_type) {
      case 'cps_lifetime':
        return say(texts.amountForEvery, { amount });
      case 'cps_one_time':
        return say(texts.amountForFirst, { amount });
      default:
        return say(texts.amountDuring, { amount, count });
    }
  }
  const share = percent(terms.rate_bps ?? 0);
  switch (terms.commission_type) {
    case 'cps_lifetime':
      return say(texts.shareOfEvery, { share });
    case 'cps_one_time':
      return say(texts.shareOfFirst, { share });
    default:
      return say(texts.shareDuring, { share, count });
  }
}
