import type { Translated } from '../../catalogue';
import type { en } from '../../pages/review';

export const de: Translated<typeof en> = {
  commission: 'Provision {id}',
  customer: 'Kunde {id}',
  youApproveIt: 'Sie geben sie frei',
  flaggedCommissions: 'Auffällige Provisionen',
  selectTheCommissionOf: 'Provision zu {name} auswählen',
  whyItIsFlagged: 'Warum sie auffällt',
  saleAmount: 'Verkaufsbetrag',
  payable: 'Auszuzahlen',
  waitsUntil: 'Wartet bis',
  daysAreAWholeNumberFrom: 'Tage sind eine ganze Zahl von 1 bis 365.',
  hold: 'Zurückhalten',
  daysFromToday: 'Tage ab heute',
  from1To365AHold: 'Von 1 bis 365. Eine Frist, die später endet, bleibt.',
  forTheAuditLogPartnersDo: 'Für das Änderungsprotokoll; Partner sehen ihn nicht.',
  commissionsWorthWillNotBeApproved: {
    one: '{count} Provision über <strong>{amount}</strong> wird vorher nicht freigegeben oder ausgezahlt, außer Sie geben sie frei.',
    other: '{count} Provisionen über <strong>{amount}</strong> werden vorher nicht freigegeben oder ausgezahlt, außer Sie geben sie frei.',
  },
  anyReason: 'Jeder Grund',
  selfReferral: 'Eigenempfehlung',
  fastSale: 'Schneller Verkauf',
  contestedKey: 'Strittiger Schlüssel',
  manyLeads: 'Viele Leads',
  replacesAChangedOne: 'Ersetzt eine geänderte',
  erased: 'Gelöscht',
  decided: {
    approved: { one: '{count} Provision freigegeben.', other: '{count} Provisionen freigegeben.' },
    rejected: { one: '{count} Provision abgelehnt.', other: '{count} Provisionen abgelehnt.' },
    held: { one: '{count} Provision zurückgehalten.', other: '{count} Provisionen zurückgehalten.' },
  },
  approveCommissions: {
    one: '{count} Provision freigeben?',
    other: '{count} Provisionen freigeben?',
  },
  canThenBePaidWhateverFlagged: '{amount} können dann ausgezahlt werden, unabhängig von den Hinweisen.',
  review: 'Prüfung',
  commissionsWithASignOfFraud:
    'Provisionen mit einem Hinweis auf Betrug, über die noch niemand entschieden hat. Ein Hinweis beweist nichts: Sehen Sie sich zuerst den Kunden an.',
  flaggedFor: 'Auffällig wegen',
  nothingToReview: 'Nichts zu prüfen',
  flaggedWaitHere:
    'Hier warten Provisionen mit einem Hinweis auf Betrug. Ob sie vor der Auszahlung Ihre Freigabe brauchen, legen die Einstellungen fest.',
  rejectCommissions: 'Provisionen ablehnen',
  holdCommissions: 'Provisionen zurückhalten',
  commissionsSelected: {
    one: '{count} Provision ausgewählt: <strong>{amount}</strong>',
    other: '{count} Provisionen ausgewählt: <strong>{amount}</strong>',
  },
  selectCommissionsToDecideOn: 'Wählen Sie Provisionen aus, um über sie zu entscheiden.',
  inTheTableKeys:
    'In der Tabelle führen Pfeile von Zeile zu Zeile, die Leertaste wählt aus; A gibt frei, H hält zurück, R lehnt ab.',
  selectAllOnThisPage: 'Alle auf dieser Seite auswählen',
  settings: 'Einstellungen',
};
