// Sites, the script's host and the tracking API on one local port, to which every host name resolves. Uses the machine's Chromium.

import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { after, test } from 'node:test'
import assert from 'node:assert/strict'
import { chromium } from 'playwright-core'
import { Mock } from './mock.js'
import { Service, isReal } from './service.js'

export const SCRIPT = readFileSync(new URL('../../dist/tracker.js', import.meta.url))
/** The same under another name. */
const ALIAS = readFileSync(new URL('../../dist/alias.js', import.meta.url))
/** As in the documentation. */
export const STUB = 'window.tracker||((window.tracker=function(){tracker.q.push(arguments)}).q=[])'
const SCRIPT_HEADERS = { 'content-type': 'text/javascript', 'access-control-allow-origin': '*' }
const PATIENCE_MS = 15_000

export const CHROMIUM = ['CHROMIUM', 'PUPPETEER_EXECUTABLE_PATH']
  .map(name => process.env[name])
  .concat('/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome')
  .find(path => path && existsSync(path))

let browser
after(() => browser?.close())

async function launch() {
  assert(CHROMIUM, 'these tests need chromium (Debian: apt-get install chromium), or CHROMIUM naming one')
  return chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--host-resolver-rules=MAP * 127.0.0.1']
  })
}

/**
 * One test with its own stage. The script must never throw into the page.
 *
 * @param {string} name
 * @param {(stage: Stage) => Promise<void>} play
 * @param {{ real?: boolean, mock?: boolean }} on The services to run it with; both by default.
 */
export function scene(name, play, { real = true, mock = true } = {}) {
  const skip = (isReal ? real : mock) ? false : `not against ${isReal ? 'a running service' : 'the mock'}`
  test(name, { skip, timeout: 60_000 }, async () => {
    const stage = new Stage()
    try {
      await stage.open()
      await play(stage)
      assert.deepEqual(stage.pageErrors, [], 'nothing is thrown into the page')
    } finally {
      await stage.close()
    }
  })
}

export class Stage {
  service = isReal ? new Service() : new Mock()
  codes = this.service.codes
  /** What reached the API, in order: `{ noun, method, address, headers, body, answer, broken }`. */
  requests = []
  pageErrors = []
  /** `up`, `down` (connections break), `held` (until `release`), or a status for every answer. */
  api = 'up'
  scriptHangs = false
  site = {}
  held = []

