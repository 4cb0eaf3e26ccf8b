import { area } from '../catalogue';

export const en = {
  noNotifications: 'No notifications',
  refundsThatReduceCommissionsAndOther: 'Refunds that reduce commissions and other news appear here.',
  unread: 'Unread:',
  markAsRead: 'Mark as read',
  notifications: 'Notifications',
  refundsDisputesAndOtherNewsOf: 'Refunds, disputes and other news of the program.',
  notificationsTitle: 'notifications',
  markAllAsRead: 'Mark all as read',
  unreadOnly: 'Unread only',
  nothingUnread: 'Nothing unread',
  showTheSale: 'Show the sale',
  showTheCommission: 'Show the commission',
  paymentProcessor: 'Payment processor',
  changesToYourCommissions: 'Changes to your commissions.',
} as const;

export const texts = area(en, () => import('../de/pages/notifications'));
