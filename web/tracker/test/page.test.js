// The script and the page it is on: client-side navigation, calls from the page, other scripts.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { STUB, scene } from './stage/stage.js'

test('the documentation has the stub of these pages', () => {
  const page = readFileSync(new URL('../../../docs/integrate.md', import.meta.url), 'utf8')
  assert(page.includes(`<script>${STUB}</script>\n<script async src="https://track.example/js/tracker.js" `))
})

scene('navigation on the client is followed', async stage => {
  const { ada, bruno } = stage.codes
  await stage.visit(stage.url('/'))
  await stage.act(code => history.pushState({ page: 1 }, '', `/a?aff=${code}`), ada)
  assert.equal(stage.clicks.length, 1)
  assert.equal(stage.clicks[0].body.page_url, stage.url(`/a?aff=${ada}`))
  const first = await stage.clickId()
  assert.equal(first, stage.clicks[0].answer.body.click_id)
  await stage.act(code => history.replaceState({ page: 2 }, '', `/b?aff=${code}`), bruno)
  assert.equal(stage.clicks.length, 2)
  assert.equal(stage.clicks[1].body.existing_click_id, first)
  await stage.act(code => history.pushState(null, '', `/c?aff=${code}`), ada)
  assert.equal(stage.clicks.length, 3)
  await stage.page.goBack()
  await stage.settled()
  assert.equal(stage.clicks.length, 4, 'back to the address with the other code')
  assert.equal(stage.clicks[3].body.affiliate_url, stage.url(`/b?aff=${bruno}`))
})

scene('navigation that names no other partner asks nothing', async stage => {
  const { ada } = stage.codes
  await stage.visit(stage.url(`/?aff=${ada}`))
  await stage.act(code => {
    history.pushState(null, '', `/next?aff=${code}`)
    history.pushState(null, '', '/plain')
    history.replaceState(null, '', '/plain?x')
    history.replaceState({ scroll: 9 }, '')
    location.hash = `aff=x`
    history.back()
    return new Promise(resolve => addEventListener('popstate', () => setTimeout(resolve), { once: true }))
  }, ada)
  assert.equal(stage.requests.length, 1)
})

scene('the page sees its own history', async stage => {
  await stage.visit(stage.url('/'))
  const seen = await stage.act(() => {
    const returned = history.pushState({ a: 1 }, '', '/one')
    const state = history.state
    let refused
    try {
      history.pushState(null, '', 'https://elsewhere.test/')
    } catch (error) {
      refused = error.name
    }
    return { returned, state, refused, path: location.pathname, length: history.length > 1 }
  })
  assert.deepEqual(seen, { returned: undefined, state: { a: 1 }, refused: 'SecurityError', path: '/one', length: true })
})

scene('a landing whose address a router replaced before the script came is a click', async stage => {
  stage.pages({ before: `history.replaceState(null, '', '/home')` })
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}&utm=1#x`))
  assert.equal(stage.clicks.length, 1)
  assert.equal(stage.clicks[0].body.affiliate_url, stage.url(`/?aff=${stage.codes.ada}&utm=1`))
  await stage.act(() => history.pushState(null, '', '/further'))
  assert.equal(stage.clicks.length, 1)
})

scene('calls made before the script came are heard, after the landing', async stage => {
  stage.pages({ before: `tracker('signup', 'user-early-${Date.now()}', 'jane@shop.example')` })
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  await stage.settled()
  assert.deepEqual(stage.requests.map(request => request.noun), ['click', 'lead'])
  const { click_id } = stage.clicks[0].answer.body
  assert.equal(stage.leads[0].body.click_id, click_id)
  assert.equal(stage.leads[0].body.email, 'jane@shop.example')
  assert.equal(stage.leads[0].answer.status, 200)
})

scene('a signup right after a partner was switched goes with the answer to that click', async stage => {
  await stage.visit(stage.url('/'))
  const customerKey = `user-${Date.now()}`
  await stage.act(([code, key]) => {
    history.pushState(null, '', `/?aff=${code}`)
    return tracker.signup(key)
  }, [stage.codes.bruno, customerKey])
  assert.equal(stage.leads[0].body.click_id, stage.clicks[0].answer.body.click_id)
  assert(await stage.service.pays(stage.codes.bruno, customerKey))
})

scene('a signup is a lead, and its answer is handed on', async stage => {
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  const customerKey = `user-${Date.now()}`
  const [first, again] = await stage.page.evaluate(async key => [
    await tracker.signup(key, 'jane@shop.example'),
    await tracker('signup', key)
  ], customerKey)
  assert.deepEqual(first, { success: true, message: 'Lead tracked successfully' })
  assert.deepEqual(stage.leads[0].body, {
    click_id: await stage.clickId(),
    customer_key: customerKey,
    email: 'jane@shop.example'
  })
  assert.equal(again.error.message, 'Customer status cannot be updated to lead. Current status: lead')
  assert.equal(stage.leads[1].body.email, undefined)
})

