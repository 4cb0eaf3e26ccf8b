import type { IconName } from '../parts/Icon.svelte';
import { path, type RouteName } from '../router/routes';
import { session } from '../state/session.svelte';
import { texts } from '../texts/frame';
import { words } from '../texts/words';

export interface Item {
  name: RouteName;
  icon: IconName;
  href: string;
  text: string;
}

export interface Group {
  title: string;
  items: Item[];
}

/** The pages that the user may open. */
export function menu(): Group[] {
  const groups = session.isPartner ? partnerMenu() : advertiserMenu(session.program?.id);
  return groups
    .map(({ title, items }) => ({ title, items: items.filter(({ name }) => session.mayOpen(name)) }))
    .filter(({ items }) => items.length > 0);
}

function advertiserMenu(program: number | undefined): Group[] {
  const item = (name: RouteName, icon: IconName, text: string): Item => ({
    name,
    icon,
    text,
    href: path(name, program ? { program } : {}),
  });
  const ofProgram: Group[] = [
    {
      title: '',
      items: [
        item('overview', 'overview', texts.overview),
        item('events', 'events', texts.events),
        item('customers', 'customers', words.customers),
        item('live', 'live', texts.live),
        item('integration', 'integration', texts.integration),
      ],
    },
    { title: texts.groupPartners, items: [item('partners', 'partners', words.partners), item('links', 'links', words.referralLinks)] },
    {
      title: texts.money,
      items: [
        item('commissions', 'commissions', words.commissions),
        item('review', 'flag', texts.review),
        item('payouts', 'payouts', words.payouts),
      ],
    },
    {
      title: texts.groupProgram,
      items: [
        item('notifications', 'notifications', texts.notifications),
        item('processor', 'processor', texts.processor),
        item('webhooks', 'webhooks', texts.webhooks),
        item('settings', 'settings', texts.settings),
        item('customerData', 'account', texts.customerData),
      ],
    },
  ];
  const workspace: Group = {
    title: texts.groupWorkspace,
    items: [
      item('programs', 'programs', words.programs),
      item('members', 'members', texts.members),
      item('keys', 'keys', texts.keys),
      item('workspace', 'settings', words.workspace),
      item('auditLog', 'audit', texts.auditLog),
    ],
  };
  return program ? [...ofProgram, workspace] : [workspace];
}

function partnerMenu(): Group[] {
  const item = (name: RouteName, icon: IconName, text: string): Item => ({ name, icon, text, href: path(name) });
  return [
    {
      title: '',
      items: [
        item('partnerHome', 'overview', texts.home),
        item('partnerPrograms', 'programs', words.programs),
        item('partnerLinks', 'links', words.referralLinks),
        item('partnerClicks', 'events', words.clicks),
        item('partnerCommissions', 'commissions', words.commissions),
        item('partnerPayouts', 'payouts', words.payouts),
        item('partnerNotifications', 'notifications', texts.notifications),
      ],
    },
  ];
}
