// Visitors without consent, not yet, or no longer.

import assert from 'node:assert/strict'
import { scene } from './stage/stage.js'

const WAITS = { attributes: 'data-consent="required"' }

/** Our data in a visitor's browser. */
async function traces(stage) {
  const stored = await stage.page.evaluate(() => [...Object.keys(sessionStorage), ...Object.keys(localStorage)])
  return [...(await stage.context.cookies()).map(cookie => cookie.name), ...stored]
}

scene('without consent nothing is sent, kept or read', async stage => {
  stage.pages(WAITS)
  await stage.context.addCookies([{ name: 'customer_code', value: 'cust_1_1', url: stage.url('/') }])
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  await stage.page.evaluate(() => {
    tracker.signup('user-1')
    history.pushState(null, '', '/next')
  })
  assert.equal(await stage.clickId(), null)
  assert.equal(stage.requests.length, 0)
  assert.deepEqual(await traces(stage), ['customer_code'])
})

scene('with consent the landing counts, wherever on the site it is given', async stage => {
  stage.pages(WAITS)
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  const key = `user-${Date.now()}`
  await stage.page.evaluate(key => {
    history.pushState(null, '', '/next')
    tracker.signup(key)
  }, key)
  await stage.settled()
  assert.deepEqual(stage.requests.map(request => request.noun), ['click', 'lead'])
  assert.equal(stage.clicks[0].body.affiliate_url, stage.url(`/?aff=${stage.codes.ada}`))
  assert.equal(stage.leads[0].body.click_id, stage.clicks[0].answer.body.click_id)
  assert.equal(await stage.clickId(), stage.clicks[0].answer.body.click_id)
})

scene('consent that was given earlier can be told before the script came', async stage => {
  stage.pages({ ...WAITS, before: `tracker('consent', true)` })
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  assert.equal(await stage.clickId(), stage.clicks[0].answer.body.click_id)
})

scene('only true is consent', async stage => {
  stage.pages({ ...WAITS, before: 'window.fetch = () => (window.fetched = true)' })
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  const fetched = await stage.page.evaluate(async () => {
    for (const given of ['true', 1, 'denied', {}, undefined, null]) {
      tracker.consent(given)
      await new Promise(resolve => setTimeout(resolve))
    }
    return window.fetched
  })
  assert.equal(fetched, undefined)
})

scene('a refusal before the script came keeps it from everything, until it is taken back', async stage => {
  stage.pages({ before: `tracker('consent', false)` })
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  assert.equal(stage.requests.length, 0)
  assert.deepEqual(await traces(stage), [])
  await stage.settled()
  assert.equal(stage.clicks.length, 1)
  assert(await stage.clickId())
})

scene('a refusal takes away what was kept, and stops everything', async stage => {
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  await stage.context.addCookies([{ name: 'tracker_click_id', value: 'cust_1_1', url: stage.url('/') }])
  await stage.page.evaluate(() => tracker.consent(false))
  assert.deepEqual(await traces(stage), [])
  assert.equal(await stage.clickId(), null)
  await stage.page.evaluate(code => {
    tracker.signup('user-1')
    history.pushState(null, '', `/?aff=${code}`)
  }, stage.codes.bruno)
  assert.equal(stage.requests.length, 1)
})

scene('consent that is taken back in the same breath is none', async stage => {
  stage.pages(WAITS)
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  await stage.page.evaluate(() => {
    tracker.consent(true)
    tracker.consent(false)
  })
  assert.equal(stage.requests.length, 0)
  await stage.settled()
  assert.equal(stage.clicks.length, 1)
})

scene('an answer that comes after the refusal is not kept', async stage => {
  stage.api = 'held'
  await stage.page.goto(stage.url(`/?aff=${stage.codes.ada}`))
  await stage.until('the click is on its way', () => stage.requests.length == 1)
  await stage.page.evaluate(() => tracker.consent(false))
  stage.release()
  await stage.ready()
  assert.deepEqual(await traces(stage), [])
  assert.equal(await stage.clickId(), null)
})

scene('what was kept for the next page is gone after a refusal', async stage => {
  stage.api = 'down'
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  await stage.page.evaluate(() => tracker.consent(false))
  assert.deepEqual(await traces(stage), [])
  stage.api = 'up'
  await stage.visit(stage.url('/'))
  assert.equal(stage.requests.length, 1)
})
