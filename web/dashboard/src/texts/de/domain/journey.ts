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
  ofProduct: 'für Produkt {product}',
  ofOtherProducts: 'für alle anderen Produkte',
  since: ', gültig seit {time}',
  rate: '{amount}{when} (Regel {policy} {product}{since}).',
  movements: {
    accrual: 'Verdient',
    reversal: 'Durch eine Erstattung zurückgenommen',
    adjustment: 'Manuell geändert',
    settlement: 'Korrigiert',
    payout: 'Ausgezahlt',
  },
};
