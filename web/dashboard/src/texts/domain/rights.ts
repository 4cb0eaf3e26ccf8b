import { area } from '../catalogue';

export const en = {
  rights: {
    'program:list': 'See it in the list of programs',
    'program:read': 'See partners, links, commissions, payouts',
    'tracking:list': 'See events and customers',
    'tracking:read': 'See how tracking is set up',
    'events:read': 'Read the event stream',
    'program:update': 'Change settings, partners, links',
    'program:pay_out': 'Approve and pay commissions',
    'program:regenerate-token': 'Replace the program key',
    'program:go_live': 'Make it go live',
    'program:delete': 'Archive it',
  },
  presets: {
    analyst: 'Analyst',
    finance: 'Finance',
    partners: 'Partner manager',
    developer: 'Developer',
    manager: 'Program manager',
    custom: 'Some rights',
  },
  about: {
    analyst: 'sees everything',
    finance: 'also approves and pays commissions',
    partners: 'also changes partners, links and settings',
    developer: 'also reads the event stream and replaces the key',
    manager: 'may do everything',
  },
  allPrograms: 'All programs',
  noProgram: 'No program',
  inPrograms: { one: '{preset} in {count} program', other: '{preset} in {count} programs' },
} as const;

export const texts = area(en, () => import('../de/domain/rights'));
