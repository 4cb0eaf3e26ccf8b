/** Builds the package twice: as ES modules, and as CommonJS for projects that `require`. */
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const there = (path) => fileURLToPath(new URL(path, import.meta.url));

// What an earlier build left there would be packed.
rmSync(there('../dist'), { recursive: true, force: true });
for (const config of ['tsconfig.esm.json', 'tsconfig.commonjs.json']) {
  execFileSync(process.execPath, [there('../node_modules/typescript/bin/tsc'), '-p', there(`../${config}`)], { stdio: 'inherit' });
}
// The package's own says that all files are ES modules.
writeFileSync(there('../dist/commonjs/package.json'), '{ "type": "commonjs" }\n');
