// First-party cookies, on the broadest possible domain, so that all subdomains of a site share them. If they are blocked, values are
// kept in memory.

import { domains } from './domains.js'

const memory = {}

/** Throws in a frame without cookies. */
const write = (name, value, seconds, domain) =>
  (document.cookie =
    name + '=' + value + ';path=/;samesite=lax;max-age=' + seconds +
    (domain && ';domain=' + domain) +
    (location.protocol == 'https:' ? ';secure' : ''))

export const read = name => {
  try {
    return decodeURIComponent(document.cookie.match('(?:^|; )' + name + '=([^;]*)')[1])
  } catch {
    // Blocked, missing, or not ours.
    return memory[name]
  }
}

/** Deletes it from every possible domain: of two cookies with one name, one would hide the other. */
export const remove = name => keep(name, '', 0)

export const keep = (name, value, days) => {
  memory[name] = value
  try {
    for (const domain of domains(location.hostname)) write(name, '', 0, domain)
    const before = document.cookie
    domains(location.hostname).find(domain => {
      write(name, encodeURIComponent(value), days * 86400, domain)
      return document.cookie != before
    })
  } catch {
    // Kept in memory.
  }
}
