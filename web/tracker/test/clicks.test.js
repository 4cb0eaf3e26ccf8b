// Visits through referral links: requests, cookies, attribution.

import assert from 'node:assert/strict'
import { SCRIPT, scene } from './stage/stage.js'

const DAY_SECONDS = 86_400

scene('a landing is a click, and its answer is kept in three cookies of the whole site', async stage => {
  const before = Date.now() / 1000
  const landing = stage.url(`/pricing?utm_source=x&aff=${stage.codes.ada}#plans`)
  await stage.visit(landing)
  const after = Date.now() / 1000
  assert.equal(stage.clicks.length, 1)
  const [{ answer }] = stage.clicks
  assert.equal(answer.status, 200)
  const { click_id, cookie_window_days } = answer.body
  const cookies = await stage.cookies()
  assert.deepEqual(Object.keys(cookies).sort(), ['customer_code', 'tracker_aff_url', 'tracker_click_id'])
  assert.equal(cookies.tracker_click_id.value, click_id)
  assert.equal(cookies.customer_code.value, click_id)
  assert.equal(decodeURIComponent(cookies.tracker_aff_url.value), landing.split('#')[0])
  for (const cookie of Object.values(cookies)) {
    assert.equal(cookie.domain, '.example.test')
    assert.equal(cookie.path, '/')
    assert.equal(cookie.sameSite, 'Lax')
    assert.equal(cookie.secure, false)
    assert.equal(cookie.httpOnly, false)
    const lifetime = cookie_window_days * DAY_SECONDS
    assert(cookie.expires > before + lifetime - 2 && cookie.expires < after + lifetime + 2, cookie.name)
  }
  assert.equal(await stage.clickId(), click_id)
})

scene('a click tells what the browser knows, and nothing of the fragment', async stage => {
  stage.pages({ title: 'Prices ✓ 💶', body: `<a href="/landing?aff=${stage.codes.ada}#secret">go</a>` })
  await stage.visit(stage.url('/from#here', 'blog.other.test'))
  stage.pages({ title: 'Prices ✓ 💶', headers: {} })
  await stage.page.evaluate(href => (location.href = href), stage.url(`/landing?aff=${stage.codes.ada}#secret`))
  await stage.until('the click', () => stage.clicks[0]?.answer)
  assert.deepEqual(stage.clicks[0].body, {
    affiliate_url: stage.url(`/landing?aff=${stage.codes.ada}`),
    page_url: stage.url(`/landing?aff=${stage.codes.ada}`),
    page_title: 'Prices ✓ 💶',
    referrer_url: stage.url('/', 'blog.other.test'),
    screen_resolution: '800x600',
    viewport_size: '800x600',
    language: 'de-AT',
    timezone: 'Europe/Vienna'
  })
})

scene('a click asks no question first, and brings no cookies along', async stage => {
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  assert.deepEqual(stage.requests.map(request => request.method), ['POST'])
  assert.match(stage.clicks[0].headers['content-type'], /^text\/plain/)
  assert.equal(stage.clicks[0].headers.cookie, undefined)
  assert.equal(stage.clicks[0].address, stage.url('/api/v1/track/click', 'track.service.test').slice('http://'.length))
})

scene('the same partner again is no second click', async stage => {
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  const first = await stage.cookies()
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  await stage.visit(stage.url(`/other/page?utm_source=y&aff=${stage.codes.ada}&z`))
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`, 'app.example.test'))
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`, 'example.test'))
  assert.equal(stage.clicks.length, 1)
  assert.deepEqual(await stage.cookies(), first)
  assert.equal(await stage.page.evaluate(() => sessionStorage.length), 0)
})

scene('a page of the first partner, left open, does not win the visitor back', async stage => {
  const { ada, bruno } = stage.codes
  await stage.visit(stage.url(`/?aff=${ada}`))
  await stage.visit(stage.url(`/?aff=${ada}`))
  const other = await stage.newPage()
  await stage.visit(stage.url(`/?aff=${bruno}`), other)
  await stage.visit(stage.url('/next'))
  assert.deepEqual(stage.clicks.map(click => click.answer.body.partner_code), [ada, bruno])
})

scene('another partner is a new click that says who the visitor was', async stage => {
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  const first = await stage.clickId()
  await stage.visit(stage.url(`/?aff=${stage.codes.bruno}`, 'app.example.test'))
  assert.equal(stage.clicks.length, 2)
  const [, { body, answer }] = stage.clicks
  assert.equal(body.existing_click_id, first)
  assert.equal(answer.body.partner_code, stage.codes.bruno)
  assert.equal(answer.body.click_id, first, 'the customer is the same')
  const cookies = await stage.cookies()
  assert.equal(cookies.tracker_click_id.value, answer.body.click_id)
  assert.equal(decodeURIComponent(cookies.tracker_aff_url.value), body.affiliate_url)
  await stage.visit(stage.url(`/?aff=${stage.codes.bruno}`))
  assert.equal(stage.clicks.length, 2, 'the new partner again is no third click')
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  assert.equal(stage.clicks.length, 3, 'back to the first partner is one')
})

