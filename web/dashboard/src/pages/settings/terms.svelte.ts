import { refusedField } from '../../api/client';
import type { NewPolicyRequest, PolicyView } from '../../api/operations';
import { amountRule, basisPointsOfText, centsOfText, textOfBasisPoints, textOfCents } from '../../domain/money';
import { texts } from '../../texts/pages/settings';

/** The form of a commission. */
export class Terms {
  kind = $state('cps_lifetime');
  months = $state('12');
  unit = $state<'rate' | 'fixed'>('rate');
  amount = $state('20');

  /** What is in force, to be changed; without it, what many programs pay. */
  constructor(currency = '', now?: PolicyView) {
    if (!now) return;
    this.kind = now.commission_type;
    if (now.default_duration_months) this.months = String(now.default_duration_months);
    if (now.fixed_cents == null) {
      this.amount = textOfBasisPoints(now.rate_bps ?? 0);
    } else {
      this.unit = 'fixed';
      // The program's currency may have changed since: then the amount says nothing.
      this.amount = (now.currency ?? currency) === currency ? textOfCents(now.fixed_cents, currency) : '';
    }
  }

  /** The request, or the form's error. */
  body(currency: string): NewPolicyRequest {
    const months = Number(this.months);
    if (this.kind === 'cps_recurring' && !(Number.isInteger(months) && months > 0)) {
      throw refusedField('default_duration_months', texts.stateForHowManyMonths);
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
      if (rate_bps === undefined) throw refusedField('rate_bps', texts.theShareIsANumber);
      return { rate_bps };
    }
    const fixed_cents = centsOfText(this.amount, currency);
    if (fixed_cents === undefined) throw refusedField('fixed_cents', amountRule(currency));
    return { fixed_cents };
  }
}
