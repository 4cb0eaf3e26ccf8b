/** What the service says to people, in the dashboard's language. The service says it in English. */
import { language } from './language';

/** Fields whose labels in English are not their names. */
export const FIELDS: Readonly<Record<string, string>> = {
  account_id: 'Stripe account',
  amount_cents: 'Amount',
  attribution_window_days: 'Attribution window',
  color: 'Colour',
  cookie_window_days: 'Cookie lifetime',
  default_duration_months: 'Months',
  domain: 'Website',
  email: 'E-mail address',
  expected_amount_cents: 'Expected amount',
  fixed_cents: 'Amount',
  hold_days: 'Hold period',
  logo_url: 'Logo',
  partner_program_id: 'Partner',
  product_id: 'Product',
  rate_bps: 'Percent',
  reply_to_email: 'Reply-to address',
  short_code: 'Code',
  slug: 'Short name',
  url: 'URL',
  webhook_secret: 'Signing secret',
};

/** A message of the service; in English where nothing else is known. */
export async function inLanguage(message: string): Promise<string> {
  if (language === 'en') return message;
  try {
    const [{ translated }, { de }] = await Promise.all([import('./serverMessages'), import('./de/server')]);
    return translated(message, de) ?? message;
  } catch {
    return message;
  }
}
