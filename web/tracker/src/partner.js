/** The code by which a landing URL names its partner, read as the service reads it; undefined without one. */
export const partnerCode = url => {
  try {
    return new URL(url).searchParams.getAll('aff').find(Boolean)
  } catch {
    // No URL, no partner.
  }
}
