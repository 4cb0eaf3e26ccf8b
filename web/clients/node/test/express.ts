import { mkdirSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { blocks, page, section } from './page.js';
import { Program } from './program.js';

/** What the page leaves to its reader. */
const YOURS = `
const createUser = async ({ id, email }) => ({ id, email })
const pay = async (order) => order
const remember = async (id, event) => console.log('remembered', id, event.type)
`;

export const example = (): string => blocks(section(page('docs/integrate.md'), 'Express'))[0] ?? '';

/** Below `build`, from where the package finds itself and its neighbours. */
export function write(path: string, code: string): URL {
  const file = new URL(`../snippets/${path}`, import.meta.url);
  mkdirSync(new URL('.', file), { recursive: true });
  writeFileSync(file, code);
  return file;
}

/** The example, once it answers. */
export async function start(name: string, code: string, port: number, env: Record<string, string>): Promise<Program> {
  const file = write(name, YOURS + code);
  const program = new Program([file.pathname], { ...env, PORT: String(port) });
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 200 && !(await fetch(url).catch(() => null)); tries += 1) await pause(50);
  return program;
}

export const json = (body: object, cookie = ''): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', cookie },
  body: JSON.stringify(body),
});
