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

const BLOCK = /(?:^|\n\n)(?:`([^`\n]+)`[^\n]*\n(?:[^\n]+\n)*\n)?```\w+\n(.*?)\n```(?=\n|$)/gs;

/** The blocks of code in it. */
export const blocks = (text: string): string[] => [...text.matchAll(BLOCK)].map(([, , code]) => code ?? '');

/** The files in it, by name. */
export const files = (text: string): [string, string][] =>
  [...text.matchAll(BLOCK)].flatMap(([, file, code = '']): [string, string][] => (file ? [[file, code]] : []));

/**
 * The blocks of a section, each as commands of a shell. A block whose paragraph begins with a file's name is that file, written where the
 * commands before it have gone.
 */
export function commands(text: string): string[] {
  return [...text.matchAll(BLOCK)].map(([, file, code = '']) =>
    file ? `mkdir -p "$(dirname '${file}')"\ncat > '${file}' <<'END OF FILE'\n${code}\nEND OF FILE` : code,
  );
}
