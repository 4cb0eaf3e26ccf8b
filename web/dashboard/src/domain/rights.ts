/** What members may do with a program: single rights, and the presets most are given. Pure. */
import { say } from '../texts/catalogue';
import { texts } from '../texts/domain/rights';

export const RIGHTS = Object.keys(texts.rights) as Right[];
export type Right = keyof typeof texts.rights;

export const rightText = (right: Right): string => texts.rights[right];

const SEES = ['program:list', 'program:read', 'tracking:list', 'tracking:read'];

/** From few rights to all. */
export const PRESETS: readonly { id: keyof typeof texts.about; rights: readonly string[] }[] = [
  { id: 'analyst', rights: SEES },
  { id: 'finance', rights: [...SEES, 'program:pay_out'] },
  { id: 'partners', rights: [...SEES, 'program:update'] },
  { id: 'developer', rights: [...SEES, 'events:read', 'program:regenerate-token'] },
  { id: 'manager', rights: RIGHTS },
];

/** `Analyst: sees everything`. */
export const presetText = ({ id }: (typeof PRESETS)[number]): string => `${texts.presets[id]}: ${texts.about[id]}`;

export const CUSTOM = 'custom';
export type PresetId = keyof typeof texts.presets;

const key = (rights: readonly string[]) => [...new Set(rights)].sort().join(' ');

/** The preset with exactly these rights. */
export function presetOf(rights: readonly string[]): PresetId {
  return PRESETS.find((preset) => key(preset.rights) === key(rights))?.id ?? CUSTOM;
}

export function rightsOf(preset: string): string[] {
  return [...(PRESETS.find(({ id }) => id === preset)?.rights ?? [])];
}

/** In a few words, by program id: `Analyst in 2 programs, Finance in 1 program`. */
export function rightsText(role: string, permissions: Record<string, readonly string[]>): string {
  if (role !== 'member') return texts.allPrograms;
  const counts = new Map<PresetId, number>();
  for (const rights of Object.values(permissions).filter(({ length }) => length > 0)) {
    const preset = presetOf(rights);
    counts.set(preset, (counts.get(preset) ?? 0) + 1);
  }
  const parts = [...counts].map(([preset, number]) => say(texts.inPrograms, { preset: texts.presets[preset], count: number }));
  return parts.join(', ') || texts.noProgram;
}
