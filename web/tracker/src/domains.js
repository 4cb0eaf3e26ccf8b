/**
 * The domains a page of this host may keep a cookie on, broadest first: of `shop.example.com` these are `com`, `example.com`
 * and `shop.example.com`; last the host alone, which is ''. Which of them belong to many sites, as `com`, `co.uk` or
 * `github.io` do, only the browser knows: there it takes no cookie.
 */
export const domains = hostname => [
  ...hostname.split('.').map((_, i, labels) => labels.slice(-1 - i).join('.')),
  ''
]
