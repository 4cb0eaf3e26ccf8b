// The script under another name, for pages whose tag, loader or calls are those of a service they used before: a global and a queue of that
// name, with the methods that published loaders call. Everything else is the tracker's.
//
// The global exists when the script's `load` event is fired: loaders look for it then.

import { api, consent, debug, name, programId } from './alias_name.js'
import { read } from './cookies.js'
import './tracker.js'

const start = () => {
  const tracker = window.__tracker
  const { getClickId, signup } = tracker

  const methods = {
    // Ignores unknown names.
    __proto__: null,

    init: options => {
      if (options?.programId) alias.programId = Number(options.programId)
      if (options?.debug != null) alias.debugMode = !!options.debug
    },

    signup,
    getClickId,

    trackLead: lead => signup(lead?.customer_key ?? lead?.user_id, lead?.email),

    /** The tracker reports clicks by itself: this waits for the landing's. */
    trackClick: async () => {
      await tracker.ready
      return getClickId()
    },

    /** A test event, which is not counted; none where consent may be missing. */
    trackTest: async test => {
      if (consent == 'required') return
      try {
        await fetch(api + (test?.step_id == 'referrals' ? 'lead' : 'click'), {
          method: 'POST',
          credentials: 'omit',
          body: JSON.stringify({
            affiliate_url: location.origin + '/?aff=test',
            customer_key: test?.customer_key,
            additional_data: { test_mode: true, program_id: alias.programId }
          })
        })
      } catch {
        // Offline or blocked.
      }
    },

    getData: () => ({
      clickId: getClickId(),
      programId: alias.programId,
      hasAttribution: !!getClickId(),
      affiliateUrl: alias.affiliateUrl
    })
  }

  const alias = Object.assign({
    loaded: true,
    debugMode: debug,
    programId: Number(programId) || null,
    get clickId() {
      return getClickId()
    },
    get customerCode() {
      return getClickId()
    },
    get affiliateUrl() {
      return (getClickId() && read('tracker_aff_url')) || null
    },
    get hasAffiliateAttribution() {
      return !!getClickId()
    }
  }, methods)

  const call = entry => {
    try {
      const [method, ...args] = entry
      methods[method]?.(...args)
    } catch {
      // Not a call.
    }
  }

  const theirs = window[name]
  // A page may already use this name. An element with this id does not.
  if (theirs && !theirs.nodeType) return
  window[name] = alias
  const queue = window[name + 'Queue']
  window[name + 'Queue'] = { push: (...calls) => calls.forEach(call) }
  if (Array.isArray(queue)) queue.forEach(call)
}

try {
  if (name) start()
} catch {
  // The page works without us.
}
