import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

// From `build/test`.
const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));

/** A directory that has the package from its packed file. */
let dir: string;

function node(...args: string[]): string {
  return execFileSync(process.execPath, args, { cwd: dir, encoding: 'utf8' });
}

function npm(cwd: string, ...args: string[]): void {
  // Set where npm runs these tests; the machine may have no other.
  const program = process.env['npm_execpath'] ?? '';
  execFileSync(process.execPath, [program, ...args, '--offline', '--no-audit', '--no-fund', '--loglevel=error'], { cwd });
}

before(() => {
  dir = mkdtempSync(join(tmpdir(), 'package-'));
  // It is built already.
  npm(PACKAGE, 'pack', '--ignore-scripts', '--pack-destination', dir);
  writeFileSync(join(dir, 'package.json'), '{ "type": "commonjs" }');
  const [packed = ''] = readdirSync(dir).filter((name) => name.endsWith('.tgz'));
  npm(dir, 'install', `./${packed}`);
});

after(() => rmSync(dir, { recursive: true }));

const CALL = `
new Tracker({ url: 'https://track.example' });
process.stdout.write(String(clickIdFrom('tracker_click_id=cust_1_2')));
`;

test('it can be imported', () => {
  writeFileSync(join(dir, 'loads.mjs'), `import { Tracker, clickIdFrom } from 'referral-tracker';${CALL}`);
  assert.equal(node('loads.mjs'), 'cust_1_2');
});

test('it can be required', () => {
  // Node 20.19 and newer load ES modules by `require` as well, older ones do not.
  const load = `
const loaded = require('referral-tracker');
require('node:assert').equal(require('node:util').types.isModuleNamespaceObject(loaded), false);
const { Tracker, clickIdFrom } = loaded;`;
  writeFileSync(join(dir, 'loads.cjs'), load + CALL);
  assert.equal(node('loads.cjs'), 'cust_1_2');
});

test('loaded both ways, its errors are recognised by their names', () => {
  const both = `
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { WebhookError } from 'referral-tracker';
const required = createRequire(import.meta.url)('referral-tracker');
const error = new required.WebhookError('body');
assert.equal(error instanceof WebhookError, false);
assert.equal(error.name, new WebhookError('body').name);
`;
  writeFileSync(join(dir, 'both.mjs'), both);
  node('both.mjs');
});

const TYPED = `
import { Queue, Tracker, type Outcomes } from 'referral-tracker';
const tracker = new Tracker({ url: 'https://track.example' });
export const sale: Promise<Outcomes['sale']> = tracker.sale({ transaction_id: '1', amount_cents: 1, additional_data: { plan: 'gold' } });
export const queue = new Queue(tracker, { onError: (event, error) => console.error(event.noun, error) });
// @ts-expect-error: an amount is a number
tracker.sale({ transaction_id: '1', amount_cents: '1' });
`;

// In the directory of `npm init`, whose type is commonjs; a file that ends in .mts is a module there.
for (const [module, ...files] of [
  ['commonjs', 'typed.ts'],
  ['node16', 'typed.ts', 'typed.mts'],
] as const) {
  test(`it compiles with module ${module}`, () => {
    for (const file of files) writeFileSync(join(dir, file), TYPED);
    const types = ['--types', 'node', '--typeRoots', join(PACKAGE, 'node_modules/@types')];
    const options = ['--strict', '--target', 'es2022', '--noEmit', '--module', module, ...types];
    try {
      node(join(PACKAGE, 'node_modules/typescript/bin/tsc'), ...files, ...options);
    } catch (error) {
      assert.fail(String((error as { stdout?: unknown }).stdout));
    }
  });
}
