/** The partner's code in a landing URL, parsed as by the service; undefined without one. */
export const partnerCode = url => {
  try {
    return new URL(url).searchParams.getAll('aff').find(Boolean)
  } catch {
    // Not a URL.
  }
}