scene('a signup on a later page goes with the click_id of the first', async stage => {
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  const clickId = await stage.clickId()
  await stage.visit(stage.url('/signup', 'app.example.test'))
  const answer = await stage.page.evaluate(key => tracker.signup(key), `user-${Date.now()}`)
  assert.equal(answer.success, true)
  assert.equal(stage.leads[0].body.click_id, clickId)
})

scene('a signup of nobody we know carries no click_id', async stage => {
  await stage.visit(stage.url('/'))
  const answer = await stage.page.evaluate(key => tracker.signup(key), `nobody-${Date.now()}`)
  assert.equal(answer.error.status, 400)
  assert.deepEqual(Object.keys(stage.leads[0].body), ['customer_key'])
})

scene('what names nobody is not sent, and a number is a name', async stage => {
  await stage.visit(stage.url('/'))
  const answers = await stage.page.evaluate(() =>
    Promise.all([undefined, null, '', {}, [], NaN].map(key => tracker.signup(key, { not: 'an address' }))))
  assert(answers.every(answer => answer == null))
  await stage.page.evaluate(() => tracker.signup(Symbol('key')))
  assert.equal(stage.requests.length, 0)
  await stage.page.evaluate(() => tracker.signup(42, 'jane@shop.example'))
  assert.equal(stage.leads[0].body.customer_key, '42')
})

scene('a call that means nothing does nothing', async stage => {
  stage.pages({ before: `tracker(); tracker('nothing'); tracker('__proto__'); tracker(null, {}); tracker('toString')` })
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  await stage.act(() => {
    tracker()
    tracker('nothing', 1)
    tracker('__proto__')
    tracker('__defineGetter__')
    tracker({}, [])
  })
  assert.equal(stage.clicks.length, 1)
})

scene('the page is told once when the landing has been dealt with', async stage => {
  stage.pages({ after: `addEventListener('tracker:ready', event => (window.idThen = event.detail.getClickId()))` })
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  assert.equal(await stage.page.evaluate(() => window.idThen), stage.clicks[0].answer.body.click_id)
  await stage.act(() => history.pushState(null, '', '/x'))
  assert.deepEqual(await stage.page.evaluate(() => [window.ready.length, window.ready[0] === window.tracker]), [1, true])
})

scene('the page is told, too, when the tracking service does not answer', async stage => {
  stage.api = 'down'
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  assert.equal(await stage.clickId(), null)
})

scene('a listener that fails is the page\'s own affair', async stage => {
  stage.pages({ after: `addEventListener('tracker:ready', () => { throw new Error('of the page') })` })
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  assert.equal(await stage.page.evaluate(key => tracker.signup(key).then(answer => answer.success), `u-${Date.now()}`), true)
  assert.deepEqual(stage.pageErrors.splice(0), ['Error: of the page'])
})

scene('no page waits for us', async stage => {
  stage.api = 'held'
  await stage.page.goto(stage.url(`/?aff=${stage.codes.ada}`), { waitUntil: 'load' })
  await stage.until('the click is on its way', () => stage.requests.length == 1)
  assert.equal(await stage.page.evaluate(() => document.readyState), 'complete')
  assert.equal(await stage.clickId(), null)
  stage.release()
  await stage.ready()
  assert(await stage.clickId())
})

scene('a page comes up while the script does not', async stage => {
  stage.scriptHangs = true
  stage.pages({ after: `addEventListener('DOMContentLoaded', () => (window.up = true)); tracker('signup', 'u')` })
  await stage.page.goto(stage.url(`/?aff=${stage.codes.ada}`), { waitUntil: 'domcontentloaded' })
  await stage.page.waitForFunction(() => window.up)
  assert.equal(stage.requests.length, 0)
})

for (const loading of ['defer', '', 'async type="text/javascript" crossorigin']) {
  scene(`the script works when loaded with "${loading}"`, async stage => {
    stage.pages({ loading })
    await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
    assert.equal(await stage.clickId(), stage.clicks[0].answer.body.click_id)
  })
}

scene('the script works when a tag manager adds it', async stage => {
  stage.pages({ src: '', loading: 'type="text/plain"' })
  await stage.page.goto(stage.url(`/?aff=${stage.codes.ada}`))
  await stage.page.evaluate(src => {
    const script = document.createElement('script')
    script.src = src
    document.head.append(script)
  }, stage.url('/js/tracker.js?v=1', 'track.service.test'))
  await stage.ready()
  assert.equal(stage.clicks.length, 1)
})

scene('the script works without its stub', async stage => {
  stage.pages({ stub: '' })
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  assert.equal(await stage.page.evaluate(() => tracker('getClickId')), stage.clicks[0].answer.body.click_id)
})

