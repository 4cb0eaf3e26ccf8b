import assert from 'node:assert/strict';
import test from 'node:test';
import { page, section } from './page.js';

test('the readme has the same example as the page for integrators', () => {
  const [readme, integrate] = [page('web/clients/node/README.md'), page('docs/integrate.md')];
  assert.equal(section(readme, 'Express'), section(integrate, 'Express'));
});
