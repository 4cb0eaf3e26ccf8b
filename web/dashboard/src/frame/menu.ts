import type { IconName } from '../parts/Icon.svelte';
import { path, type RouteName } from '../router/routes';

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

export function advertiserMenu(program: number | undefined, runsWorkspace: boolean, ownsWorkspace: boolean): Group[] {
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
        item('overview', 'overview', 'Overview'),
        item('events', 'events', 'Events'),
        item('live', 'live', 'Live'),
        item('integration', 'integration', 'Integration'),
      ],
    },
    { title: 'Partners', items: [item('partners', 'partners', 'Partners'), item('links', 'links', 'Referral links')] },
    {
      title: 'Money',
      items: [
        item('commissions', 'commissions', 'Commissions'),
        item('review', 'flag', 'Review'),
        item('payouts', 'payouts', 'Payouts'),
      ],
    },
    {
      title: 'Program',
      items: [
        item('notifications', 'notifications', 'Notifications'),
        item('processor', 'processor', 'Payment processor'),
        item('webhooks', 'webhooks', 'Webhooks'),
        item('settings', 'settings', 'Settings'),
      ],
    },
  ];
  if (runsWorkspace) ofProgram.at(-1)?.items.push(item('customers', 'account', 'Customer data'));
  const workspace: Group = { title: 'Workspace', items: [item('programs', 'programs', 'Programs')] };
  if (runsWorkspace) {
    workspace.items.push(
      item('members', 'members', 'Members'),
      item('keys', 'keys', 'Management keys'),
      item('workspace', 'settings', 'Workspace'),
    );
  }
  if (ownsWorkspace) workspace.items.push(item('auditLog', 'audit', 'Audit log'));
  return program ? [...ofProgram, workspace] : [workspace];
}

export function partnerMenu(): Group[] {
  const item = (name: RouteName, icon: IconName, text: string): Item => ({ name, icon, text, href: path(name) });
  return [
    {
      title: '',
      items: [
        item('partnerHome', 'overview', 'Home'),
        item('partnerPrograms', 'programs', 'Programs'),
        item('partnerLinks', 'links', 'Referral links'),
        item('partnerClicks', 'events', 'Clicks'),
        item('partnerCommissions', 'commissions', 'Commissions'),
        item('partnerPayouts', 'payouts', 'Payouts'),
        item('partnerNotifications', 'notifications', 'Notifications'),
      ],
    },
  ];
}
