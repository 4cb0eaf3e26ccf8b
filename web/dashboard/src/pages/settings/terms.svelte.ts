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

  /** What is wrong with an amount. */
  amountProblem(text: string, currency: string): string | undefined {
    if (this.unit === 'rate') return basisPointsOfText(text) === undefined ? texts.theShareIsANumber : undefined;
    return centsOfText(text, currency) === undefined ? amountRule(currency) : undefined;
  }

  /** The request of a form whose fields have nothing wrong. */
  body(currency: string): NewPolicyRequest {
    return {
      commission_type: this.kind,
      ...(this.kind === 'cps_recurring' ? { default_duration_months: Number(this.months) } : {}),
      ...(this.unit === 'rate' ? { rate_bps: basisPointsOfText(this.amount) ?? null } : { fixed_cents: centsOfText(this.amount, currency) ?? null }),
    };
  }
}

/** What is wrong with a number of months. */
export function monthsProblem(text: string): string | undefined {
  const months = Number(text);
  return Number.isInteger(months) && months > 0 ? undefined : texts.stateForHowManyMonths;
}