scene('two copies on one page do the work of one', async stage => {
  const src = stage.url('/js/tracker.js', 'track.service.test')
  stage.pages({ body: `<script src="${src}"></script><script async src="${src}?2"></script>`, before: `tracker('signup', 'two-${Date.now()}')` })
  await stage.page.goto(stage.url(`/?aff=${stage.codes.ada}`), { waitUntil: 'load' })
  await stage.ready()
  await stage.act(code => history.pushState(null, '', `/?aff=${code}`), stage.codes.bruno)
  assert.deepEqual(stage.requests.map(request => request.noun), ['click', 'lead', 'click'])
  assert.equal(await stage.page.evaluate(() => window.ready.length), 1)
})

scene('a variable of the page with our name stays the page\'s', async stage => {
  stage.pages({ stub: `window.tracker = { mine: true }` })
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  assert.deepEqual(await stage.page.evaluate(() => window.tracker), { mine: true })
  assert.equal(await stage.page.evaluate(() => window.ready[0].getClickId()), stage.clicks[0].answer.body.click_id)
})

scene('requests go where the page says', async stage => {
  await stage.context.addCookies(['shop', 'api'].map(name => ({
    name: 'session',
    value: 'of-the-site',
    url: stage.url('/', `${name}.example.test`)
  })))
  for (const [host, address] of [
    [stage.url('', 'api.example.test'), `api.example.test:${stage.port}/api/v1/track/click`],
    [stage.url('/', 'api.example.test'), `api.example.test:${stage.port}/api/v1/track/click`],
    [stage.url('/t', 'api.example.test'), `api.example.test:${stage.port}/t/api/v1/track/click`],
    ['/ours', `shop.example.test:${stage.port}/ours/api/v1/track/click`]
  ]) {
    await stage.forget()
    stage.pages({ attributes: `data-api-host="${host}"` })
    await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
    assert.equal(stage.clicks.at(-1).address, address, host)
    assert.equal(stage.clicks.at(-1).answer.status, 200)
    assert.equal(stage.clicks.at(-1).headers.cookie, undefined, 'not even the site\'s own host is sent its cookies')
  }
})

scene('behind a proxy of the site requests take the way the script came', async stage => {
  stage.pages({ src: '/t/js/tracker.js?v=2' })
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  assert.equal(stage.clicks[0].address, `shop.example.test:${stage.port}/t/api/v1/track/click`)
})

scene('an API host that is none is no harm', async stage => {
  for (const host of ['http://', 'nonsense', '::::', '<b>', 'https://%']) {
    stage.pages({ attributes: `data-api-host="${host}"` })
    await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
    assert.equal(await stage.clickId(), null, host)
  }
})

scene('in test mode nothing real is recorded and nothing is kept', async stage => {
  stage.pages({ attributes: `data-test-mode data-program-id="${stage.service.programId}"` })
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  const [{ body, answer }] = stage.clicks
  assert.deepEqual(body.additional_data, { test_mode: true, program_id: stage.service.programId })
  assert.equal(answer.body.data.test_mode, true)
  assert.deepEqual(await stage.context.cookies(), [])
  const lead = await stage.page.evaluate(() => tracker.signup('user-of-a-test'))
  assert.equal(lead.message, 'Test lead event tracked successfully')
})

scene('without test mode the program is not spoken of', async stage => {
  stage.pages({ attributes: `data-program-id="${stage.service.programId}"` })
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  assert.equal(stage.clicks[0].body.additional_data, undefined)
})

for (const [what, before] of [
  ['fetch that throws', `window.fetch = () => { throw new Error('no') }`],
  ['no fetch', `delete window.fetch; window.fetch = undefined`],
  ['a history that cannot be changed', `Object.freeze(history)`],
  ['no performance entries', `performance.getEntriesByType = () => []`],
  ['no AbortSignal.timeout', `delete AbortSignal.timeout`],
  ['a queue that is none', `window.tracker = { q: 5 }`],
  ['prototypes with more on them', `Array.prototype.more = 1; Object.prototype.evenMore = 2`],
  ['junk where we keep things', `sessionStorage.tracker_request = 'junk'`],
  ['null where we keep things', `sessionStorage.tracker_request = 'null'`]
]) {
  scene(`a page with ${what} goes on`, async stage => {
    stage.pages({ before })
    await stage.page.goto(stage.url(`/?aff=${stage.codes.ada}`), { waitUntil: 'load' })
    await stage.page.evaluate(() => history.pushState(null, '', '/further'))
    await stage.page.goto(stage.url(`/?aff=${stage.codes.ada}`), { waitUntil: 'load' })
    assert.equal(await stage.page.evaluate(() => document.readyState), 'complete')
  })
}
