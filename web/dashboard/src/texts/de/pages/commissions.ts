import type { Translated } from '../../catalogue';
import type { en } from '../../pages/commissions';

export const de: Translated<typeof en> = {
  chooseAPartner: 'Wählen Sie einen Partner.',
  theAmountIsANumberIn: 'Der Betrag ist eine Zahl in {currency} außer 0, zum Beispiel 5 oder -5.',
  adjust: 'Anpassen',
  amountIn: 'Betrag in {currency}',
  addedToTheCommissionStartWith: 'Wird zur Provision addiert; beginnen Sie mit einem Minus, um abzuziehen.',
  shownToThePartner: 'Der Partner sieht ihn.',
  theCommissionIsNowItsPartner: 'Die Provision beträgt jetzt {amount}. Der Partner sieht den Grund.',
  withAnySignal: 'Mit einem Hinweis',
  selfReferral: 'Eigenempfehlung',
  fastSale: 'Schneller Verkauf',
  contestedKey: 'Strittiger Schlüssel',
  manyLeads: 'Viele Leads',
  replacesAChangedOne: 'Ersetzt eine geänderte',
  erased: 'Gelöscht',
  commissionsRejected: {
    one: '{count} Provision abgelehnt.',
    other: '{count} Provisionen abgelehnt.',
  },
  noCommissionOnThisPageWaits: 'Auf dieser Seite wartet keine Provision auf Freigabe.',
  commissionsApproved: {
    one: '{count} Provision freigegeben.',
    other: '{count} Provisionen freigegeben.',
  },
  commissionsSelected: {
    one: '{count} Provision ausgewählt: {amount}',
    other: '{count} Provisionen ausgewählt: {amount}',
  },
  selectCommissionsToApproveAdjustOr: 'Wählen Sie Provisionen aus, um sie freizugeben, anzupassen oder abzulehnen.',
  whatPartnersEarnOnSalesPending:
    'Was Partner an Verkäufen verdienen. Ausstehende werden am Ende ihrer Haltefrist freigegeben, außer denen, die das Programm Ihnen überlässt.',
  signals: 'Hinweise',
  transaction: 'Transaktion',
  rejectCommissions: 'Provisionen ablehnen',
  adjustACommission: 'Provision anpassen',
  addACommission: 'Provision hinzufügen',
  selectAllOnThisPage: 'Alle auf dieser Seite auswählen',
  theCommissionHasBeenAdjusted: 'Die Provision wurde angepasst.',
  theCommissionHasBeenAdded: 'Die Provision wurde hinzugefügt.',
  theAmountMustBeAbove0: 'Der Betrag muss größer als 0 sein.',
  add: 'Hinzufügen',
  note: 'Notiz',
  whatItIsForShownTo: 'Wofür sie ist. Der Partner sieht die Notiz.',
  theTransactionIdOfTheSale: 'Die transaction_id des Verkaufs, für den sie ist, falls es einen gibt.',
  itIsApprovedAtOnceAnd: 'Sie wird sofort freigegeben und kann ausgezahlt werden. Erstattungen mindern sie nicht.',
};
