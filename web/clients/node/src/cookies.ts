const COOKIE = 'tracker_click_id';
/** The older name, which scripts installed long ago write alone. */
const OLDER_COOKIE = 'customer_code';

/** The visitor's click id, from the `Cookie` header or an object of cookies; undefined for visitors without a partner's link. */
export function clickIdFrom(cookies: string | null | undefined | Record<string, string | undefined>): string | undefined {
  const named = typeof cookies === 'string' ? fromHeader(cookies) : (cookies ?? {});
  return named[COOKIE] || named[OLDER_COOKIE] || undefined;
}

function fromHeader(header: string): Record<string, string | undefined> {
  const named: Record<string, string | undefined> = {};
  for (const pair of header.split(';')) {
    const [name = '', ...value] = pair.split('=');
    named[name.trim()] ??= unescaped(value.join('=').trim().replace(/^"(.*)"$/, '$1'));
  }
  return named;
}

function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