scene('the last partner is paid', async stage => {
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  await stage.visit(stage.url(`/?aff=${stage.codes.bruno}`))
  const customerKey = `user-${Date.now()}`
  const answer = await stage.page.evaluate(key => tracker.signup(key), customerKey)
  assert.equal(answer.success, true)
  assert(await stage.service.pays(stage.codes.bruno, customerKey))
})

scene('the service counts what the script sent, once', async stage => {
  const before = await stage.service.clicksToday()
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  await stage.until('counted', async () => (await stage.service.clicksToday()) > before)
  assert.equal(await stage.service.clicksToday(), before + 1)
}, { mock: false })

scene('the service serves this very script', async stage => {
  assert((await stage.service.script()).equals(SCRIPT))
}, { mock: false })

scene('another site is another visitor', async stage => {
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`, 'shop.other.test'))
  assert.equal(stage.clicks.length, 2)
  assert.equal(stage.clicks[1].body.existing_click_id, undefined)
  const [one, other] = stage.clicks.map(click => click.answer.body.click_id)
  assert.notEqual(one, other)
  assert.equal((await stage.cookies()).tracker_click_id.value, one)
  const others = await stage.cookies(stage.url('/', 'other.test'))
  assert.equal(others.tracker_click_id.value, other)
  assert.equal(others.tracker_click_id.domain, '.other.test')
})

scene('without a code in the address what is known is kept', async stage => {
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  const first = await stage.cookies()
  await stage.visit(stage.url('/'))
  await stage.visit(stage.url('/pricing?affiliate=x', 'app.example.test'))
  assert.equal(stage.requests.length, 1)
  assert.deepEqual(await stage.cookies(), first)
  assert.equal(await stage.clickId(), first.tracker_click_id.value)
})

scene('without a code and without cookies nothing is asked and nothing is kept', async stage => {
  await stage.visit(stage.url('/?utm_source=x'))
  assert.equal(stage.requests.length, 0)
  assert.deepEqual(await stage.context.cookies(), [])
  assert.equal(await stage.page.evaluate(() => sessionStorage.length + localStorage.length), 0)
  assert.equal(await stage.clickId(), null)
})

scene('a visitor of the older script is recognised', async stage => {
  const legacy = 'cust_7204319856127340_1798796400000'
  await stage.context.addCookies([{ name: 'customer_code', value: legacy, url: stage.url('/') }])
  await stage.visit(stage.url('/'))
  const cookies = await stage.cookies()
  assert.equal(cookies.tracker_click_id.value, legacy)
  assert.equal(cookies.tracker_click_id.domain, '.example.test')
  assert.equal(cookies.customer_code.value, legacy)
  assert.equal(stage.requests.length, 0)
  assert.equal(await stage.clickId(), legacy)
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  assert.equal(stage.clicks[0].body.existing_click_id, legacy, 'whose partner nobody knows: it is a click')
})

scene('an older cookie beside a new one says nothing', async stage => {
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  const clickId = await stage.clickId()
  await stage.context.addCookies([{ name: 'customer_code', value: 'cust_1_1', domain: '.example.test', path: '/' }])
  await stage.visit(stage.url('/'))
  assert.equal(await stage.clickId(), clickId)
  assert.equal((await stage.cookies()).tracker_click_id.value, clickId)
})

scene('a cookie on a narrower domain does not hide the new one', async stage => {
  const url = stage.url('/', 'a.shop.example.test')
  await stage.context.addCookies([
    { name: 'tracker_click_id', value: 'cust_1_1', url },
    { name: 'tracker_click_id', value: 'cust_2_2', domain: '.shop.example.test', path: '/' },
    { name: 'tracker_aff_url', value: 'x', url }
  ])
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`, 'a.shop.example.test'))
  const { click_id } = stage.clicks[0].answer.body
  const cookies = await stage.cookies(url)
  assert.equal(cookies.tracker_click_id.value, click_id)
  assert.equal(cookies.tracker_click_id.domain, '.example.test')
  await stage.visit(stage.url('/', 'other.example.test'))
  assert.equal(await stage.clickId(), click_id)
})

scene('cookies that are not ours to read do no harm', async stage => {
  await stage.context.addCookies([
    { name: 'tracker_aff_url', value: '%E0%A4%A', url: stage.url('/') },
    { name: 'xtracker_click_id', value: 'cust_9_9', url: stage.url('/') },
    { name: 'tracker_click_id_old', value: 'cust_9_9', url: stage.url('/') }
  ])
  await stage.visit(stage.url('/'))
  assert.equal(await stage.clickId(), null)
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  assert.equal(await stage.clickId(), stage.clicks[0].answer.body.click_id)
})

