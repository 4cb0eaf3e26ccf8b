import { area } from '../catalogue';

export const en = {
  erased: {
    customers: { one: '{count} customer’s key and click id', other: '{count} customers’ keys and click ids' },
    click_events: { one: '{count} click', other: '{count} clicks' },
    lead_events: { one: '{count} lead', other: '{count} leads' },
    sale_events: { one: '{count} sale’s items', other: '{count} sales’ items' },
    refunds: { one: '{count} reason of a refund', other: '{count} reasons of refunds' },
    notifications: { one: '{count} notification', other: '{count} notifications' },
    processor_customers: { one: '{count} binding to the payment processor', other: '{count} bindings to the payment processor' },
    outbound_events: { one: '{count} event sent to others', other: '{count} events sent to others' },
    webhook_deliveries: { one: '{count} answer to a webhook', other: '{count} answers to webhooks' },
    unprocessed: { one: '{count} record that could not be processed', other: '{count} records that could not be processed' },
  },
  kept: {
    sale_events: { one: '{count} sale', other: '{count} sales' },
    commissions: { one: '{count} commission', other: '{count} commissions' },
    refunds: { one: '{count} refund', other: '{count} refunds' },
  },
} as const;

export const texts = area(en, () => import('../de/domain/customerData'));
