import type { Translated } from '../../catalogue';
import type { en } from '../../pages/processor';

export const de: Translated<typeof en> = {
  theProcessorIsConnected: 'Der Zahlungsanbieter ist verbunden.',
  theNewSecretIsNowUsed: 'Ab jetzt gilt das neue Geheimnis.',
  disconnectTheProcessor: 'Zahlungsanbieter trennen?',
  itNoLongerReportsPaymentsAnd: 'Er meldet keine Zahlungen und Erstattungen mehr. Bisher erfasste Zahlungen bleiben.',
  disconnect: 'Trennen',
  theProcessorIsDisconnected: 'Der Zahlungsanbieter ist getrennt.',
  accountConfirmed: 'Konto bestätigt',
  waitingForTheOperatorToConfirm: 'Der Betreiber muss das Konto noch bestätigen',
  none: 'Keines',
  paymentProcessor: 'Zahlungsanbieter',
  stripeReportsPaymentsRefundsAndDisputes: 'Stripe meldet Zahlungen, Erstattungen und Einsprüche, damit Ihr Server es nicht tun muss.',
  connect: 'Verbinden',
  stripeAccount: 'Stripe-Konto',
  webhookSigningSecret: 'Signaturgeheimnis des Webhooks',
  stripeShowsItWithTheEndpoint:
    'Stripe zeigt es beim Endpunkt, den Sie dort hinzufügen. Es wird verschlüsselt gespeichert und nie wieder gezeigt.',
  addressOfTheEndpoint: 'Adresse des Endpunkts',
  eventsToSend: 'Zu sendende Ereignisse',
  metadataOfACheckoutSession: 'Metadaten einer Checkout-Sitzung',
  changeTheWebhookSecret: 'Webhook-Geheimnis ändern',
  newSigningSecret: 'Neues Signaturgeheimnis',
  hoursTheOldSecretKeepsWorking: 'Stunden, die das alte Geheimnis noch gilt',
  connection: 'Verbindung',
  platformEvents: 'Ereignisse der Plattform',
  webhookSecret: 'Webhook-Geheimnis',
  connected: 'Verbunden',
  oldSecretWorksUntil: 'Altes Geheimnis gilt bis',
  utc: '{time} UTC',
  changeTheSecret: 'Geheimnis ändern',
  inStripe: 'In Stripe',
  addAWebhookEndpointWithThis: '<strong>Fügen Sie einen Webhook-Endpunkt hinzu</strong>, mit dieser Adresse:',
  nameTheCustomerWhereYourServer: '<strong>Nennen Sie den Kunden</strong>, wo Ihr Server die Checkout-Sitzung erstellt:',
  eitherTheClickIdOrThe:
    'Die Klick-ID oder der Kundenschlüssel genügt. <code>subscription_data</code> ist nur für Abos: Damit zählen ihre Verlängerungen.',
};