  async open() {
    this.server = createServer({ maxHeaderSize: 1 << 20 }, (request, response) => this.#serve(request, response))
    await new Promise(listening => this.server.listen(0, '127.0.0.1', listening))
    this.port = this.server.address().port
    browser ??= await launch()
    this.context = await browser.newContext({
      viewport: { width: 800, height: 600 },
      locale: 'de-AT',
      timezoneId: 'Europe/Vienna'
    })
    this.context.setDefaultTimeout(PATIENCE_MS)
    this.page = await this.newPage()
  }

  async newPage() {
    const page = await this.context.newPage()
    page.on('pageerror', error => this.pageErrors.push(String(error)))
    return page
  }

  async close() {
    this.release()
    await this.context?.close()
    this.server?.closeAllConnections?.()
    await new Promise(closed => this.server.close(closed))
  }

  /** An address at one of the sites: `shop.example.test`, unless the path names another. */
  url(path, host = 'shop.example.test') {
    return `http://${host}:${this.port}${path}`
  }

  /** Sets the content of pages. */
  pages(site) {
    this.site = site
  }

  html() {
    const {
      attributes = '',
      before = '',
      after = '',
      body = '',
      loading = 'async',
      stub = STUB,
      title = 'Landing',
      src = this.url('/js/tracker.js', 'track.service.test')
    } = this.site
    return `<!doctype html><meta charset="utf-8"><title>${title}</title>
<script>addEventListener('tracker:ready', event => (window.ready = (window.ready || []).concat(event.detail)))</script>
<script>${stub};${before}</script>
<script ${loading} src="${src}" ${attributes}></script>
<script>${after}</script><body>${body}</body>`
  }

  /** Opens a page and waits until the script is done. */
  async visit(url, page = this.page) {
    await page.goto(url, { referer: this.site.referer })
    await this.ready(page)
  }

  ready(page = this.page) {
    return page.waitForFunction(() => window.ready)
  }

  /** Waits until the script has finished all calls. */
  settled(page = this.page) {
    return page.evaluate(() => window.__tracker.consent(true).then(() => {}))
  }

  /** Runs code in the page, and waits for the script. */
  async act(script, argument) {
    const result = await this.page.evaluate(script, argument)
    await this.settled()
    return result
  }

  clickId(page = this.page) {
    return page.evaluate(() => window.__tracker.getClickId())
  }

  of(noun) {
    return this.requests.filter(request => request.noun == noun && request.method == 'POST')
  }

  get clicks() {
    return this.of('click')
  }

  get leads() {
    return this.of('lead')
  }

  /** Clears the visitor's state. The browser's own method may take effect late in an open page. */
  forget() {
    return this.page.evaluate(() => window.__tracker?.consent(false))
  }

  /** The site's cookies by name; fails if two have one name. */
  async cookies(url = this.url('/')) {
    const cookies = await this.context.cookies(url)
    const byName = Object.fromEntries(cookies.map(cookie => [cookie.name, cookie]))
    assert.equal(Object.keys(byName).length, cookies.length, 'no cookie hides another')
    return byName
  }

  async until(what, holds) {
    const deadline = Date.now() + PATIENCE_MS
    while (!(await holds())) {
      assert(Date.now() < deadline, `in vain: ${what}`)
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  }

  release() {
    this.api = 'up'
    this.held.splice(0).forEach(resolve => resolve())
  }

  /** Sites on HTTPS exist in the browser only. */
  async serveHttps() {
    await this.context.route(/^https:/, async route => {
      const request = route.request()
      const answer = await this.answer(request.method(), new URL(request.url()), request.headers(), request.postData() ?? '')
      if (!answer) return route.abort()
      return route.fulfill({ status: answer.status, headers: answer.headers, body: answer.body })
    })
  }

  async #serve(request, response) {
    let body = ''
    for await (const chunk of request) body += chunk
    const url = new URL(request.url, `http://${request.headers.host}`)
    const record = {}
    response.on('close', () => (record.broken = !response.writableFinished))
    const answer = await this.answer(request.method, url, request.headers, body, record)
    if (!answer) return response.destroy()
    response.writeHead(answer.status, answer.headers).end(answer.body)
  }

  /** Nothing if the connection is to be broken. */
  async answer(method, url, headers, body, record = {}) {
    const script = url.pathname.match(/\/js\/(acme-)?tracker\.js$/)
    if (script) {
      if (this.scriptHangs) await this.#hold()
      return { status: 200, headers: SCRIPT_HEADERS, body: script[1] ? ALIAS : SCRIPT }
    }
    const tracking = url.pathname.match(/^(?:\/ours|\/t)?\/api\/v1\/track\/(\w+)$/)
    if (!tracking) {
      if (url.pathname == '/favicon.ico') return { status: 404, headers: {}, body: '' }
      return { status: 200, headers: { 'content-type': 'text/html', ...this.site.headers }, body: this.html() }
    }
    Object.assign(record, { noun: tracking[1], method, address: url.host + url.pathname, headers, body: JSON.parse(body || 'null') })
    this.requests.push(record)
    const mode = this.api
    if (mode == 'held') await this.#hold()
    if (mode == 'down') return undefined
    const answer = typeof mode == 'number'
      ? { status: mode, body: { error: { code: 'failed' } } }
      : await this.service.answer(tracking[1], body, headers)
    record.answer = answer
    return {
      status: answer.status,
      headers: { 'content-type': 'application/json', 'access-control-allow-origin': '*', ...answer.headers },
      body: JSON.stringify(answer.body)
    }
  }

  #hold() {
    return new Promise(resolve => this.held.push(resolve))
  }
}
