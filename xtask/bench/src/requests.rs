//! Requests of the funnel and of the dashboard.

use super::load::Requests;
use super::market::{LINKS, Market, PROGRAMS, code};
use super::template::{CLIENT, CLIENTS, Slot, Template, scattered, set_client};

/// The target of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// All programs, partners and links.
    Spread,
    /// One program with one partner.
    Hot,
}

const BROWSER: &str = "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n\
                       X-Forwarded-For: 198.100.100.100\r\n";

/// Clicks, each of a new client address.
pub(super) struct Clicks {
    template: Template,
    client: Slot,
    link: Slot,
    target: Target,
    /// The first client; different for each load of a run.
    from: u64,
}

impl Clicks {
    pub(super) fn new(target: Target, from: u64) -> Self {
        let hot = code(PROGRAMS * LINKS);
        let body = format!(
            r#"{{"affiliate_url":"https://shop.example/spring?aff={hot}","page_url":"https://shop.example/spring","page_title":"Spring offers","referrer_url":"https://news.example/today","session_id":"s-0123456789abcdef","language":"en-GB","screen_resolution":"1920x1080","viewport_size":"1280x720","timezone":"Europe/London"}}"#
        );
        let template = Template::post("/api/v1/track/click", BROWSER, &body);
        Self {
            client: template.slot(CLIENT),
            link: template.slot(hot.trim_start_matches('b')),
            template,
            target,
            from,
        }
    }
}

impl Requests for Clicks {
    fn bytes(&mut self, number: u64) -> &[u8] {
        set_client(&mut self.template, self.client, (self.from + number) % CLIENTS);
        if self.target == Target::Spread {
            let link = scattered(number, PROGRAMS * LINKS);
            self.template.set_number(self.link, link);
        }
        self.template.bytes()
    }
}

const NUMBER: &str = "00000000";

/// Sales with unique ids, of all customers, or their refunds.
pub(super) struct Sales<'a> {
    template: Template,
    id: Slot,
    /// Not in a refund.
    customer: Slot,
    token: Slot,
    market: &'a Market,
    target: Target,
}

impl<'a> Sales<'a> {
    /// `run`: unique for each load, part of the ids; at most five letters and digits.
    pub(super) fn new(market: &'a Market, target: Target, run: &str) -> Self {
        let letter = match target {
            Target::Spread => 'c',
            Target::Hot => 'h',
        };
        let customer = format!("{letter}{NUMBER}");
        let body = format!(
            r#"{{"transaction_id":"order-{run:0>5}-{NUMBER}","amount_cents":4900,"currency":"USD","customer_key":"{customer}"}}"#
        );
        let sales = Self::of("/api/v1/track/sale", &body, market, target);
        let customer = sales.template.slot(&format!("{customer}\"}}"));
        Self {
            customer: customer.inner(1, NUMBER.len()),
            ..sales
        }
    }

    /// Refunds of the sales with the same market, target and run.
    pub(super) fn refunds(market: &'a Market, target: Target, run: &str) -> Self {
        let body = format!(r#"{{"transaction_id":"order-{run:0>5}-{NUMBER}"}}"#);
        Self::of("/api/v1/track/refund", &body, market, target)
    }

    fn of(path: &str, body: &str, market: &'a Market, target: Target) -> Self {
        let token = market.token(PROGRAMS);
        let template = Template::post(path, &format!("Authorization: Bearer {token}\r\n"), body);
        Self {
            id: template.slot(NUMBER),
            customer: Slot::default(),
            token: template.slot(token),
            template,
            market,
            target,
        }
    }
}

impl Requests for Sales<'_> {
    fn bytes(&mut self, number: u64) -> &[u8] {
        self.template.set_number(self.id, number);
        let size = self.market.size;
        let customer = match self.target {
            Target::Spread => scattered(number, size.customers),
            Target::Hot => scattered(number, size.hot_customers),
        };
        self.template.set_number(self.customer, customer);
        if self.target == Target::Spread {
            let token = self.market.token(Market::program_of(customer));
            self.template.set_text(self.token, token);
        }
        self.template.bytes()
    }
}

/// Leads, each of another visitor.
pub(super) struct Leads<'a> {
    template: Template,
    customer: Slot,
    token: Slot,
    client: Slot,
    market: &'a Market,
    from: u64,
}

