//! A second implementation of the contract, as plain as possible: lists, loops, one call after the other. It
//! is not fast, and shares no rules with the service.

mod answers;
mod books;
mod by_hand;
mod sales;
mod test_mode;

use serde_json::{Value, json};

use self::answers::{answered, duplicate, link_refusal, refused};

use super::calls::{Attribution, Call, DAY, LINKS, Terms, What, Who};
use super::refusals;

/// A click_id in a call: that of the customer whom the call with this number created, or one of no customer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quoted {
    Of(usize),
    Forged,
}

/// An answer, with ids replaced by the reference's names.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    pub status: u16,
    pub body: Value,
}

/// The state after some calls. Times are milliseconds since 1970.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    programs: [Terms; 2],
    customers: Vec<Customer>,
    clicks: Vec<Click>,
    leads: Vec<Lead>,
    sales: Vec<Sold>,
    subscriptions: Vec<Subscription>,
    balances: Vec<Balance>,
    /// Program and kind.
    tests: Vec<(usize, &'static str)>,
}

#[derive(Debug, Clone, PartialEq)]
struct Customer {
    /// The number of the call that created the customer.
    number: usize,
    program: usize,
    status: &'static str,
    key: Option<usize>,
    /// The lead came from a browser only.
    from_browser: bool,
    proposed: Option<usize>,
    signup: Option<i64>,
}

#[derive(Debug, Clone, PartialEq)]
struct Click {
    customer: usize,
    program: usize,
    link: usize,
    at: i64,
}

#[derive(Debug, Clone, PartialEq)]
struct Lead {
    program: usize,
    provisional: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Sold {
    transaction: usize,
    program: usize,
    customer: usize,
    amount: i64,
    currency: &'static str,
    subscription: Option<usize>,
    is_recurring: bool,
    at: i64,
    refunded: i64,
    refunds: Vec<String>,
    commissions: Vec<Commission>,
}

#[derive(Debug, Clone, PartialEq)]
struct Commission {
    partner: usize,
    link: usize,
    amount: i64,
    currency: &'static str,
    deducted: i64,
    status: &'static str,
    reason: Option<&'static str>,
    paid: bool,
}

/// What a program owes a partner in one currency.
#[derive(Debug, Clone, PartialEq)]
struct Balance {
    partner: usize,
    program: usize,
    currency: &'static str,
    cents: i64,
    /// The amount that was refunded after its payout, and not withheld since.
    debt: i64,
}

#[derive(Debug, Clone, PartialEq)]
struct Subscription {
    program: usize,
    name: usize,
    first_payment: i64,
    first_click: i64,
    links: Vec<usize>,
}

impl Reference {
    pub fn new(programs: [Terms; 2]) -> Self {
        Self {
            programs,
            customers: Vec::new(),
            clicks: Vec::new(),
            leads: Vec::new(),
            sales: Vec::new(),
            subscriptions: Vec::new(),
            balances: Vec::new(),
            tests: Vec::new(),
        }
    }

    /// The possible states after a call at `at`. There is one, unless another sale of the same transaction is
    /// in flight (`contended`): then this call may also be answered as a duplicate, whatever the outcome of
    /// the other.
    pub fn after(
        &self,
        number: usize,
        call: &Call<Quoted>,
        at: i64,
        contended: bool,
    ) -> Vec<(Self, Answered)> {
        let mut next = self.clone();
        let answered = next.take(number, call, at);
        next.sort();
        let mut possible = vec![(next, answered)];
        if contended && matches!(call.who, Who::Program(_)) {
            possible.push((self.clone(), duplicate()));
        }
        possible
    }

    /// The end of the attribution window of the customer whom this call created.
    pub fn end_of_window(&self, number: usize) -> Option<i64> {
        let customer = self.customers.iter().find(|customer| customer.number == number)?;
        Some(self.first_click(number).at + self.programs[customer.program].window_days * DAY)
    }

    /// The number of real clicks so far.
    pub fn clicks(&self) -> usize {
        self.clicks.len()
    }

