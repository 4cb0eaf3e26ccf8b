// No network, no service, no cookies, no storage, a page that is left at once.

import assert from 'node:assert/strict'
import { scene } from './stage/stage.js'

const stored = stage => stage.page.evaluate(() => Object.keys(sessionStorage))

for (const failure of ['down', 503, 500, 429]) {
  scene(`a click that fails (${failure}) is sent once more on the next page`, async stage => {
    stage.api = failure
    await stage.visit(stage.url(`/?aff=${stage.codes.ada}#x`))
    assert.deepEqual(await stored(stage), ['tracker_request'])
    stage.api = 'up'
    await stage.visit(stage.url('/next'))
    assert.equal(stage.clicks.length, 2)
    assert.deepEqual(stage.clicks[1].body, stage.clicks[0].body)
    assert.equal(await stage.clickId(), stage.clicks[1].answer.body.click_id)
    assert.equal(decodeURIComponent((await stage.cookies()).tracker_aff_url.value), stage.url(`/?aff=${stage.codes.ada}`))
    assert.deepEqual(await stored(stage), [])
    await stage.visit(stage.url('/further'))
    assert.equal(stage.clicks.length, 2)
  })

  scene(`a click that fails twice (${failure}) is given up`, async stage => {
    stage.api = failure
    await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
    await stage.visit(stage.url('/next'))
    assert.equal(stage.clicks.length, 2)
    assert.deepEqual(await stored(stage), [])
    await stage.visit(stage.url('/further'))
    assert.equal(stage.clicks.length, 2)
  })
}

scene('the same landing again is the once more', async stage => {
  stage.api = 'down'
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  stage.api = 'up'
  await stage.page.reload()
  await stage.ready()
  assert.equal(stage.clicks.length, 2)
  assert.equal(await stage.clickId(), stage.clicks[1].answer.body.click_id)
})

scene('the same address under another state is no next page', async stage => {
  stage.api = 'down'
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  await stage.act(() => history.replaceState({ scroll: 1 }, '', location.href + '#down'))
  assert.equal(stage.clicks.length, 1)
})

scene('what failed comes before what the next page brings', async stage => {
  const { ada, bruno } = stage.codes
  stage.api = 'down'
  await stage.visit(stage.url(`/?aff=${ada}`))
  stage.api = 'up'
  await stage.visit(stage.url(`/?aff=${bruno}`))
  assert.deepEqual(stage.clicks.slice(1).map(click => click.answer.body.partner_code), [ada, bruno])
  assert.equal(stage.clicks[2].body.existing_click_id, stage.clicks[1].answer.body.click_id)
})

