/** The address partners share. Without a website of the program, an example is used. */
export function linkAddress(domain: string | null | undefined, shortCode: string): string {
  return `https://${domain ?? 'your-site.example'}/?aff=${encodeURIComponent(shortCode)}`;
}

/** A page of the shop with the partner's code in its address; `undefined` if the text is no address of a website. */
export function deepLink(page: string, shortCode: string): string | undefined {
  const text = page.trim();
  const full = /^[a-z]+:\/\//i.test(text) ? text : `https://${text}`;
  const address = URL.canParse(full) ? new URL(full) : undefined;
  if (!address || !/^https?:$/.test(address.protocol) || !/.\../.test(address.hostname)) return undefined;
  address.username = '';
  address.password = '';
  // The shop's own parameters stay as they are written: not every shop reads names and values from them.
  const others = address.search.slice(1).split('&').filter((part) => part && !/^aff(=|$)/.test(part));
  address.search = [...others, `aff=${encodeURIComponent(shortCode)}`].join('&');
  return address.href;
}

/** Whether an address is one of the program's website, whatever its subdomain. */
export function isOfWebsite(address: string, domain: string): boolean {
  const site = domain.replace(/^www\./, '');
  const { hostname } = new URL(address);
  return hostname === site || hostname.endsWith(`.${site}`);
}
