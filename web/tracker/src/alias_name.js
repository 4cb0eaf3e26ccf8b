// The other name under which a page loads the script, such as `acme` of `/js/acme-tracker.js`, and what the tag says under that name.
// Evaluated before the tracker, which reads the tag when it starts.

const script = document.currentScript

/** Lower-case letters and digits; undefined if the page loads another address. */
export const name = script?.src.match(/\/js\/([a-z0-9]+)-tracker\.js/)?.[1]

const attribute = what => script?.getAttribute(`data-${name}-${what}`)

export const debug = attribute('debug') == 'true'
export const programId = attribute('program-id') ?? script?.dataset.programId
export const consent = script?.dataset.consent

for (const [own, value] of [['programId', programId], ['apiHost', attribute('api-base')]]) {
  if (value) script.dataset[own] ??= value
}

/** The address for requests, as the tracker makes it. */
export const api = (script?.dataset.apiHost || script?.src.split('/js/')[0])?.replace(/\/$/, '') + '/api/v1/track/'
