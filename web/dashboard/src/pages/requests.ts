/**
 * What each page asks for first when its address has no filters, so that it is asked for before the page's code is there. As the pages ask for it,
 * to the letter: what differs is asked for twice. Streams are not among them.
 */
import type { RouteName } from '../router/routes';

const PROGRAMS = 'advertiser/affiliate-programs';
const PROGRAM = `${PROGRAMS}/:program`;

/** Paths below `/api`, with the parameters of the page's own path; or ending with `:workspace`, the reader's own. */
export const FIRST_REQUESTS: Partial<Record<RouteName, readonly string[]>> = {
  programs: [`${PROGRAMS}?page=1&pageSize=25`, `${PROGRAMS}?archived=true&page=1&pageSize=25`, 'advertiser/dashboard/summary'],
  overview: [
    `${PROGRAM}/report?period=30d`,
    `${PROGRAM}/report/breakdown?by=partner&sort=net_revenue&pageSize=5&period=30d`,
    `${PROGRAM}/report/breakdown?by=partner&sort=net_revenue&page=1&period=30d`,
    `${PROGRAM}/report/cohorts`,
    `${PROGRAM}/events?limit=6`,
  ],
  events: [`${PROGRAM}/events?limit=25`],
  customers: [`${PROGRAM}/customers?page=1&pageSize=25`],
  customer: [`${PROGRAM}/customers/:customer`],
  sale: [`${PROGRAM}/sales/:sale`],
  integration: [`${PROGRAM}/referral-links?page=1&pageSize=100`, 'tracking/status/:program'],
  partners: [`${PROGRAM}/partners?page=1&pageSize=25`],
  partner: [`${PROGRAM}/partners/:partner`, `${PROGRAM}/report?partner_program_id=:partner&period=30d`],
  links: [`${PROGRAM}/referral-links?page=1&pageSize=25`],
  commissions: [`${PROGRAM}/commissions?page=1&pageSize=25`],
  review: [`${PROGRAM}/commissions/review?page=1&pageSize=25`],
  payouts: [`${PROGRAM}/payouts?page=1&pageSize=25`, `${PROGRAM}/commissions/totals`],
  payout: [`${PROGRAM}/payouts/:payout`, `${PROGRAM}/commissions?payout_id=:payout&page=1&pageSize=25`],
  processor: [`${PROGRAM}/processor-connection`, `${PROGRAM}/processor-connection/health`],
  webhooks: [`${PROGRAM}/webhook-endpoints`],
  webhook: [`${PROGRAM}/webhook-endpoints/:endpoint`, `${PROGRAM}/webhook-endpoints/:endpoint/deliveries?limit=25`],
  notifications: [`${PROGRAM}/notifications?page=1&pageSize=20`],
  settings: [PROGRAM, `${PROGRAM}/tracking-tokens`, `${PROGRAM}/commission-policies?pageSize=100`],
  keys: ['advertiser/api-keys?page=1&pageSize=25&workspace_id=:workspace'],
  members: ['advertiser/members?page=1&pageSize=25&workspace_id=:workspace', 'advertiser/invitations?page=1&pageSize=25&workspace_id=:workspace'],
  auditLog: [
    'advertiser/audit-log?page=1&pageSize=50&workspace_id=:workspace',
    'advertiser/members?pageSize=100&workspace_id=:workspace',
    'advertiser/api-keys?pageSize=100&workspace_id=:workspace',
  ],
  account: ['users/me/notification-settings', 'users/me/passkeys', 'users/me/sessions'],
  partnerHome: ['partner/report?period=30d', 'partner/balances?pageSize=100', 'partner/referral-links?pageSize=100', 'partner/payouts?pageSize=5'],
  partnerPrograms: ['partner/programs?pageSize=100', 'partner/balances?pageSize=100'],
  partnerLinks: ['partner/referral-links?page=1&pageSize=25', 'partner/programs?pageSize=100'],
  partnerClicks: ['partner/clicks?page=1&pageSize=50', 'partner/programs?pageSize=100'],
  partnerCommissions: ['partner/commissions?page=1&pageSize=25', 'partner/programs?pageSize=100'],
  partnerPayouts: ['partner/payouts?page=1&pageSize=25', 'partner/balances?pageSize=100', 'partner/programs?pageSize=100'],
  partnerPayout: ['partner/payouts/:payout'],
  partnerNotifications: ['partner/notifications?page=1&pageSize=20'],
};
