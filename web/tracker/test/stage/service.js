// A running service at TRACKER_API, in place of the mock. Its program is the demo program of `cargo xtask dev`, described by the variables of
// `.dev/env`.

import { randomUUID } from 'node:crypto'

const BASE = process.env.TRACKER_API?.replace(/\/$/, '')

export const isReal = Boolean(BASE)

export class Service {
  codes = { ada: required('DEMO_AFF_A'), bruno: required('DEMO_AFF_B'), nobody: 'no-such-link' }
  programId = required('DEMO_PROGRAM_ID')
  // Its own address, so that tests do not share rate limits.
  address = `198.18.${byte()}.${byte()}`

  async answer(noun, body, headers) {
    return this.post(noun, body, {
      'content-type': headers['content-type'] ?? '',
      'user-agent': headers['user-agent'],
      'x-forwarded-for': this.address
    })
  }

  /** Whether a payment of this customer is attributed. The answer does not name the partner. */
  async pays(_, customerKey) {
    const sale = { transaction_id: `tracker-${randomUUID()}`, amount_cents: 1000, customer_key: customerKey }
    const headers = { authorization: `Bearer ${required('DEMO_API_KEY')}` }
    const { status, body } = await this.post('sale', JSON.stringify(sale), headers)
    return status == 200 && Number.isInteger(body.commission_id)
  }

  async script() {
    return Buffer.from(await (await fetch(`${BASE}/js/tracker.js`)).arrayBuffer())
  }

  async clicksToday() {
    const answer = await fetch(`${BASE}/api/v1/cli/status`, {
      headers: { authorization: `Bearer ${required('DEMO_API_KEY')}` }
    })
    return (await answer.json()).data.recent_events.clicks_24h
  }

  async post(noun, body, headers) {
    const answer = await fetch(`${BASE}/api/v1/track/${noun}`, { method: 'POST', body, headers })
    return {
      status: answer.status,
      body: await answer.json(),
      headers: { 'access-control-allow-origin': answer.headers.get('access-control-allow-origin') ?? 'missing' }
    }
  }
}

function required(name) {
  const value = process.env[name]
  if (!value && isReal) throw new Error(`TRACKER_API needs ${name} too: source .dev/env`)
  return value
}

function byte() {
  return Math.floor(Math.random() * 256)
}