scene('a click that failed is not sent again once another page has done it', async stage => {
  stage.api = 'down'
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  stage.api = 'up'
  const other = await stage.newPage()
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`), other)
  await stage.visit(stage.url('/next'))
  assert.equal(stage.clicks.length, 2)
})

scene('a signup that fails goes once more, after its click and with its answer', async stage => {
  stage.api = 'down'
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  const key = `user-${Date.now()}`
  assert.equal(await stage.page.evaluate(key => tracker.signup(key, 'jane@shop.example'), key), undefined)
  stage.api = 'up'
  await stage.visit(stage.url('/next'))
  assert.deepEqual(stage.requests.map(request => request.noun), ['click', 'lead', 'click', 'lead'])
  assert.deepEqual(stage.leads[1].body, { click_id: await stage.clickId(), customer_key: key, email: 'jane@shop.example' })
  assert.equal(stage.leads[1].answer.status, 200)
  assert(await stage.service.pays(stage.codes.ada, key))
})

scene('offline, a page of the same document is the next one', async stage => {
  await stage.visit(stage.url('/'))
  await stage.context.setOffline(true)
  await stage.act(code => history.pushState(null, '', `/?aff=${code}`), stage.codes.ada)
  assert.equal(stage.requests.length, 0)
  assert.equal(await stage.clickId(), null)
  await stage.context.setOffline(false)
  await stage.act(() => history.pushState(null, '', '/next'))
  assert.equal(stage.clicks.length, 1)
  assert.equal(stage.clicks[0].body.affiliate_url, stage.url(`/?aff=${stage.codes.ada}`))
  assert.equal(await stage.clickId(), stage.clicks[0].answer.body.click_id)
})

scene('a page that is left at once has told of its click all the same', async stage => {
  stage.api = 'held'
  await stage.page.goto(stage.url(`/?aff=${stage.codes.ada}`))
  await stage.until('the click is on its way', () => stage.requests.length == 1)
  await stage.page.goto(stage.url('/', 'elsewhere.test'))
  stage.release()
  await stage.until('it is answered', () => stage.clicks[0].broken !== undefined)
  assert.equal(stage.clicks[0].broken, false, 'the browser stayed on the line')
})

scene('whoever leaves before the answer is known on the next page', async stage => {
  stage.api = 'held'
  await stage.page.goto(stage.url(`/?aff=${stage.codes.ada}`))
  await stage.until('the click is on its way', () => stage.requests.length == 1)
  await stage.page.goto(stage.url('/next'))
  await stage.until('it is asked again', () => stage.requests.length == 2)
  stage.release()
  await stage.ready()
  assert.equal(await stage.clickId(), stage.clicks[1].answer.body.click_id)
})

scene('a service that never answers is given up', async stage => {
  stage.api = 'held'
  // Its own clock: nine seconds pass at once.
  await stage.page.addInitScript(() => {
    AbortSignal.timeout = () => AbortSignal.abort(new DOMException('', 'TimeoutError'))
  })
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  assert.equal(await stage.clickId(), null)
  assert.deepEqual(await stored(stage), ['tracker_request'])
})

scene('where cookies are turned off the page itself remembers', async stage => {
  const session = await stage.context.newCDPSession(stage.page)
  await session.send('Emulation.setDocumentCookieDisabled', { disabled: true })
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  assert.deepEqual(await stage.context.cookies(), [])
  assert.equal(await stage.clickId(), stage.clicks[0].answer.body.click_id)
  await stage.act(code => history.pushState(null, '', `/again?aff=${code}`), stage.codes.ada)
  assert.equal(stage.clicks.length, 1)
  const answer = await stage.page.evaluate(key => tracker.signup(key), `user-${Date.now()}`)
  assert.equal(answer.success, true)
})

scene('a frame without cookies and storage is no harm', async stage => {
  stage.pages({ body: '' })
  await stage.page.goto(stage.url('/plain'))
  await stage.ready()
  await stage.page.evaluate(src => {
    const frame = document.createElement('iframe')
    frame.sandbox = 'allow-scripts'
    frame.src = src
    document.body.append(frame)
  }, stage.url(`/?aff=${stage.codes.ada}`))
  await stage.until('the frame is there', () => stage.page.frames().length == 2)
  const frame = stage.page.frames()[1]
  await frame.waitForFunction(() => window.ready)
  assert.equal(await frame.evaluate(() => {
    try {
      return document.cookie
    } catch (error) {
      return error.name
    }
  }), 'SecurityError')
  const id = await frame.evaluate(() => tracker.getClickId())
  assert.equal(id, stage.clicks[0].answer.body.click_id)
  await frame.evaluate(() => tracker.consent(false))
  assert.equal(await frame.evaluate(() => tracker.getClickId()), null)
})

scene('where storage is turned off everything works but the once more', async stage => {
  await stage.page.addInitScript(() => {
    for (const storage of ['sessionStorage', 'localStorage']) {
      Object.defineProperty(window, storage, {
        get() {
          throw new DOMException('', 'SecurityError')
        }
      })
    }
  })
  stage.api = 'down'
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  stage.api = 'up'
  await stage.act(() => history.pushState(null, '', '/next'))
  assert.equal(stage.clicks.length, 2, 'as long as the page lives')
  assert.equal(await stage.clickId(), stage.clicks[1].answer.body.click_id)
  await stage.visit(stage.url(`/?aff=${stage.codes.bruno}`))
  assert.equal(stage.clicks.length, 3)
})

scene('where storage is full clicks are sent all the same', async stage => {
  await stage.page.addInitScript(() => {
    Storage.prototype.setItem = () => {
      throw new DOMException('', 'QuotaExceededError')
    }
    window.sessionStorage.x = 'x'.repeat(5 * 1024 * 1024 - 1)
  })
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  assert.equal(await stage.clickId(), stage.clicks[0].answer.body.click_id)
})

scene('a policy that forbids requests is no harm', async stage => {
  stage.pages({ headers: { 'content-security-policy': "connect-src 'none'" } })
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  assert.equal(await stage.clickId(), null)
  assert.equal(stage.requests.length, 0)
})
