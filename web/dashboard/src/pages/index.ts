/** The component of each route, loaded when it is first needed. Pages of a program get its id as `program`. */
import type { Component } from 'svelte';
import type { RouteName } from '../router/routes';

/** Each takes the parameters of its path. */
export type Page = Component<any>;

export const PAGES: Partial<Record<RouteName, () => Promise<{ default: Page }>>> = {
  passwordForgotten: () => import('./PasswordForgotten.svelte'),
  passwordReset: () => import('./PasswordReset.svelte'),
  verifyAddress: () => import('./AddressVerification.svelte'),
  invitation: () => import('./Invitation.svelte'),
  olderInvitation: () => import('./Invitation.svelte'),
  connect: () => import('./Connect.svelte'),
  programs: () => import('./Programs.svelte'),
  overview: () => import('./overview/Overview.svelte'),
  events: () => import('./Events.svelte'),
  customers: () => import('./customer/Customers.svelte'),
  customer: () => import('./CustomerPage.svelte'),
  customerData: () => import('./customer/CustomerData.svelte'),
  sale: () => import('./customer/SalePage.svelte'),
  live: () => import('./Live.svelte'),
  integration: () => import('./integration/Integration.svelte'),
  partners: () => import('./Partners.svelte'),
  partner: () => import('./PartnerPage.svelte'),
  links: () => import('./Links.svelte'),
  commissions: () => import('./Commissions.svelte'),
  review: () => import('./review/Review.svelte'),
  payouts: () => import('./Payouts.svelte'),
  payout: () => import('./PayoutPage.svelte'),
  processor: () => import('./Processor.svelte'),
  webhooks: () => import('./webhooks/Webhooks.svelte'),
  webhook: () => import('./webhooks/EndpointPage.svelte'),
  notifications: () => import('./Notifications.svelte'),
  settings: () => import('./settings/Settings.svelte'),
  workspace: () => import('./WorkspaceSettings.svelte'),
  keys: () => import('./Keys.svelte'),
  members: () => import('./Members.svelte'),
  auditLog: () => import('./AuditLog.svelte'),
  account: () => import('./Account.svelte'),
  partnerHome: () => import('./partner/home/Home.svelte'),
  partnerPrograms: () => import('./partner/Programs.svelte'),
  partnerLinks: () => import('./partner/Links.svelte'),
  partnerClicks: () => import('./partner/Clicks.svelte'),
  partnerCommissions: () => import('./partner/Commissions.svelte'),
  partnerPayouts: () => import('./partner/Payouts.svelte'),
  partnerPayout: () => import('./partner/Payout.svelte'),
  partnerNotifications: () => import('./partner/Notifications.svelte'),
};
