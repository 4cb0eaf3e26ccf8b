// Follows referral links: reports a click once for each partner, stores the click_id of the answer, and reports
// signups with it.
//
// Steps run in sequence (`then`), and only with the visitor's consent. A request without an answer stays in the session storage and is
// retried once on the next page. Nothing throws into the page.

import { keep, read, remove } from './cookies.js'
import { partnerCode } from './partner.js'

const CLICK_ID = 'tracker_click_id'
const AFF_URL = 'tracker_aff_url'
const LEGACY_CLICK_ID = 'customer_code'
const COOKIES = [CLICK_ID, AFF_URL, LEGACY_CLICK_ID]
const UNANSWERED = 'tracker_request'

const start = () => {
  const script = document.currentScript
  const { apiHost, consent, programId, testMode } = script.dataset
  // Relative to the script, also behind a proxy.
  const api = (apiHost || script.src.split('/js/')[0]).replace(/\/$/, '') + '/api/v1/track/'
  const additional = testMode == null ? testMode : { test_mode: true, program_id: programId }

  let allowed = consent != 'required'
  let open

  /** Requests `[noun, body]`; undefined until loaded from storage. */
  let unanswered
  let here

  const clickId = () => read(CLICK_ID) || read(LEGACY_CLICK_ID)

  const remember = requests => {
    unanswered = requests
    try {
      if (requests[0]) sessionStorage[UNANSWERED] = JSON.stringify(requests)
      else delete sessionStorage[UNANSWERED]
    } catch {
      // Blocked or full: kept in memory only.
    }
  }

  const remembered = () => {
    try {
      return JSON.parse(sessionStorage[UNANSWERED])
    } catch {
      return []
    }
  }

  /** The service's answer; undefined without one, or without a request. `first`: it may be retried. */
  const send = async (request, first) => {
    try {
      const [noun, body] = request
      const id = clickId()
      if (body.affiliate_url) {
        if (id && partnerCode(body.affiliate_url) == partnerCode(read(AFF_URL))) return
        body.existing_click_id = id
      } else {
        body.click_id = id
      }
      if (first) remember([...unanswered, request])
      // Plain text needs no preflight, which would cost a round trip and is not sent while the page unloads.
      const response = await fetch(api + noun, {
        method: 'POST',
        body: JSON.stringify(body),
        keepalive: true,
        credentials: 'omit',
        signal: AbortSignal.timeout?.(9000)
      })
      if (/429|5../.test(response.status)) return
      const answer = await response.json()
      if (!allowed) return
      remember(unanswered.filter(other => other != request))
      if (answer.click_id) {
        for (const cookie of COOKIES) {
          keep(cookie, cookie == AFF_URL ? body.affiliate_url : answer.click_id, answer.cookie_window_days)
        }
      }
      return answer
    } catch {
      // Offline, blocked, too slow.
    }
  }

  let steps = new Promise(resolve =>
    // A prerendered page has no visitor yet.
    document.prerendering ? document.addEventListener('prerenderingchange', resolve) : resolve()
  )
  const then = step =>
    (steps = steps
      .then(async () => {
        while (!allowed) await new Promise(resolve => (open = resolve))
        return step()
      })
      .catch(() => {}))

  const visit = url => {
    // Without the fragment, which is private.
    [url] = url.split('#')
    if (url == here) return
    here = url
    return then(async () => {
      if (!read(CLICK_ID) && clickId()) keep(CLICK_ID, clickId(), 90)
      const again = unanswered || remembered()
      remember([])
      for (const request of again) await send(request)
      const code = partnerCode(url)
      if (code) {
        await send(['click', {
          // Truncated to what a cookie can hold when escaped; only the code matters.
          affiliate_url: url.length < 1000 ? url : location.origin + '/?aff=' + encodeURIComponent(code),
          page_url: text(url),
          page_title: text(document.title),
          referrer_url: text(document.referrer),
          screen_resolution: screen.width + 'x' + screen.height,
          viewport_size: innerWidth + 'x' + innerHeight,
          language: navigator.language,
          timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
          additional_data: additional
        }], true)
      }
    })
  }
  const follow = () => visit(location.href)

  const methods = {
    // Ignores unknown names.
    __proto__: null,

    signup: (customerKey, email) =>
      then(() => {
        const key = name(customerKey)
        if (key || clickId()) return send(['lead', { customer_key: key, email: name(email), additional_data: additional }], true)
      }),

    getClickId: () => (allowed && clickId()) || null,

    /** Settles when all queued steps are done. */
    consent: given => {
      allowed = given === true
      if (allowed) {
        open?.()
        return steps
      }
      COOKIES.forEach(remove)
      remember([])
    }
  }
  const tracker = Object.assign((method, ...args) => methods[method]?.(...args), methods)

  const stub = window.tracker
  window.__tracker = tracker
  // A page may already use this name.
  if (!stub || stub.q) window.tracker = tracker

  // A router may have replaced the address before the script was loaded.
  const landed = visit([location.href, performance.getEntriesByType('navigation')[0]?.name].find(partnerCode) || location.href)

  for (const method of ['pushState', 'replaceState']) {
    const original = history[method]
    history[method] = function (...args) {
      const result = original.apply(this, args)
      follow()
      return result
    }
  }
  addEventListener('popstate', follow)

  stub?.q?.forEach(args => tracker(...args))

  tracker.ready = Promise.resolve(allowed && landed).then(() =>
    dispatchEvent(new CustomEvent('tracker:ready', { detail: tracker }))
  )
}

/** Truncated to the service's limit, without splitting a character. */
const text = value => value.slice(0, 2000).replace(/[\ud800-\udfff]/gu, '')

/** Numbers are valid user ids; objects are mistakes. */
const name = value => (value && typeof value != 'object' ? '' + value : undefined)

try {
  // Only the first copy of the script runs.
  window.__tracker || start()
} catch {
  // The page works without us.
}
