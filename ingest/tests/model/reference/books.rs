//! The expected content of the tables.

use serde_json::{Value, json};

use super::{Click, Commission, Reference, Sold};
use crate::calls::{LINKS, PARTNERS};

impl Reference {
    /// The expected content of the tables.
    pub fn books(&self) -> Value {
        let mut books = json!({ "customers": {}, "sales": {}, "balances": {}, "links": {}, "events": {} });
        for customer in &self.customers {
            let bought = self.sales.iter().filter(|sold| sold.customer == customer.number);
            let mut last = self
                .clicks
                .iter()
                .filter(|click| click.customer == customer.number)
                .collect::<Vec<_>>();
            last.sort_by_key(|click| (click.at, click.link));
            books["customers"][format!("click_id {}", customer.number)] = json!({
                "program": customer.program,
                "status": customer.status,
                "key": customer.key.map(|key| format!("user {key}")),
                "proposed": customer.proposed.map(|key| format!("user {key}")),
                "signup": customer.signup,
                "first_purchase": bought.map(|sold| sold.at).min(),
                "first_click": self.first_click(customer.number).at,
                "last_link": format!("{} {}", LINKS[last.last().unwrap().link], customer.program),
            });
        }
        for sold in &self.sales {
            books["sales"][sold.transaction.to_string()] = sale_books(sold);
        }
        for balance in self.balances.iter().filter(|balance| balance.cents != 0) {
            let name = format!(
                "{} {} {}",
                PARTNERS[balance.partner], balance.program, balance.currency
            );
            books["balances"][name] = balance.cents.into();
        }
        for program in 0..self.programs.len() {
            for (link, code) in LINKS.iter().enumerate() {
                let through = |click: &&Click| click.program == program && click.link == link;
                let clicks = || self.clicks.iter().filter(through);
                books["links"][format!("{code} {program}")] = json!({ "clicks": clicks().count(), "last_clicked": clicks().map(|click| click.at).max() });
            }
            let leads = |provisional| {
                let of_program = self.leads.iter().filter(|lead| lead.program == program);
                of_program.filter(|lead| lead.provisional == provisional).count()
            };
            let tests = |noun| self.tests.iter().filter(|test| **test == (program, noun)).count();
            books["events"][program.to_string()] = json!({
                "clicks": self.clicks.iter().filter(|click| click.program == program).count(),
                "leads": leads(false),
                "provisional leads": leads(true),
                "test clicks": tests("click"),
                "test leads": tests("lead"),
                "test sales": tests("sale"),
            });
        }
        books
    }
}

fn sale_books(sold: &Sold) -> Value {
    let commission = |commission: &Commission| {
        json!({
            "link": format!("{} {}", LINKS[commission.link], sold.program),
            "amount": commission.amount,
            "currency": commission.currency,
            "deducted": commission.deducted,
            "status": commission.status,
            "reason": commission.reason,
            "paid": commission.paid,
        })
    };
    json!({
        "program": sold.program,
        "customer": format!("click_id {}", sold.customer),
        "amount": sold.amount,
        "currency": sold.currency,
        "subscription": sold.subscription.map(|name| format!("sub {name}")),
        "is_recurring": sold.is_recurring,
        "at": sold.at,
        "refunded": sold.refunded,
        "refunds": sold.refunds.len(),
        "commissions": sold.commissions.iter().map(commission).collect::<Vec<_>>(),
    })
}
