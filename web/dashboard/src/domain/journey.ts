/** What is said about events and about why a commission is what it is. Pure. */
import type { ProgramEvent, TimelineCommission, WhyPartner } from '../api/operations';
import { timeText } from './days';
import { money, percent } from './money';
import { label } from './words';

/** The customer as a person knows them: by the shop's own key, else by the click. */
export function customerName(event: ProgramEvent): string {
  if ('customer_key' in event && event.customer_key) return event.customer_key;
  return event.click_id ?? (event.customer_id == null ? '' : `Customer ${event.customer_id}`);
}

/** Details of an event of any type. */
export function aboutEvent(event: ProgramEvent): string {
  if ('is_recurring' in event) return `${event.is_recurring ? 'Renewal' : label(event.sale_type)} ${event.transaction_id}`;
  if ('channel' in event) return `Of sale ${event.transaction_id}`;
  if (!('device_type' in event)) return ('page_url' in event && event.page_url) || '';
  return [event.geo_city, event.geo_country, event.device_type, event.browser_name, event.device_os].filter(Boolean).join(', ');
}

/** The page a visitor came from, or was on. */
export function sourceOf(event: ProgramEvent): string {
  if ('referrer_url' in event) return event.referrer_url ?? event.page_url ?? '';
  return '';
}

const MODELS: Record<string, string> = {
  last_click: 'the last link that was clicked before the payment gets the sale',
  first_click: 'the first link that was clicked gets the sale',
  linear: 'the partners whose links were clicked share the sale',
};

export function whyPartner(why: WhyPartner, isManual: boolean): string {
  if (isManual) return 'It was added manually.';
  const link = why.referral_link_code ? `link ${why.referral_link_code}` : 'a link that was removed';
  const clicked = why.clicked_at ? `, clicked ${timeText(why.clicked_at)}` : '';
  const model = why.attribution_model ? `: ${MODELS[why.attribution_model] ?? label(why.attribution_model)}` : '';
  const renewal = why.first_payment_at
    ? ` A renewal stays with the partner of the first payment, ${timeText(why.first_payment_at)}.`
    : '';
  return `By ${link}${clicked}${model}.${renewal}`;
}

const TYPES: Record<string, string> = {
  cps_lifetime: 'on every payment',
  cps_one_time: 'on the first payment',
};

export function whyRate({ why_rate: why }: TimelineCommission, currency: string): string {
  if (!why) return 'The amount was chosen by a member of the workspace.';
  const months = why.default_duration_months ?? 0;
  const when = TYPES[why.commission_type ?? ''] ?? `on payments during ${months} months`;
  const amount =
    why.fixed_cents == null
      ? `${percent(why.rate_bps ?? 0)} of ${money(why.commissionable_cents, why.sale_currency)}`
      : money(why.fixed_cents, currency);
  const product = why.product_id ? `of product ${why.product_id}` : 'of all other products';
  const since = why.effective_from ? `, in force since ${timeText(why.effective_from)}` : '';
  return `${amount}, ${when} (policy ${why.policy_id} ${product}${since}).`;
}

const MOVEMENTS: Record<string, string> = {
  accrual: 'Earned',
  reversal: 'Taken back by a refund',
  adjustment: 'Changed manually',
  settlement: 'Corrected',
  payout: 'Paid out',
};

export function movement(kind: string): string {
  return MOVEMENTS[kind] ?? label(kind);
}
