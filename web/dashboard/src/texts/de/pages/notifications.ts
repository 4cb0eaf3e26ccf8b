import type { Translated } from '../../catalogue';
import type { en } from '../../pages/notifications';

export const de: Translated<typeof en> = {
  noNotifications: 'Keine Benachrichtigungen',
  refundsThatReduceCommissionsAndOther: 'Erstattungen, die Provisionen mindern, und andere Neuigkeiten erscheinen hier.',
  unread: 'Ungelesen:',
  markAsRead: 'Als gelesen markieren',
  notifications: 'Benachrichtigungen',
  refundsDisputesAndOtherNewsOf: 'Erstattungen, Zahlungseinsprüche und andere Neuigkeiten des Programms.',
  notificationsTitle: 'Benachrichtigungen',
  markAllAsRead: 'Alle als gelesen markieren',
  unreadOnly: 'Nur ungelesene',
  nothingUnread: 'Nichts Ungelesenes',
  showTheSale: 'Verkauf zeigen',
  showTheCommission: 'Provision zeigen',
  paymentProcessor: 'Zahlungsanbieter',
  changesToYourCommissions: 'Änderungen an Ihren Provisionen.',
};
