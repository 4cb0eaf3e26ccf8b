/** The component of each route. Pages of a program get its id as `program`. */
import type { Component } from 'svelte';
import type { RouteName } from '../router/routes';
import Account from './Account.svelte';
import AuditLog from './AuditLog.svelte';
import Commissions from './Commissions.svelte';
import Events from './Events.svelte';
import Integration from './integration/Integration.svelte';
import Keys from './Keys.svelte';
import Links from './Links.svelte';
import Live from './Live.svelte';
import Members from './Members.svelte';
import Notifications from './Notifications.svelte';
import Overview from './overview/Overview.svelte';
import PartnerClicks from './partner/Clicks.svelte';
import PartnerCommissions from './partner/Commissions.svelte';
import PartnerLinks from './partner/Links.svelte';
import PartnerNotifications from './partner/Notifications.svelte';
import PartnerPrograms from './partner/Programs.svelte';
import PartnerPage from './PartnerPage.svelte';
import Partners from './Partners.svelte';
import PayoutPage from './PayoutPage.svelte';
import Payouts from './Payouts.svelte';
import Processor from './Processor.svelte';
import Programs from './Programs.svelte';
import Settings from './settings/Settings.svelte';
import EndpointPage from './webhooks/EndpointPage.svelte';
import Webhooks from './webhooks/Webhooks.svelte';

/** Each takes the parameters of its path. */
type Page = Component<any>;

export const PAGES: Partial<Record<RouteName, Page>> = {
  programs: Programs,
  overview: Overview,
  events: Events,
  live: Live,
  integration: Integration,
  partners: Partners,
  partner: PartnerPage,
  links: Links,
  commissions: Commissions,
  payouts: Payouts,
  payout: PayoutPage,
  processor: Processor,
  webhooks: Webhooks,
  webhook: EndpointPage,
  notifications: Notifications,
  settings: Settings,
  keys: Keys,
  members: Members,
  auditLog: AuditLog,
  account: Account,
  partnerPrograms: PartnerPrograms,
  partnerLinks: PartnerLinks,
  partnerClicks: PartnerClicks,
  partnerCommissions: PartnerCommissions,
  partnerNotifications: PartnerNotifications,
};
