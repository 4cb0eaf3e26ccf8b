import assert from 'node:assert/strict';
import test from 'node:test';
import { page, section } from './page.js';

test('the readme has the same examples as the page for integrators', () => {
  const [readme, integrate] = [page('web/clients/node/README.md'), page('docs/integrate.md')];
  for (const heading of ['Express', 'Next']) assert.equal(section(readme, heading), section(integrate, heading));
});
