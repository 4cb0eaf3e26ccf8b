import type { Translated } from '../../catalogue';
import type { en } from '../../domain/journey';

export const de: Translated<typeof en> = {
  customer: 'Kunde {id}',
  renewal: 'Verlängerung',
  saleOf: '{kind} {transaction}',
  ofSale: 'Zu Verkauf {transaction}',
  models: {
    last_click: 'Der zuletzt geklickte Link vor der Zahlung erhält den Verkauf',
    first_click: 'Der zuerst geklickte Link erhält den Verkauf',
    linear: 'Die Partner, deren Links geklickt wurden, teilen sich den Verkauf',
  },
  addedManually: 'Sie wurde manuell hinzugefügt.',
  link: 'Link {code}',
  removedLink: 'einen entfernten Link',
  clicked: ', geklickt {time}',
  renewalStays: ' Eine Verlängerung bleibt beim Partner der ersten Zahlung, {time}.',
  byLink: 'Über {link}{clicked}{model}.{renewal}',
  chosenByMember: 'Ein Mitglied des Arbeitsbereichs hat den Betrag festgelegt.',
  everyPayment: ', für jede Zahlung',
  firstPayment: ', für die erste Zahlung',
  duringMonths: { one: ', für Zahlungen während {count} Monats', other: ', für Zahlungen während {count} Monaten' },
  shareOf: '{share} von {amount}',
  sharedBy: ', geteilt zwischen {count} Partnern',
  ofProduct: 'für Produkt {product}',
  ofOtherProducts: 'für alle anderen Produkte',
  since: ', gültig seit {time}',
  rate: '{amount}{shared}{when} (Regel {policy} {product}{since}).',
  movements: {
    accrual: 'Verdient',
    reversal: 'Durch eine Erstattung zurückgenommen',
    replaced: 'Zurückgenommen, weil eine andere Provision sie ersetzt',
    adjustment: 'Manuell geändert',
    settlement: 'Für einen früheren Abzug genommen',
    payout: 'Ausgezahlt',
  },
  takenLater: '{due} waren fällig: Das Guthaben deckte damals {covered}, die übrigen {rest} werden von späteren Provisionen abgezogen.',
  keptForDebt: '{due} waren auszuzahlen: {rest} davon glichen aus, was der Partner aus früheren Abzügen schuldete.',
  leftOpenBefore:
    'Eine frühere Erstattung oder manuelle Änderung, vielleicht zu einem anderen Verkauf, war höher als das damalige Guthaben. Der Rest wurde mit einer Auszahlung abgezogen.',
};