    /// Sorts lists whose order does not matter, so that equal states compare as equal.
    fn sort(&mut self) {
        self.customers.sort_by_key(|customer| customer.number);
        self.clicks
            .sort_by_key(|click| (click.at, click.link, click.customer));
        self.leads.sort_by_key(|lead| (lead.program, lead.provisional));
        self.sales.sort_by_key(|sold| sold.transaction);
        for sold in &mut self.sales {
            sold.refunds.sort();
        }
        self.balances
            .sort_by_key(|balance| (balance.program, balance.partner, balance.currency));
        self.tests.sort_unstable();
    }

    fn take(&mut self, number: usize, call: &Call<Quoted>, at: i64) -> Answered {
        match &call.what {
            What::Click {
                program,
                link,
                existing,
            } => self.click(number, *program, *link, *existing, at),
            What::Lead { click, key } => self.lead(call.who, *click, *key, at),
            What::Sale(sale) => self.sale(call.who, sale, at),
            What::Refund(refund) => self.refund(call.who, refund),
            What::Test { kind, named } => self.test(call.who, *kind, *named),
            What::Refused(place) => refused(400, &refusals::all()[*place].message),
        }
    }

    fn click(
        &mut self,
        number: usize,
        program: usize,
        link: usize,
        existing: Option<Quoted>,
        at: i64,
    ) -> Answered {
        if let Some(refusal) = link_refusal(link) {
            return refusal;
        }
        let known = existing.and_then(|quoted| self.by_click(quoted));
        let customer = match known {
            Some(customer) if customer.program == program => customer.number,
            _ => {
                self.customers.push(Customer {
                    number,
                    program,
                    status: "click",
                    key: None,
                    from_browser: false,
                    proposed: None,
                    signup: None,
                });
                number
            }
        };
        self.clicks.push(Click {
            customer,
            program,
            link,
            at,
        });
        answered(json!({
            "success": true,
            "click_id": format!("click_id {customer}"),
            "partner_code": format!("{} {program}", LINKS[link]),
            "cookie_window_days": 90,
        }))
    }

    fn lead(&mut self, who: Who, click: Option<Quoted>, key: Option<usize>, at: i64) -> Answered {
        if who == Who::UnknownToken {
            return refused(401, "Invalid API token");
        }
        if click.is_none() && key.is_none() {
            return refused(400, "click_id or customer_key is required");
        }
        let server = match who {
            Who::Program(program) => Some(program),
            _ => None,
        };
        let not_found = || {
            refused(
                400,
                "Customer not found. Provide a valid click_id or customer_key.",
            )
        };
        let Some((place, loser)) = self.resolve(server, click, key) else {
            return not_found();
        };
        let status = self.status_at(place, at);
        let customer = &mut self.customers[place];
        if server.is_some_and(|program| program != customer.program) {
            return refused(400, "Customer does not belong to this program");
        }
        let is_proven = server.is_some() || click == Some(Quoted::Of(customer.number));
        if status != "click" && !is_proven {
            return not_found();
        }
        if status != "click" {
            if loser.is_some() {
                self.bind(place, key, true, loser);
            }
            return refused(
                400,
                &format!("Customer status cannot be updated to lead. Current status: {status}"),
            );
        }
        let provisional = server.is_none() && self.programs[customer.program].backends_word;
        self.leads.push(Lead {
            program: customer.program,
            provisional,
        });
        if provisional {
            if customer.key.is_none() && key.is_some() {
                customer.proposed = key;
            }
            return answered(
                json!({ "success": true, "provisional": true, "message": "Lead tracked successfully" }),
            );
        }
        if customer.status == "click" {
            customer.status = "lead";
        }
        customer.signup = Some(at);
        let vouched = server.is_some() && self.is_of(click, place);
        self.bind(place, key, vouched, loser);
        answered(json!({ "success": true, "message": "Lead tracked successfully" }))
    }

