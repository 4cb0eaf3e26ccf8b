import { readFileSync } from 'node:fs';

// From `build/test`.
const ROOT = new URL('../../../../../', import.meta.url);

export const page = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');

/** The section under a heading of the third level, with its heading. */
export function section(text: string, heading: string): string {
  const [, after] = text.split(`\n### ${heading}\n`);
  if (after === undefined) throw new Error(`there is no section ${heading}`);
  return after.split(/\n##+ /)[0]?.trim() ?? '';
}

/** The blocks of code in it. */
export function blocks(text: string): string[] {
  return [...text.matchAll(/^```\w+\n(.*?)\n```$/gms)].map(([, code]) => code ?? '');
}