scene('a code that names no link changes nothing', async stage => {
  await stage.visit(stage.url(`/?aff=${stage.codes.nobody}`))
  assert.equal(stage.clicks[0].answer.status, 400)
  assert.deepEqual(await stage.context.cookies(), [])
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  const cookies = await stage.cookies()
  await stage.visit(stage.url(`/?aff=${stage.codes.nobody}`))
  assert.equal(stage.clicks.length, 3)
  assert.deepEqual(await stage.cookies(), cookies)
})

scene('a link that is off changes nothing', async stage => {
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  const cookies = await stage.cookies()
  await stage.visit(stage.url(`/?aff=${stage.codes.paused}`))
  assert.equal(stage.clicks[1].answer.status, 410)
  assert.deepEqual(await stage.cookies(), cookies)
  await stage.visit(stage.url('/'))
  assert.equal(stage.clicks.length, 2, 'a refusal is not asked for again')
}, { real: false })

scene('codes are read as the service reads them', async stage => {
  const ada = stage.codes.ada
  for (const query of ['?aff=', '?aff', '?AFF=ada', '?affiliate=ada', '?x=1#aff=ada', '?aff=&aff=&x', '?%']) {
    await stage.visit(stage.url(`/${query}`))
    assert.equal(stage.requests.length, 0, query)
  }
  const last = ada.slice(-1).charCodeAt(0).toString(16)
  for (const query of [`?aff=&aff=${ada}&aff=x`, `?%61ff=${ada}`, `?a=%E0%A4%A&aff=${ada.slice(0, -1)}%${last}`]) {
    await stage.forget()
    await stage.visit(stage.url(`/${query}`))
    assert.equal(stage.clicks.at(-1).answer.body.partner_code, ada, query)
    await stage.visit(stage.url(`/?aff=${ada}`))
    assert.equal(stage.clicks.at(-1).body.affiliate_url, stage.url(`/${query}`), 'it is the same partner')
  }
})

scene('odd codes are no harm', async stage => {
  for (const code of ['%E0%A4%A', '%00', '"><script>throw 1</script>', 'a;b=c,d', 'x'.repeat(9000), '%F0%9F%92%B6']) {
    await stage.visit(stage.url(`/?aff=${code}`))
    assert.equal(stage.clicks.at(-1).answer.status, 400, code)
  }
  assert.deepEqual(await stage.context.cookies(), [])
})

scene('an address of any length is a click, and the same one again is none', async stage => {
  const long = 'x'.repeat(100_000)
  await stage.visit(stage.url(`/?fbclid=${long}&aff=${stage.codes.ada}`))
  const [{ body, answer }] = stage.clicks
  assert.equal(answer.status, 200)
  assert.equal(body.affiliate_url, stage.url(`/?aff=${stage.codes.ada}`))
  assert.equal(body.page_url.length, 2000)
  const cookies = await stage.cookies()
  assert.equal(cookies.tracker_click_id.value, answer.body.click_id)
  assert.equal(decodeURIComponent(cookies.tracker_aff_url.value), body.affiliate_url)
  await stage.visit(stage.url(`/?fbclid=${long}&aff=${stage.codes.ada}`))
  assert.equal(stage.clicks.length, 1)
})

scene('an address that grows threefold in a cookie is a click, too', async stage => {
  for (const [clicks, times] of [[1, 300], [2, 900]]) {
    await stage.forget()
    await stage.visit(stage.url(`/?x=${'%26'.repeat(times)}&aff=${stage.codes.ada}`))
    assert.equal((await stage.cookies()).tracker_click_id.value, stage.clicks.at(-1).answer.body.click_id)
    await stage.visit(stage.url(`/?x=${'%26'.repeat(times)}&aff=${stage.codes.ada}`))
    assert.equal(stage.clicks.length, clicks, `${times} times`)
  }
  assert.match(stage.clicks[0].body.affiliate_url, /(%26){300}/)
})

scene('a title of any length, and of halves of characters, is a click', async stage => {
  stage.pages({ before: String.raw`document.title = '\ud83d x \ude00' + '💶'.repeat(5000)`, title: '' })
  await stage.visit(stage.url(`/?aff=${stage.codes.ada}`))
  const [{ body, answer }] = stage.clicks
  assert.equal(answer.status, 200)
  assert.match(body.page_title, /^ ?x (💶)+$/u)
})

scene('a page that is only prepared is no visit until it is shown', async stage => {
  await stage.page.addInitScript(() => {
    Object.defineProperty(document, 'prerendering', { get: () => !window.shown })
    window.show = () => {
      window.shown = true
      document.dispatchEvent(new Event('prerenderingchange'))
    }
  })
  await stage.page.goto(stage.url(`/?aff=${stage.codes.ada}`))
  await stage.page.waitForFunction(() => window.__tracker)
  await stage.page.evaluate(() => new Promise(resolve => setTimeout(resolve)))
  assert.equal(stage.requests.length, 0)
  await stage.page.evaluate(() => window.show())
  await stage.ready()
  assert.equal(stage.clicks.length, 1)
})
