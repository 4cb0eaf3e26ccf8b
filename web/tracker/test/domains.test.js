// The domain of cookies, and the partner of addresses.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { domains } from '../src/domains.js'
import { partnerCode } from '../src/partner.js'
import { scene } from './stage/stage.js'

/** A browser's cookies of all hosts, and its public suffixes. */
class Jar {
  cookies = []

  constructor(host, publicSuffixes) {
    this.host = host
    this.publicSuffixes = publicSuffixes
  }

  takes(domain) {
    if (this.host != domain && !this.host.endsWith('.' + domain)) return false
    return !this.publicSuffixes.includes(domain) || domain == this.host
  }

  get cookie() {
    const seen = this.cookies.filter(({ domain, alone }) =>
      alone ? domain == this.host : this.host == domain || this.host.endsWith('.' + domain))
    return seen.map(({ name, value }) => `${name}=${value}`).join('; ')
  }

  set cookie(text) {
    const [pair, ...attributes] = text.split(';')
    const [name, ...value] = pair.split('=')
    const attribute = Object.fromEntries(attributes.map(each => each.split('=')))
    assert.equal(attribute.path, '/')
    assert.equal(attribute.samesite, 'lax')
    if (attribute.domain && !this.takes(attribute.domain)) return
    const domain = attribute.domain || this.host
    // A public suffix that is itself a host may have host-only cookies.
    const alone = !attribute.domain || this.publicSuffixes.includes(domain)
    this.cookies = this.cookies.filter(other => other.name != name || other.domain != domain || other.alone != alone)
    if (Number(attribute['max-age']) > 0) this.cookies.push({ name, value: value.join('='), domain, alone })
  }
}

async function cookiesOf(host, publicSuffixes) {
  const jar = new Jar(host, publicSuffixes)
  globalThis.document = jar
  globalThis.location = { hostname: host, protocol: 'http:' }
  // A fresh module for each: it keeps state.
  return { jar, ...(await import(`../src/cookies.js?${(cookiesOf.count = (cookiesOf.count ?? 0) + 1)}`)) }
}

/** Deterministic pseudo-random numbers. */
function dice(seed) {
  return sides => {
    seed = (seed * 1664525 + 1013904223) % 2 ** 32
    return Math.floor((seed / 2 ** 32) * sides)
  }
}

test('a cookie is on the broadest domain that is one site only, and on no other', async () => {
  const roll = dice(7)
  const label = () => ['a', 'b', 'shop', 'com', 'co', 'x-1', 'tracker'][roll(7)]
  for (let round = 0; round < 500; round++) {
    const labels = Array.from({ length: 1 + roll(6) }, label)
    const host = labels.join('.')
    const suffixes = labels.map((_, i) => labels.slice(i).join('.'))
    // The last label is always public; others may be, in any combination.
    const publicSuffixes = suffixes.filter((suffix, i) => i == labels.length - 1 || roll(3) == 0)
    const { jar, keep, read, remove } = await cookiesOf(host, publicSuffixes)
    for (let old = roll(4); old > 0; old--) {
      const domain = suffixes[roll(suffixes.length)]
      jar.cookie = `tracker_click_id=old${old};path=/;samesite=lax;max-age=9` + (roll(2) ? `;domain=${domain}` : '')
    }
    jar.cookie = 'session=1;path=/;samesite=lax;max-age=9'
    const value = ['cust_1_2', 'https://a.b/?aff=1;x=%26, "ü"', 'a=b=c'][roll(3)]
    keep('tracker_click_id', value, 90)
    assert.equal(read('tracker_click_id'), value, host)
    const kept = jar.cookies.filter(cookie => cookie.name == 'tracker_click_id')
    assert.equal(kept.length, 1, `${host}: one cookie`)
    const expected = [...suffixes].reverse().find(suffix => !publicSuffixes.includes(suffix) || suffix == host) ?? host
    assert.equal(kept[0].domain, expected, `${host} where ${publicSuffixes} are public`)
    remove('tracker_click_id')
    assert.equal(read('tracker_click_id') || undefined, undefined)
    assert.deepEqual(jar.cookies.map(cookie => cookie.name), ['session'], 'nothing of ours is left, all of others is')
  }
})

test('a page has the domains that end its host, and itself', () => {
  assert.deepEqual(domains('shop.example.com'), ['com', 'example.com', 'shop.example.com', ''])
  assert.deepEqual(domains('localhost'), ['localhost', ''])
})

test('a partner is named by the first code that is not empty', () => {
  for (const [url, code] of [
    ['https://shop.example/?aff=anna', 'anna'],
    ['https://shop.example/a/b?x=1&aff=anna&y=2#top', 'anna'],
    ['https://shop.example?aff=anna%2Dsummer', 'anna-summer'],
    ['https://shop.example?%61ff=anna', 'anna'],
    ['https://shop.example?aff=a+b', 'a b'],
    ['https://shop.example?aff=&aff=anna&aff=ben', 'anna'],
    ['https://shop.example?aff=Anna', 'Anna'],
    ['https://shop.example/', undefined],
    ['https://shop.example/?aff', undefined],
    ['https://shop.example/?AFF=anna', undefined],
    ['https://shop.example/#?aff=anna', undefined],
    ['no address', undefined],
    ['', undefined],
    [undefined, undefined]
  ]) {
    assert.equal(partnerCode(url), code, String(url))
  }
})

for (const [host, domain] of [
  ['www.example.com', '.example.com'],
  ['a.b.c.example.com', '.example.com'],
  ['example.com', '.example.com'],
  ['shop.example.co.uk', '.example.co.uk'],
  ['ada.github.io', '.ada.github.io'],
  ['x.ada.github.io', '.ada.github.io'],
  ['github.io', 'github.io'],
  ['www.city.kobe.jp', '.city.kobe.jp'],
  ['a.b.c.kobe.jp', '.b.c.kobe.jp'],
  ['xn--mnchen-3ya.example.com', '.example.com'],
  ['intranet', 'intranet'],
  ['localhost', 'localhost'],
  ['127.0.0.1', '127.0.0.1'],
  ['[::1]', '[::1]']
]) {
  scene(`on https://${host} the browser keeps the cookies for ${domain}, and only on HTTPS`, async stage => {
    await stage.serveHttps()
    stage.pages({ src: 'https://track.service.test/js/tracker.js' })
    await stage.visit(`https://${host}/?aff=${stage.codes.ada}`)
    const cookies = await stage.context.cookies()
    assert.deepEqual(cookies.map(cookie => cookie.name).sort(), ['customer_code', 'tracker_aff_url', 'tracker_click_id'])
    for (const cookie of cookies) {
      assert.equal(cookie.domain, domain)
      assert.equal(cookie.secure, true)
    }
    await stage.visit(`https://${host}/?aff=${stage.codes.ada}`)
    assert.equal(stage.clicks.length, 1)
  })
}
