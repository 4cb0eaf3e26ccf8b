// A mock of the two endpoints that the script calls: the same answers to the same bodies, in memory. `service.js` replaces it by the
// service itself.

const LINKS = new Map([
  ['ada', { days: 90 }],
  ['bruno', { days: 30 }],
  ['paused', { inactive: true }]
])

export class Mock {
  codes = { ada: 'ada', bruno: 'bruno', nobody: 'nobody', paused: 'paused' }
  programId = '1'
  /** By click_id. */
  customers = new Map()

  async answer(noun, body) {
    let fields
    try {
      fields = JSON.parse(body)
    } catch {
      return refused(400, 'Request body must be a valid JSON object')
    }
    // serde_json rejects a lone surrogate.
    if (/\\ud[89a-f]/.test(body)) return refused(400, 'Request body must be a valid JSON object')
    return noun == 'click' ? this.click(fields) : this.lead(fields)
  }

  click(fields) {
    if (!fields.affiliate_url) return refused(400, 'affiliate_url is required')
    let url
    try {
      url = new URL(fields.affiliate_url)
    } catch {
      return refused(400, 'Invalid affiliate_url')
    }
    const code = url.searchParams.getAll('aff').find(value => value)
    if (!code) return refused(400, 'No aff parameter found in affiliate_url')
    for (const [name, longest] of Object.entries(LONGEST)) {
      const value = fields[name]
      if (value == null) continue
      if (typeof value != 'string') return refused(400, `${name} must be a string`)
      if (Buffer.byteLength(value) > longest || value.includes('\0')) return refused(400, `${name} is too long`)
    }
    const link = LINKS.get(code)
    if (fields.additional_data?.test_mode) return tested('click', fields)
    if (!link) return refused(400, 'Referral link not found')
    if (link.inactive) {
      const error = { code: 'link_disabled', message: 'This referral link is turned off', hint: 'Ask the partner.' }
      return { status: 410, body: { success: false, message: error.message, error } }
    }
    const known = this.customers.get(fields.existing_click_id)
    const click_id = known ? fields.existing_click_id : this.newClickId()
    this.customers.set(click_id, { status: 'click', ...known, code })
    return { status: 200, body: { success: true, click_id, partner_code: code, cookie_window_days: link.days } }
  }

  lead(fields) {
    if (fields.additional_data?.test_mode) return tested('lead', fields)
    if (!fields.click_id && !fields.customer_key) return refused(400, 'click_id or customer_key is required')
    const byKey = [...this.customers.values()].filter(customer => customer.key && customer.key == fields.customer_key)
    const customer = this.customers.get(fields.click_id) ?? (byKey.length == 1 ? byKey[0] : undefined)
    if (!customer) return refused(400, 'Customer not found. Provide a valid click_id or customer_key.')
    if (customer.status != 'click') {
      return refused(400, `Customer status cannot be updated to lead. Current status: ${customer.status}`)
    }
    customer.status = 'lead'
    customer.key = fields.customer_key
    return { status: 200, body: { success: true, message: 'Lead tracked successfully' } }
  }

  newClickId() {
    return `cust_${Math.floor(Math.random() * 2 ** 53)}_${Date.now()}`
  }

  /** Whether a payment of this customer would be attributed to the partner of this code. */
  async pays(code, customerKey) {
    return [...this.customers.values()].some(customer => customer.key == customerKey && customer.code == code)
  }
}

const LONGEST = {
  page_url: 8192,
  page_title: 8192,
  referrer_url: 8192,
  screen_resolution: 255,
  viewport_size: 255,
  language: 255,
  timezone: 255,
  existing_click_id: 255
}

const refused = (status, message) => ({
  status,
  body: { data: null, error: { status, name: 'BadRequestError', message, details: {} } }
})

const tested = (noun, fields) => {
  const programId = Number(fields.additional_data.program_id)
  if (!programId) return refused(400, 'program_id is required')
  const message = `Test ${noun} event tracked successfully`
  return { status: 200, body: { success: true, message, data: { eventId: 1, programId, test_mode: true } } }
}
