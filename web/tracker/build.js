// Builds the scripts in dist/, with their compressed forms, which the service embeds. `--check` builds nothing: it fails if
// the committed files are out of date, or too large.

import { readFileSync, writeFileSync, mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync, gzipSync } from 'node:zlib'
import { build } from 'esbuild'

/** The scripts, with their size limits with brotli, in bytes. */
const SCRIPTS = { tracker: 1500, alias: 2100 }

for (const [name, mostBytes] of Object.entries(SCRIPTS)) {
  const script = await bundle(name)
  if (process.argv.includes('--check')) check(name, script)
  else write(name, script)
  const size = committed(`${name}.js.br`).length
  console.log(`${name}.js: ${script.length} bytes, ${committed(`${name}.js.gz`).length} gzip, ${size} brotli`)
  if (size > mostBytes) fail(`${name}.js may have ${mostBytes} bytes with brotli`)
}

async function bundle(name) {
  const built = await build({
    entryPoints: [path(`src/${name}.js`)],
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2020',
    charset: 'ascii',
    legalComments: 'none',
    write: false
  })
  return Buffer.from(built.outputFiles[0].contents)
}

function check(name, script) {
  // Compressors differ between versions, so the decompressed bytes are compared.
  const forms = { js: bytes => bytes, 'js.br': brotliDecompressSync, 'js.gz': gunzipSync }
  for (const [form, decompress] of Object.entries(forms)) {
    const file = `${name}.${form}`
    if (!decompress(committed(file)).equals(script)) fail(`dist/${file} is not what the source makes: npm run build`)
  }
}

function write(name, script) {
  const brotli = brotliCompressSync(script, {
    params: {
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: script.length
    }
  })
  mkdirSync(path('dist'), { recursive: true })
  writeFileSync(path(`dist/${name}.js`), script)
  writeFileSync(path(`dist/${name}.js.br`), brotli)
  writeFileSync(path(`dist/${name}.js.gz`), gzipSync(script, { level: 9 }))
}

function path(file) {
  return fileURLToPath(new URL(file, import.meta.url))
}

function committed(file) {
  try {
    return readFileSync(path(`dist/${file}`))
  } catch {
    return fail(`dist/${file} is missing: npm run build`)
  }
}

function fail(reason) {
  console.error(reason)
  process.exit(1)
}
