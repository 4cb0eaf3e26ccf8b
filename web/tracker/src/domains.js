/**
 * The domains a page of this host may set a cookie on, broadest first: of `shop.example.com` these are `com`, `example.com`
 * and `shop.example.com`; last the host alone, which is ''. Only the browser knows public suffixes such as `com`, `co.uk` or
 * `github.io`, and rejects cookies on them.
 */
export const domains = hostname => [
  ...hostname.split('.').map((_, i, labels) => labels.slice(-1 - i).join('.')),
  ''
]
