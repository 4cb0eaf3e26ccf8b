/** The pages and their addresses. Pure; `location.svelte.ts` handles the address bar. */

/** A parameter of a path begins with a colon and matches digits only, except `:token`. */
export const ROUTES = {
  home: '/app',
  signIn: '/app/sign-in',
  passwordForgotten: '/app/password-forgotten',
  programs: '/app/programs',
  overview: '/app/programs/:program',
  events: '/app/programs/:program/events',
  customers: '/app/programs/:program/customers',
  customer: '/app/programs/:program/customers/:customer',
  /** What is stored about one of them. */
  customerData: '/app/programs/:program/customer-data',
  sale: '/app/programs/:program/sales/:sale',
  live: '/app/programs/:program/live',
  integration: '/app/programs/:program/integration',
  partners: '/app/programs/:program/partners',
  partner: '/app/programs/:program/partners/:partner',
  links: '/app/programs/:program/links',
  commissions: '/app/programs/:program/commissions',
  review: '/app/programs/:program/review',
  payouts: '/app/programs/:program/payouts',
  payout: '/app/programs/:program/payouts/:payout',
  processor: '/app/programs/:program/processor',
  webhooks: '/app/programs/:program/webhooks',
  webhook: '/app/programs/:program/webhooks/:endpoint',
  notifications: '/app/programs/:program/notifications',
  settings: '/app/programs/:program/settings',
  workspace: '/app/workspace',
  keys: '/app/keys',
  members: '/app/members',
  auditLog: '/app/audit-log',
  account: '/app/account',
  /** Confirmation of a command line's login. Its code is behind the `#`. */
  connect: '/app/connect',
  partnerHome: '/app/partner',
  partnerPrograms: '/app/partner/programs',
  partnerLinks: '/app/partner/links',
  partnerClicks: '/app/partner/clicks',
  partnerCommissions: '/app/partner/commissions',
  partnerPayouts: '/app/partner/payouts',
  partnerPayout: '/app/partner/payouts/:payout',
  partnerNotifications: '/app/partner/notifications',
  /** Its token is behind the `#`. */
  invitation: '/invitation',
  /** From an e-mail. Its token is behind the `#`. */
  passwordReset: '/password-reset',
  /** From an e-mail. Its token is behind the `#`. */
  verifyAddress: '/verify-address',
  /** The path in older links. */
  olderInvitation: '/invitations/:token',
} as const;

export type RouteName = keyof typeof ROUTES;

/** Pages for whoever has the link, signed in or not. */
export const BY_LINK: ReadonlySet<RouteName> = new Set(['invitation', 'olderInvitation', 'passwordReset', 'verifyAddress']);
/** Pages without the frame, before the sign-in. */
export const DOORWAYS: ReadonlySet<RouteName> = new Set([...BY_LINK, 'connect', 'signIn', 'passwordForgotten']);
/** Of a partner's side, and of no advertiser. */
export function isForPartners(path: string): boolean {
  return `${path}/`.startsWith(`${ROUTES.partnerHome}/`);
}

export type Parameters = Record<string, string>;

export interface Match {
  name: RouteName;
  parameters: Parameters;
}

const PLACE = /:(\w+)/g;

const PATTERNS = Object.entries(ROUTES).map(([name, template]) => {
  const pattern = template.replace(PLACE, (_, place: string) =>
    place === 'token' ? `(?<${place}>[^/]+)` : `(?<${place}>[1-9]\\d{0,15})`,
  );
  return { name: name as RouteName, pattern: new RegExp(`^${pattern}/?$`) };
});

/** The page of a path, or nothing. */
export function match(path: string): Match | undefined {
  for (const { name, pattern } of PATTERNS) {
    const found = pattern.exec(path);
    if (found) return { name, parameters: decoded(found.groups ?? {}) };
  }
  return undefined;
}

function decoded(groups: Record<string, string>): Parameters {
  return Object.fromEntries(Object.entries(groups).map(([name, text]) => [name, decode(text)]));
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The numeric parameters of a path. */
export function numbers(parameters: Parameters): Record<string, number> {
  return Object.fromEntries(Object.entries(parameters).map(([place, text]) => [place, Number(text)]));
}

/** The path of a page. */
export function path(name: RouteName, parameters: Record<string, string | number> = {}): string {
  return filled(ROUTES[name], parameters);
}

/** A template with its parameters in their places. */
export function filled(template: string, parameters: Record<string, string | number> = {}): string {
  return template.replace(PLACE, (_, place: string) => encodeURIComponent(String(parameters[place])));
}

/** The path to open after signing in: only our own, never another site's, and no advertiser's page for a partner or a partner's for an advertiser. */
export function safeNext(next: string | null, isPartner: boolean): string | undefined {
  const to = next?.split(/[?#]/)[0] ?? '';
  const found = next && !next.startsWith('//') && match(to);
  return found && (found.name === 'account' || isForPartners(to) === isPartner) ? next : undefined;
}

/** Which page a list is asked for: of its entries up to one, so that what is added meanwhile shifts nothing. */
export interface PageOf {
  page: number;
  upTo?: number;
}

/** A page in an address, `3` or `3-1234`: the third, of the entries up to 1234. The first by default. */
export function pageOf(text: string): PageOf {
  const [, page, upTo] = /^([1-9]\d{0,8})(?:-([1-9]\d{0,15}))?$/.exec(text) ?? [];
  if (!page) return { page: 1 };
  return upTo ? { page: Number(page), upTo: Number(upTo) } : { page: Number(page) };
}
