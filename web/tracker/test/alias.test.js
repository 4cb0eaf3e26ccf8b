// The script under another name: what the tags, loaders and calls of a service used before find.

import assert from 'node:assert/strict'
import { scene } from './stage/stage.js'

const PATH = '/js/acme-tracker.js'

/** A page with the tag of before, and no line of ours. */
function moved(stage, site = {}) {
  const attributes = `data-acme-program-id="${stage.service.programId}" ${site.attributes ?? ''}`
  stage.pages({ stub: '', src: stage.url(PATH, 'track.service.test'), ...site, attributes })
}

scene('a page that only names another address goes on', async stage => {
  moved(stage)
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  const { click_id } = stage.clicks[0].answer.body
  const url = stage.url(`/?aff=${stage.codes.ada}`)
  const programId = Number(stage.service.programId)
  assert.deepEqual(await stage.page.evaluate(() => [acme.getClickId(), acme.clickId, acme.customerCode]), [click_id, click_id, click_id])
  assert.deepEqual(await stage.page.evaluate(() => acme.getData()), {
    clickId: click_id,
    programId,
    hasAttribution: true,
    affiliateUrl: url
  })
  assert.deepEqual(
    await stage.page.evaluate(() => [acme.loaded, acme.programId, acme.hasAffiliateAttribution, acme.affiliateUrl, acme.debugMode]),
    [true, programId, true, url, false]
  )
  assert((await stage.cookies()).tracker_click_id, 'kept as by the script under its own name')
})

scene('without a link there is no attribution', async stage => {
  moved(stage)
  await stage.visit(stage.url('/'))
  assert.deepEqual(await stage.page.evaluate(() => acme.getData()), {
    clickId: null,
    programId: Number(stage.service.programId),
    hasAttribution: false,
    affiliateUrl: null
  })
  assert.equal(stage.requests.length, 0)
})

scene('a loader finds the global as soon as the script is loaded', async stage => {
  stage.api = 'held'
  stage.pages({ stub: '', src: '', loading: 'type="text/plain"' })
  await stage.page.goto(stage.url(`/?aff=${stage.codes.ada}`))
  const found = await stage.page.evaluate(src => new Promise((resolve, reject) => {
    const script = document.createElement('script')
    script.src = src
    script.async = true
    script.setAttribute('data-acme-program-id', '59')
    script.setAttribute('data-acme-debug', 'true')
    script.onload = () => resolve([typeof window.acme?.signup, acme.loaded, acme.programId, acme.debugMode, acme.getClickId()])
    script.onerror = reject
    document.head.append(script)
  }), stage.url(PATH, 'track.service.test'))
  assert.deepEqual(found, ['function', true, 59, true, null], 'before the click is answered')
  await stage.page.evaluate(() => acme.init({ programId: '60', debug: false }))
  assert.deepEqual(await stage.page.evaluate(() => [acme.programId, acme.debugMode]), [60, false])
})

scene('a click is waited for', async stage => {
  moved(stage)
  await stage.page.goto(stage.url(`/?aff=${stage.codes.ada}`))
  const found = await stage.page.evaluate(async () => [await acme.trackClick(), acme.clickId])
  const { click_id } = stage.clicks[0].answer.body
  assert.deepEqual(found, [click_id, click_id])
})

scene('both names of a signup report a lead of the visitor', async stage => {
  for (const [call, key] of [
    [key => acme.signup(key, 'jane@shop.example'), `signup-${Date.now()}`],
    [key => acme.trackLead({ user_id: key, email: 'jane@shop.example', additional_data: { plan: 'pro' } }), `user-${Date.now()}`],
    [key => acme.trackLead({ customer_key: key, user_id: 'another', email: 'jane@shop.example' }), `key-${Date.now()}`]
  ]) {
    moved(stage)
    await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
    await stage.page.evaluate(call, key)
    const { body, answer } = stage.leads.at(-1)
    assert.deepEqual(body, { click_id: stage.clicks.at(-1).answer.body.click_id, customer_key: key, email: 'jane@shop.example' })
    assert.equal(answer.status, 200)
    assert(await stage.service.pays(stage.codes.ada, key))
    await stage.forget()
  }
})

