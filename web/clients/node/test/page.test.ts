import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import ts from 'typescript';
import { blocks, commands, files, page, section } from './page.js';

const PAGE = `
# Page

### One

Text about
\`no-file\`:

\`\`\`sh
mkdir shop
cd shop
\`\`\`

\`lib/price.txt\`, in
two lines:

\`\`\`ini
PRICE=$1
\`\`\`

The last:

\`\`\`sh
cat lib/price.txt
\`\`\`

### Two
`;

test('a section is run as commands, and its files are written where they have gone', () => {
  const one = section(PAGE, 'One');
  assert.deepEqual(blocks(one), ['mkdir shop\ncd shop', 'PRICE=$1', 'cat lib/price.txt']);
  const cwd = mkdtempSync(join(tmpdir(), 'page-'));
  try {
    const printed = execFileSync('sh', ['-eu', '-c', commands(one).join('\n')], { cwd, encoding: 'utf8' });
    assert.equal(printed, 'PRICE=$1\n');
    assert.equal(execFileSync('cat', ['shop/lib/price.txt'], { cwd, encoding: 'utf8' }), 'PRICE=$1\n');
  } finally {
    rmSync(cwd, { recursive: true });
  }
});

/** `cargo xtask release-check apps` makes the app and uses it. */
test('the files of the Next app are TypeScript', () => {
  const sources = files(section(page('docs/integrate.md'), 'A Next app')).filter(([name]) => /\.tsx?$/.test(name));
  assert.ok(sources.length > 3, String(sources.length));
  for (const [fileName, code] of sources) {
    const compilerOptions = { jsx: ts.JsxEmit.ReactJSX };
    const { diagnostics } = ts.transpileModule(code, { fileName, compilerOptions, reportDiagnostics: true });
    assert.deepEqual(diagnostics?.map(({ messageText }) => messageText), [], fileName);
  }
});