    /// A lead may be recorded after a sale that happened later than the lead was sent.
    fn status_at(&self, place: usize, at: i64) -> &'static str {
        let customer = &self.customers[place];
        let mut bought = self
            .sales
            .iter()
            .filter(|sold| sold.customer == customer.number)
            .map(|sold| sold.at);
        match (customer.status, customer.signup) {
            ("conversion", None) if bought.all(|bought_at| at < bought_at) => "click",
            ("conversion", Some(_)) if bought.all(|bought_at| at < bought_at) => "lead",
            (status, _) => status,
        }
    }

    /// Resolves the customer: by key, then by click_id. If neither finds one, a backend gets the customer for
    /// whom the key was proposed, and a browser gets the customer of any program with the key, in both cases
    /// only if a single customer matches. If a backend names a key that only a browser bound, together with
    /// another click of its program, it means the customer of that click, and the other customer loses the
    /// key.
    fn resolve(
        &self,
        server: Option<usize>,
        click: Option<Quoted>,
        key: Option<usize>,
    ) -> Option<(usize, Option<usize>)> {
        let clicked = click.and_then(|quoted| self.by_click(quoted));
        let program = server.or(clicked.map(|customer| customer.program));
        let keyed = |customer: &&Customer| key.is_some() && customer.key == key;
        let of_program = |customer: &&Customer| Some(customer.program) == program;
        let proposed = |customer: &&Customer| key.is_some() && customer.proposed == key;
        let all = || self.customers.iter();
        let found = all()
            .filter(of_program)
            .find(keyed)
            .or(clicked)
            .or_else(|| match server {
                Some(_) => only(all().filter(of_program).filter(proposed)),
                None => only(all().filter(keyed)),
            })?;
        let place = |number: usize| all().position(|customer| customer.number == number);
        let by_key = all().filter(of_program).find(keyed);
        let loser = by_key.filter(|holder| server.is_some() && holder.from_browser);
        let other = clicked.filter(of_program);
        if let (Some(loser), Some(other)) = (loser, other)
            && loser.number != other.number
        {
            return Some((place(other.number)?, place(loser.number)));
        }
        Some((place(found.number)?, None))
    }

    fn is_of(&self, click: Option<Quoted>, place: usize) -> bool {
        let clicked = click.and_then(|quoted| self.by_click(quoted));
        clicked.is_some_and(|clicked| clicked.number == self.customers[place].number)
    }

    fn by_click(&self, quoted: Quoted) -> Option<&Customer> {
        let Quoted::Of(number) = quoted else {
            return None;
        };
        self.customers.iter().find(|customer| customer.number == number)
    }

    /// A bound key stays, unless only a browser bound it. A backend that names the click and the key has the
    /// last word.
    fn bind(&mut self, place: usize, key: Option<usize>, vouched: bool, loser: Option<usize>) {
        if let Some(loser) = loser {
            self.customers[loser].key = None;
            self.customers[loser].from_browser = false;
        }
        let customer = &mut self.customers[place];
        if customer.key.is_none() && key.is_some() {
            customer.key = key;
            customer.proposed = None;
            customer.from_browser = !vouched;
        } else if key.is_some() && customer.key == key && vouched {
            customer.from_browser = false;
        }
    }

    fn first_click(&self, customer: usize) -> &Click {
        let of_customer = self.clicks.iter().filter(|click| click.customer == customer);
        of_customer.min_by_key(|click| (click.at, click.link)).unwrap()
    }

    /// Links by their latest click.
    fn credited(&self, program: usize, customer: usize) -> Vec<usize> {
        let mut of_customer: Vec<&Click> = self
            .clicks
            .iter()
            .filter(|click| click.customer == customer)
            .collect();
        of_customer.sort_by_key(|click| (click.at, click.link));
        let mut links: Vec<usize> = Vec::new();
        for click in of_customer {
            links.retain(|link| *link != click.link);
            links.push(click.link);
        }
        match self.programs[program].attribution {
            Attribution::LastClick => links.split_off(links.len() - 1),
            Attribution::FirstClick => vec![self.first_click(customer).link],
            Attribution::Linear => links,
        }
    }
}

fn only<'a>(mut customers: impl Iterator<Item = &'a Customer>) -> Option<&'a Customer> {
    customers.next().filter(|_| customers.next().is_none())
}
