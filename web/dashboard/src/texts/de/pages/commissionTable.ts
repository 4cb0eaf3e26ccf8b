import type { Translated } from '../../catalogue';
import type { en } from '../../pages/commissionTable';

export const de: Translated<typeof en> = {
  commissionOnASaleOf: 'Provision für einen Verkauf über {amount}',
  addedManually: 'Manuell hinzugefügt',
  noCommissions: 'Keine Provisionen',
  aCommissionIsRecordedForEach: 'Für jeden zugeordneten Verkauf wird eine Provision erfasst.',
  selectTheCommissionOf: 'Provision zu {name} auswählen',
  refunded: '{amount} erstattet',
  payable: 'Auszuzahlen',
  heldUntilOrPaid: 'Zurückgehalten bis, oder ausgezahlt',
  manual: 'Manuell: {note}',
  of: 'von {amount}',
  adjustedBy: 'angepasst um {amount}',
  payout: 'Auszahlung {id}',
  shownToThePartners: 'Die Partner sehen ihn.',
  commissionsWorthWillBeSetTo: {
    one: '{count} Provision über <strong>{amount}</strong> wird auf null gesetzt, und der Partner sieht den Grund. Das lässt sich nicht rückgängig machen.',
    other: '{count} Provisionen über <strong>{amount}</strong> werden auf null gesetzt, und die Partner sehen den Grund. Das lässt sich nicht rückgängig machen.',
  },
};
