//! Requests of the funnel and of the dashboard.

use std::sync::Arc;

use super::load::Requests;
use super::market::{LINKS, Market, PROGRAMS, code};

/// The target of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// All programs, partners and links.
    Spread,
    /// One program with one partner.
    Hot,
}

/// `headers`: complete lines.
pub(super) fn post(path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: shop.example\r\n{headers}Content-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

/// Enough clients that none reaches its rate limit.
const CLIENTS: u64 = 156 * 156 * 156;

/// The address of a client, all of them of the same length.
fn client(number: u64) -> String {
    let [first, second, third] = [156 * 156, 156, 1].map(|weight| 100 + number % CLIENTS / weight % 156);
    format!("198.{first}.{second}.{third}")
}

/// A deterministic scattering of numbers below `bound`.
pub(super) fn scattered(number: u64, bound: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_right(29) % bound.max(1)
}

/// Clicks, each of a new client address.
pub(super) struct Clicks {
    pub(super) target: Target,
    /// The first client; different for each load of a run.
    pub(super) from: u64,
}

impl Requests for Clicks {
    fn request(&mut self, number: u64) -> String {
        let link = code(match self.target {
            Target::Spread => scattered(number, PROGRAMS * LINKS),
            Target::Hot => PROGRAMS * LINKS,
        });
        let headers = format!(
            "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\nX-Forwarded-For: {}\r\n",
            client(self.from + number)
        );
        let body = format!(
            r#"{{"affiliate_url":"https://shop.example/spring?aff={link}","page_url":"https://shop.example/spring","page_title":"Spring offers","referrer_url":"https://news.example/today","session_id":"s-0123456789abcdef","language":"en-GB","screen_resolution":"1920x1080","viewport_size":"1280x720","timezone":"Europe/London"}}"#
        );
        post("/api/v1/track/click", &headers, &body)
    }
}

/// Sales with unique ids, of all customers.
pub(super) struct Sales {
    market: Arc<Market>,
    target: Target,
    run: String,
}

impl Sales {
    /// `run`: unique for each load, part of the ids; at most five letters and digits.
    pub(super) fn new(market: &Arc<Market>, target: Target, run: &str) -> Self {
        Self {
            market: Arc::clone(market),
            target,
            run: format!("{run:0>5}"),
        }
    }

    fn transaction_id(&self, number: u64) -> String {
        format!("order-{}-{number:08}", self.run)
    }

    /// The customer_key of a sale, and the token of its program.
    fn customer(&self, number: u64) -> (String, &str) {
        let size = self.market.size;
        match self.target {
            Target::Spread => {
                let customer = scattered(number, size.customers);
                let token = self.market.token(Market::program_of(customer));
                (format!("c{customer:08}"), token)
            }
            Target::Hot => {
                let customer = scattered(number, size.hot_customers);
                (format!("h{customer:08}"), self.market.token(PROGRAMS))
            }
        }
    }
}

impl Requests for Sales {
    fn request(&mut self, number: u64) -> String {
        let (customer_key, token) = self.customer(number);
        let body = format!(
            r#"{{"transaction_id":"{}","amount_cents":4900,"currency":"USD","customer_key":"{customer_key}"}}"#,
            self.transaction_id(number)
        );
        post("/api/v1/track/sale", &authorization(token), &body)
    }
}

/// Refunds of sales.
pub(super) struct Refunds(pub(super) Sales);

impl Requests for Refunds {
    fn request(&mut self, number: u64) -> String {
        let (_, token) = self.0.customer(number);
        let body = format!(r#"{{"transaction_id":"{}"}}"#, self.0.transaction_id(number));
        post("/api/v1/track/refund", &authorization(token), &body)
    }
}

/// Leads, each of another visitor.
pub(super) struct Leads {
    market: Arc<Market>,
    from: u64,
}

impl Leads {
    /// `from`: the first of the visitors without a lead.
    pub(super) fn new(market: &Arc<Market>, from: u64) -> Self {
        let market = Arc::clone(market);
        Self { market, from }
    }
}

impl Requests for Leads {
    fn request(&mut self, number: u64) -> String {
        let visitor = (self.from + number) % self.market.size.visitors;
        let token = self.market.token(Market::program_of(visitor));
        let headers = format!("X-Forwarded-For: {}\r\n{}", client(visitor), authorization(token));
        let body = format!(r#"{{"customer_key":"v{visitor:08}","event_name":"signup"}}"#);
        post("/api/v1/track/lead", &headers, &body)
    }
}

/// Repeated reads of one page of the dashboard.
pub(super) struct Reads(String);

impl Reads {
    pub(super) fn new(path: &str, session: &str) -> Self {
        let headers = authorization(session);
        Self(format!(
            "GET {path} HTTP/1.1\r\nHost: shop.example\r\n{headers}\r\n"
        ))
    }
}

impl Requests for Reads {
    fn request(&mut self, _number: u64) -> String {
        self.0.clone()
    }
}

fn authorization(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::net::Ipv4Addr;

    use super::*;

    fn assert_parts(request: &str, parts: &[&str]) {
        for part in parts {
            assert!(request.contains(part), "{part} in {request}");
        }
    }

    #[test]
    fn each_request_has_its_body_and_its_credential() {
        let market = Arc::new(Market::of_test());
        let sales = |target| Sales::new(&market, target, "7");
        let customer = scattered(9, 5000);
        let token = format!("Bearer aff_{:03}\r\n", Market::program_of(customer));
        let key = format!(r#""customer_key":"c{customer:08}"}}"#);
        let sale = sales(Target::Spread).request(9);
        assert_parts(&sale, &[r#""order-00007-00000009""#, &key, &token]);
        let refund = Refunds(sales(Target::Spread)).request(9);
        let body = r#"{"transaction_id":"order-00007-00000009"}"#;
        assert_parts(&refund, &[body, &token, "Content-Length: 41\r\n"]);
        let hot = sales(Target::Hot).request(12);
        assert_parts(&hot, &["Bearer aff_064\r\n", r#""customer_key":"h0000000"#]);
        let lead = Leads::new(&market, 40).request(2);
        assert_parts(&lead, &[r#"{"customer_key":"v00000042","#, "aff_002"]);
    }

    #[test]
    fn clicks_spread_over_links_and_clients() {
        let clicks = |target| Clicks { target, from: 0 };
        let [one, other] = [1, 2].map(|number| clicks(Target::Spread).request(number));
        assert_ne!(one, other);
        assert!(one.contains("198.100.100.101") && other.contains("198.100.100.102"));
        assert_parts(&clicks(Target::Hot).request(1), &["aff=b01024"]);
        let numbers = [0, 1, 155, 156, 157, CLIENTS - 1];
        let addresses = numbers.map(|number| client(number).parse::<Ipv4Addr>().unwrap());
        assert_eq!(BTreeSet::from(addresses).len(), numbers.len());
    }

    #[test]
    fn scattered_numbers_stay_in_bounds() {
        assert!((0..1000).all(|number| scattered(number, 7) < 7));
        let hit: BTreeSet<_> = (0..1000).map(|number| scattered(number, 100)).collect();
        assert!(hit.len() > 90);
    }
}
