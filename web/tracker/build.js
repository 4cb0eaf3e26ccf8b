// Builds dist/tracker.js, with its compressed forms, which the service embeds. `--check` builds nothing: it fails if
// the committed files are out of date, or too large.

import { readFileSync, writeFileSync, mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync, gzipSync } from 'node:zlib'
import { build } from 'esbuild'

/** Size limit of the script with brotli, in bytes. */
const MOST_BROTLI_BYTES = 1500

const built = await build({
  entryPoints: [path('src/tracker.js')],
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2020',
  charset: 'ascii',
  legalComments: 'none',
  write: false
})
const script = Buffer.from(built.outputFiles[0].contents)
const brotli = brotliCompressSync(script, {
  params: {
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: script.length
  }
})

if (process.argv.includes('--check')) {
  // Compressors differ between versions, so the decompressed bytes are compared.
  const forms = { 'tracker.js': bytes => bytes, 'tracker.js.br': brotliDecompressSync, 'tracker.js.gz': gunzipSync }
  for (const [file, decompress] of Object.entries(forms)) {
    if (!decompress(committed(file)).equals(script)) fail(`dist/${file} is not what the source makes: npm run build`)
  }
} else {
  mkdirSync(path('dist'), { recursive: true })
  writeFileSync(path('dist/tracker.js'), script)
  writeFileSync(path('dist/tracker.js.br'), brotli)
  writeFileSync(path('dist/tracker.js.gz'), gzipSync(script, { level: 9 }))
}
const size = committed('tracker.js.br').length
console.log(`tracker.js: ${script.length} bytes, ${committed('tracker.js.gz').length} gzip, ${size} brotli`)
if (size > MOST_BROTLI_BYTES) fail(`tracker.js may have ${MOST_BROTLI_BYTES} bytes with brotli`)

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