impl<'a> Leads<'a> {
    /// `from`: the first of the visitors without a lead.
    pub(super) fn new(market: &'a Market, from: u64) -> Self {
        let token = market.token(PROGRAMS);
        let body = format!(r#"{{"customer_key":"v{NUMBER}","event_name":"signup"}}"#);
        let headers = format!("X-Forwarded-For: {CLIENT}\r\nAuthorization: Bearer {token}\r\n");
        let template = Template::post("/api/v1/track/lead", &headers, &body);
        Self {
            customer: template.slot(NUMBER),
            token: template.slot(token),
            client: template.slot(CLIENT),
            template,
            market,
            from,
        }
    }
}

impl Requests for Leads<'_> {
    fn bytes(&mut self, number: u64) -> &[u8] {
        let customer = (self.from + number) % self.market.size.visitors;
        self.template.set_number(self.customer, customer);
        set_client(&mut self.template, self.client, customer % CLIENTS);
        let token = self.market.token(Market::program_of(customer));
        self.template.set_text(self.token, token);
        self.template.bytes()
    }
}

/// Repeated reads of one page of the dashboard.
pub(super) struct Reads(Template);

impl Reads {
    pub(super) fn new(path: &str, session: &str) -> Self {
        Self(Template::get(
            path,
            &format!("Authorization: Bearer {session}\r\n"),
        ))
    }
}

impl Requests for Reads {
    fn bytes(&mut self, _number: u64) -> &[u8] {
        self.0.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn market() -> Market {
        Market {
            size: super::super::market::Size {
                customers: 5000,
                hot_customers: 10,
                visitors: 100,
            },
            workspace_id: 1,
            program_ids: Vec::new(),
            tokens: (0..=PROGRAMS)
                .map(|program| format!("aff_{program:03}"))
                .collect(),
        }
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[test]
    fn a_sale_comes_with_the_key_of_its_customers_program() {
        let market = market();
        let mut sales = Sales::new(&market, Target::Spread, "7");
        for number in [0, 1, 999] {
            let customer = scattered(number, 5000);
            let request = text(sales.bytes(number));
            assert!(
                request.contains(&format!(r#""customer_key":"c{customer:08}"}}"#)),
                "{request}"
            );
            assert!(
                request.contains(&format!(r#""order-00007-{number:08}""#)),
                "{request}"
            );
            let program = Market::program_of(customer);
            assert!(
                request.contains(&format!("Bearer aff_{program:03}\r\n")),
                "{request}"
            );
        }
    }

    #[test]
    fn a_hot_sale_is_always_the_same_programs() {
        let market = market();
        let request = text(Sales::new(&market, Target::Hot, "x").bytes(12));
        assert!(
            request.contains("Bearer aff_064\r\n") && request.contains(r#""customer_key":"h0000000"#),
            "{request}"
        );
    }

    #[test]
    fn a_refund_is_of_the_sale_with_its_number() {
        let market = market();
        let of = |mut sales: Sales<'_>| text(sales.bytes(9));
        let sale = of(Sales::new(&market, Target::Spread, "7"));
        let refund = of(Sales::refunds(&market, Target::Spread, "7"));
        let key = |request: &str| {
            request
                .lines()
                .find(|line| line.starts_with("Auth"))
                .map(str::to_owned)
        };
        assert_eq!(key(&refund), key(&sale));
        assert!(
            refund.ends_with(r#"{"transaction_id":"order-00007-00000009"}"#),
            "{refund}"
        );
    }

    #[test]
    fn clicks_spread_over_links_and_clients() {
        let mut clicks = Clicks::new(Target::Spread, 0);
        let (one, other) = (text(clicks.bytes(1)), text(clicks.bytes(2)));
        assert_ne!(one, other);
        assert!(one.contains("198.100.100.101") && other.contains("198.100.100.102"));
        assert!(text(Clicks::new(Target::Hot, 0).bytes(1)).contains("aff=b01024"));
    }

    #[test]
    fn leads_name_customers_in_order() {
        let market = market();
        let request = text(Leads::new(&market, 40).bytes(2));
        assert!(
            request.contains(r#"{"customer_key":"v00000042","#) && request.contains("aff_002"),
            "{request}"
        );
    }
}
