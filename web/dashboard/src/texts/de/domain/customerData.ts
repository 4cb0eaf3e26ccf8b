import type { Translated } from '../../catalogue';
import type { en } from '../../domain/customerData';

export const de: Translated<typeof en> = {
  erased: {
    customers: { one: 'Kundenschlüssel und Klick-IDs von {count} Kunden', other: 'Kundenschlüssel und Klick-IDs von {count} Kunden' },
    click_events: { one: '{count} Klick', other: '{count} Klicks' },
    lead_events: { one: '{count} Lead', other: '{count} Leads' },
    sale_events: { one: 'Artikel von {count} Verkauf', other: 'Artikel von {count} Verkäufen' },
    refunds: { one: '{count} Grund einer Erstattung', other: '{count} Gründe von Erstattungen' },
    notifications: { one: '{count} Benachrichtigung', other: '{count} Benachrichtigungen' },
    processor_customers: { one: '{count} Verknüpfung mit dem Zahlungsanbieter', other: '{count} Verknüpfungen mit dem Zahlungsanbieter' },
    outbound_events: { one: '{count} an andere gesendetes Ereignis', other: '{count} an andere gesendete Ereignisse' },
    webhook_deliveries: { one: '{count} Antwort auf einen Webhook', other: '{count} Antworten auf Webhooks' },
    unprocessed: { one: '{count} nicht verarbeitbarer Datensatz', other: '{count} nicht verarbeitbare Datensätze' },
  },
  kept: {
    sale_events: { one: '{count} Verkauf', other: '{count} Verkäufe' },
    commissions: { one: '{count} Provision', other: '{count} Provisionen' },
    refunds: { one: '{count} Erstattung', other: '{count} Erstattungen' },
  },
};
