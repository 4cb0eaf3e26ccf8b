import type { Translated } from '../../catalogue';
import type { en } from '../../pages/payouts';

export const de: Translated<typeof en> = {
  recordAsPaid: 'Als ausgezahlt erfassen',
  reference: 'Referenz',
  forYourRecordsSuchAsThe: 'Für Ihre Unterlagen, zum Beispiel die Referenz der Bank.',
  commissionsWillBeMarkedAsPaid: {
    one: '{count} Provision wird als ausgezahlt markiert. Senden Sie <strong>{amount}</strong> an die Partner: Was sie aus Erstattungen bereits ausgezahlter Provisionen schulden, ist schon abgezogen; gesperrte Partner sind nicht dabei. Das lässt sich nicht rückgängig machen.',
    other: '{count} Provisionen werden als ausgezahlt markiert. Senden Sie <strong>{amount}</strong> an die Partner: Was sie aus Erstattungen bereits ausgezahlter Provisionen schulden, ist schon abgezogen; gesperrte Partner sind nicht dabei. Das lässt sich nicht rückgängig machen.',
  },
  onePayoutHoldsNoMoreCommissions: 'Mehr Provisionen fasst eine Auszahlung nicht; zahlen Sie den Rest mit einer weiteren.',
  theAmountHasChanged: 'Es wurde nichts ausgezahlt: Der Betrag hat sich inzwischen von {before} auf {now} geändert, durch eine Erstattung, eine Ablehnung oder eine weitere Provision. Prüfen Sie, was jetzt oben steht, und erfassen Sie es dann noch einmal.',
  partnersOfThePayout: 'Partner der Auszahlung',
  commissionsOfThePayout: 'Provisionen der Auszahlung',
  receives: 'Erhält',
  thePayoutHasBeenRecorded: 'Die Auszahlung wurde erfasst.',
  approvedCommissionsAreMarkedAsPaid:
    'Freigegebene Provisionen werden gesammelt als ausgezahlt markiert. Das Geld senden Sie selbst, auf Ihrem üblichen Weg.',
  nothingToBePaid: 'Nichts auszuzahlen',
  commissionsCanBePaidOnceTheir: 'Provisionen können nach Ende ihrer Haltefrist ausgezahlt werden.',
  recordAPayout: 'Auszahlung erfassen',
  toBePaid: 'Auszuzahlen',
  canBePaidNow: 'Jetzt auszahlbar',
  stillPending: 'Noch ausstehend',
  paidSoFar: 'Bisher ausgezahlt',
  pay: '{currency} auszahlen',
  pastPayouts: 'Frühere Auszahlungen',
  payout: 'Auszahlung {id}',
  payoutNotFound: 'Auszahlung nicht gefunden',
};
