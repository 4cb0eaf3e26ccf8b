/** The sources of the dashboard, as they would be with their English texts in them. */
import { readdirSync, readFileSync } from 'node:fs';

const SOURCES = new URL('../../src/', import.meta.url);
const TAKEN = /^\s*import \{ (texts|words) \} from '([^']+)';$/gm;

export const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(svelte|ts)$/.test(name));

export const read = (name: string): string => readFileSync(new URL(name, SOURCES), 'utf8');

type Messages = { [key: string]: string | Messages };

async function messages(name: string, path: string): Promise<Messages> {
  return ((await import(new URL(`${path}.ts`, new URL(name, SOURCES)).href)) as { en: Messages }).en;
}

/** A text, or the text for several. */
function found(all: Messages, keys: string): string | undefined {
  const text = keys.split('.').reduce<string | Messages | undefined>((at, key) => (typeof at === 'object' ? at[key] : undefined), all);
  return typeof text === 'object' ? (text.other as string | undefined) : text;
}

/** `{texts.yes}` as `Yes`, `title={texts.yes}` as `title="Yes"`, and `texts.yes` of scripts as `'Yes'`. */
export async function inEnglish(name: string): Promise<string> {
  let source = read(name);
  for (const [, taken = '', path = ''] of source.matchAll(TAKEN)) {
    const all = await messages(name, path);
    const place = new RegExp(`(=?)(\\{?)\\b${taken}\\.([\\w.]+)(\\}?)`, 'g');
    source = source.replace(place, (whole: string, is: string, open: string, keys: string, close: string) => {
      const text = found(all, keys);
      if (text === undefined) return whole;
      if (open && close) return is ? `="${text}"` : text;
      return `${is}${open}'${text}'${close}`;
    });
  }
  return source;
}