scene('calls queued before and after the script is loaded are made once each', async stage => {
  const [before, after] = ['before', 'after'].map(when => `${when}-${Date.now()}`)
  const junk = `['nothing'], ['__proto__'], null, 5, 'signup', [], ['init', null]`
  moved(stage, { before: `window.acmeQueue = [['trackLead', { user_id: '${before}', email: 'jane@shop.example' }], ${junk}]` })
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  await stage.act(key => {
    window.acmeQueue = window.acmeQueue || []
    acmeQueue.push(['signup', key, 'jane@shop.example'], ['trackClick'])
    acmeQueue.push(undefined)
  }, after)
  assert.deepEqual(stage.leads.map(lead => lead.body.customer_key), [before, after])
  assert.equal(stage.clicks.length, 1)
})

scene('requests go where the tag says', async stage => {
  moved(stage, { attributes: `data-acme-api-base="${stage.url('/t', 'api.example.test')}"` })
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  await stage.page.evaluate(() => acme.trackTest())
  assert.deepEqual(stage.clicks.map(click => click.address), Array(2).fill(`api.example.test:${stage.port}/t/api/v1/track/click`))
})

scene('a test event is none of the visitor', async stage => {
  moved(stage)
  await stage.visit(stage.url('/'))
  await stage.page.evaluate(() => Promise.all([acme.trackTest(), acme.trackTest({ step_id: 'referrals', customer_key: 'tester' })]))
  for (const { body, answer } of stage.requests) {
    assert.deepEqual(body.additional_data, { test_mode: true, program_id: Number(stage.service.programId) })
    assert.equal(answer.body.data.test_mode, true)
  }
  assert.deepEqual(stage.requests.map(request => request.noun).sort(), ['click', 'lead'])
  assert.deepEqual(await stage.context.cookies(), [])
})

scene('under another name, too, nothing is sent without consent', async stage => {
  moved(stage, { attributes: 'data-consent="required"' })
  await stage.page.goto(stage.url(`/?aff=${stage.codes.ada}`))
  await stage.page.waitForFunction(() => window.acme)
  await stage.page.evaluate(() => {
    acme.signup('early')
    return acme.trackTest()
  })
  assert.deepEqual(await stage.page.evaluate(() => [acme.clickId, acme.affiliateUrl]), [null, null])
  assert.equal(stage.requests.length, 0)
  await stage.page.evaluate(() => tracker('consent', true))
  assert.deepEqual(stage.requests.map(request => request.noun), ['click', 'lead'])
  assert.equal(await stage.page.evaluate(() => acme.clickId), stage.clicks[0].answer.body.click_id)
})

scene('both scripts, and two copies, do the work of one', async stage => {
  const [own, alias] = ['/js/tracker.js', PATH].map(path => stage.url(path, 'track.service.test'))
  moved(stage, {
    before: `window.acmeQueue = [['signup', 'once-${Date.now()}']]`,
    body: `<script src="${own}"></script><script src="${alias}?v=2"></script><script>window.first = acme</script><script src="${alias}"></script>`
  })
  await stage.page.goto(stage.url(`/?aff=${stage.codes.ada}`), { waitUntil: 'load' })
  await stage.ready()
  await stage.settled()
  assert.deepEqual(stage.requests.map(request => request.noun), ['click', 'lead'])
  assert(await stage.page.evaluate(() => window.first === acme))
})

scene('a variable of the page with this name stays the page\'s, and an element gives way', async stage => {
  moved(stage, { before: 'window.acme = { mine: true }' })
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  assert.deepEqual(await stage.page.evaluate(() => window.acme), { mine: true })
  assert.equal(stage.clicks.length, 1)
  moved(stage, { body: '<div id="acme"></div>', loading: 'defer' })
  await stage.visit(stage.url('/'))
  assert.equal(await stage.page.evaluate(() => acme.loaded), true)
})

for (const [what, before] of [
  ['fetch that throws', `window.fetch = () => { throw new Error('no') }`],
  ['a queue that is none', `window.acmeQueue = 'queue'`],
  ['a global that cannot be set', `Object.defineProperty(window, 'acme', { get: () => undefined })`]
]) {
  scene(`under another name, too, a page with ${what} goes on`, async stage => {
    moved(stage, { before })
    await stage.page.goto(stage.url(`/?aff=${stage.codes.ada}`), { waitUntil: 'load' })
    await stage.page.evaluate(() => window.acme?.trackTest())
    assert.equal(await stage.page.evaluate(() => document.readyState), 'complete')
  })
}
