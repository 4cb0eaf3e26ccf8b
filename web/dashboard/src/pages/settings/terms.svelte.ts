import { ApiError } from '../../api/client';
import type { NewPolicyRequest } from '../../api/operations';
import { amountRule, basisPointsOfText, centsOfText } from '../../domain/money';
import { texts } from '../../texts/pages/settings';

/** The form of a commission. */
export class Terms {
  kind = $state('cps_lifetime');
  months = $state('12');
  unit = $state<'rate' | 'fixed'>('rate');
  amount = $state('20');

  /** The request, or the form's error. */
  body(currency: string): NewPolicyRequest {
    const months = Number(this.months);
    if (this.kind === 'cps_recurring' && !(Number.isInteger(months) && months > 0)) {
      throw new ApiError(400, texts.stateForHowManyMonths);
    }
    return {
      commission_type: this.kind,
      ...(this.kind === 'cps_recurring' ? { default_duration_months: months } : {}),
      ...this.#rate(currency),
    };
  }

  #rate(currency: string) {
    if (this.unit === 'rate') {
      const rate_bps = basisPointsOfText(this.amount);
      if (rate_bps === undefined) throw new ApiError(400, texts.theShareIsANumber);
      return { rate_bps };
    }
    const fixed_cents = centsOfText(this.amount, currency);
    if (fixed_cents === undefined) throw new ApiError(400, amountRule(currency));
    return { fixed_cents };
  }
}
