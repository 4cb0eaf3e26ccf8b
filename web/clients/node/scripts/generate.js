/**
 * Writes what comes from elsewhere: the types of the API from `docs/openapi.json`, and the version from `package.json`.
 * The package has the tracking calls and the webhooks alone; the tests have the whole description.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';

const read = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
const write = (path, text) => {
  const file = new URL(path, import.meta.url);
  mkdirSync(new URL('.', file), { recursive: true });
  writeFileSync(file, text);
};
const types = async (api) => `// From docs/openapi.json.\n${astToString(await openapiTS(api, { silent: true }))}`;

const SHARED_PARTS = ['schemas', 'headers'];

/** The names of all schemas and headers below this part of the description. */
function* referenced(part) {
  if (typeof part !== 'object' || part === null) return;
  if (typeof part.$ref === 'string') yield part.$ref;
  for (const value of Object.values(part)) yield* referenced(value);
}

/** The description with these paths, all webhooks, and what they refer to. */
function part(api, isWanted) {
  const paths = Object.fromEntries(Object.entries(api.paths).filter(([path]) => isWanted(path)));
  const components = Object.fromEntries(SHARED_PARTS.map((kind) => [kind, {}]));
  const open = [...referenced(paths), ...referenced(api.webhooks)];
  for (let next = open.pop(); next; next = open.pop()) {
    const [, , kind, name] = next.split('/');
    if (components[kind][name]) continue;
    components[kind][name] = api.components[kind][name];
    open.push(...referenced(components[kind][name]));
  }
  return { ...api, paths, components };
}

const api = read('../../../../docs/openapi.json');
write('../src/generated/openapi.ts', await types(part(api, (path) => path.startsWith('/api/v1/track/'))));
write('../src/generated/version.ts', `export const VERSION = '${read('../package.json').version}';\n`);
write('../test/generated/openapi.ts', await types(api));
