/** What is said about events and about why a commission is what it is. Pure. */
import type { LedgerEntry, ProgramEvent, TimelineCommission, WhyPartner } from '../api/operations';
import { timeText } from './days';
import { money, percent } from './money';
import { label } from './words';
import { say } from '../texts/catalogue';
import { texts } from '../texts/domain/journey';

/** The customer as a person knows them: by the shop's own key, else by the click. */
export function customerName(event: ProgramEvent): string {
  return event.customer_key ?? event.click_id ?? (event.customer_id == null ? '' : say(texts.customer, { id: event.customer_id }));
}

/** The sale that an event is of; tests have no page. */
export function saleOf(event: ProgramEvent): number | undefined {
  if (event.customer_id == null) return undefined;
  if ('sale_id' in event) return event.sale_id;
  return 'is_recurring' in event ? event.id : undefined;
}

/** Details of an event of any type. */
export function aboutEvent(event: ProgramEvent): string {
  if ('is_recurring' in event) return say(texts.saleOf, { kind: event.is_recurring ? texts.renewal : label(event.sale_type), transaction: event.transaction_id });
  if ('channel' in event) return say(texts.ofSale, { transaction: event.transaction_id });
  if (!('device_type' in event)) return ('page_url' in event && event.page_url) || '';
  return [event.geo_city, event.geo_country, event.device_type && label(event.device_type), event.browser_name, event.device_os].filter(Boolean).join(', ');
}

/** The page a visitor came from, or was on. */
export function sourceOf(event: ProgramEvent): string {
  if ('referrer_url' in event) return event.referrer_url ?? event.page_url ?? '';
  return '';
}

const MODELS: Record<string, string> = texts.models;

export function whyPartner(why: WhyPartner, isManual: boolean): string {
  if (isManual) return texts.addedManually;
  const link = why.referral_link_code ? say(texts.link, { code: why.referral_link_code }) : texts.removedLink;
  const clicked = why.clicked_at ? say(texts.clicked, { time: timeText(why.clicked_at) }) : '';
  const model = why.attribution_model ? `: ${MODELS[why.attribution_model] ?? label(why.attribution_model)}` : '';
  const renewal = why.first_payment_at
    ? say(texts.renewalStays, { time: timeText(why.first_payment_at) })
    : '';
  return say(texts.byLink, { link, clicked, model, renewal });
}

/** A share is one of as many as there are partners of the sale. */
export function whyRate({ why_rate: why }: TimelineCommission, currency: string, sharers = 1): string {
  if (!why) return texts.chosenByMember;
  const count = why.default_duration_months ?? 0;
  const types: Record<string, string> = { cps_lifetime: texts.everyPayment, cps_one_time: texts.firstPayment };
  const when = types[why.commission_type ?? ''] ?? (count > 0 ? say(texts.duringMonths, { count }) : '');
  const amount =
    why.fixed_cents == null
      ? say(texts.shareOf, { share: percent(why.rate_bps ?? 0), amount: money(why.commissionable_cents, why.sale_currency) })
      : money(why.fixed_cents, currency);
  const shared = sharers > 1 ? say(texts.sharedBy, { count: sharers }) : '';
  const product = why.product_id ? say(texts.ofProduct, { product: why.product_id }) : texts.ofOtherProducts;
  const since = why.effective_from ? say(texts.since, { time: timeText(why.effective_from) }) : '';
  return say(texts.rate, { amount, shared, when, policy: why.policy_id, product, since });
}

const MOVEMENTS: Record<string, string> = texts.movements;

export function movement(kind: string): string {
  return MOVEMENTS[kind] ?? label(kind);
}

/** What the amount alone would not say: the part that did not move, and what an earlier such part comes to. */
export function whyMoved({ kind, amount_cents, requested_cents, shortfall_cents }: LedgerEntry, currency: string): string {
  if (kind === 'settlement') return texts.leftOpenBefore;
  if (shortfall_cents <= 0) return '';
  const [due, rest] = [money(requested_cents, currency), money(shortfall_cents, currency)];
  if (kind === 'payout') return say(texts.keptForDebt, { due, rest });
  return say(texts.takenLater, { due, rest, covered: money(Math.abs(amount_cents), currency) });
}
