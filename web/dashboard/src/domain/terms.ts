import { money, percent } from './money';
import { counted } from './words';

interface Terms {
  commission_type?: string | null;
  default_duration_months?: number | null;
  rate_bps?: number | null;
  fixed_cents?: number | null;
  currency?: string | null;
}

/** Short description of a commission policy: `20% of every payment`. */
export function termsText(terms: Terms, currency: string): string {
  if (!terms.commission_type) return 'Nothing yet';
  const isFixed = terms.fixed_cents != null;
  const amount = isFixed
    ? `${money(terms.fixed_cents ?? 0, terms.currency ?? currency)} for`
    : `${percent(terms.rate_bps ?? 0)} of`;
  switch (terms.commission_type) {
    case 'cps_lifetime':
      return `${amount} every payment`;
    case 'cps_one_time':
      return `${amount} the first payment`;
    default:
      return `${amount} payments during ${counted(terms.default_duration_months ?? 0, 'month')}`;
  }
}
