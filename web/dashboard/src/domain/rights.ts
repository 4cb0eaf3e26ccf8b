/** What members may do with a program: single rights, and the presets most are given. Pure. */
import { counted } from './words';

export const RIGHTS = [
  ['program:list', 'See it in the list of programs'],
  ['program:read', 'See partners, links, commissions, payouts'],
  ['tracking:list', 'See events'],
  ['tracking:read', 'See how tracking is set up'],
  ['events:read', 'Read the event stream'],
  ['program:update', 'Change settings, partners, links'],
  ['program:pay_out', 'Approve and pay commissions'],
  ['program:regenerate-token', 'Replace the program key'],
  ['program:go_live', 'Make it go live'],
  ['program:delete', 'Archive it'],
] as const;

const SEES = ['program:list', 'program:read', 'tracking:list', 'tracking:read'];

/** From few rights to all. */
export const PRESETS = [
  { id: 'analyst', name: 'Analyst', about: 'sees everything', rights: SEES },
  { id: 'finance', name: 'Finance', about: 'also approves and pays commissions', rights: [...SEES, 'program:pay_out'] },
  { id: 'partners', name: 'Partner manager', about: 'also changes partners, links and settings', rights: [...SEES, 'program:update'] },
  {
    id: 'developer',
    name: 'Developer',
    about: 'also reads the event stream and replaces the key',
    rights: [...SEES, 'events:read', 'program:regenerate-token'],
  },
  { id: 'manager', name: 'Program manager', about: 'may do everything', rights: RIGHTS.map(([right]) => right as string) },
] as const;

export const CUSTOM = 'custom';
export type PresetId = (typeof PRESETS)[number]['id'] | typeof CUSTOM;

const key = (rights: readonly string[]) => [...new Set(rights)].sort().join(' ');

/** The preset with exactly these rights. */
export function presetOf(rights: readonly string[]): PresetId {
  return PRESETS.find((preset) => key(preset.rights) === key(rights))?.id ?? CUSTOM;
}

export function rightsOf(preset: string): string[] {
  return [...(PRESETS.find(({ id }) => id === preset)?.rights ?? [])];
}

const nameOf = (preset: PresetId) => PRESETS.find(({ id }) => id === preset)?.name ?? 'Some rights';

/** In a few words, by program id: `Analyst in 2 programs, Finance in 1 program`. */
export function rightsText(role: string, permissions: Record<string, readonly string[]>): string {
  if (role !== 'member') return 'All programs';
  const counts = new Map<PresetId, number>();
  for (const rights of Object.values(permissions).filter(({ length }) => length > 0)) {
    const preset = presetOf(rights);
    counts.set(preset, (counts.get(preset) ?? 0) + 1);
  }
  const parts = [...counts].map(([preset, number]) => `${nameOf(preset)} in ${counted(number, 'program')}`);
  return parts.join(', ') || 'No program';
}
