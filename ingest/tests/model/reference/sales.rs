//! Sales and their commissions, refunds, payouts.

use chrono::{DateTime, Months};
use serde_json::json;

use super::answers::{answered, credential, dollars, duplicate, refused, sale_answer};
use super::{Answered, Balance, Commission, Quoted, Reference, Sold, Subscription};
use crate::calls::{DAY, Due, OWNERS, PRO, Rate, Refund, Sale, Who};

impl Reference {
    pub fn sale(&mut self, who: Who, sale: &Sale<Quoted>, at: i64) -> Answered {
        let program = match credential(who, "Missing API token") {
            Ok(program) => program,
            Err(refusal) => return refusal,
        };
        if self.sales.iter().any(|sold| sold.transaction == sale.transaction) {
            return duplicate();
        }
        let Some((place, loser)) = self.resolve(Some(program), sale.click, sale.key) else {
            return refused(400, "Customer not found. Provide customer_key or click_id.");
        };
        let customer = self.customers[place].clone();
        if customer.program != program {
            return refused(
                400,
                "No affiliate attribution found for this customer in this program",
            );
        }
        let subscription = self
            .subscriptions
            .iter()
            .find(|known| known.program == program && Some(known.name) == sale.subscription)
            .cloned();
        let renewed = subscription.clone().filter(|_| sale.is_recurring);
        let first_click = renewed
            .as_ref()
            .map_or(self.first_click(customer.number).at, |known| known.first_click);
        let window_days = self.programs[program].window_days;
        if at - first_click > window_days * DAY {
            if loser.is_some() {
                self.bind(place, sale.key, true, loser);
            }
            return answered(json!({
                "success": true,
                "attributed": false,
                "reason": "attribution_window_expired",
                "click_age_days": (at - first_click) / DAY,
                "window_days": window_days,
                "sale_id": null,
                "commission_id": null,
            }));
        }
        let links = renewed.map_or_else(|| self.credited(program, customer.number), |known| known.links);
        let (commissions, nothing_due) =
            self.commissions(program, customer.number, sale, subscription.as_ref(), &links, at);
        for commission in &commissions {
            self.balance(program, commission).cents += commission.amount;
        }
        if let (Some(name), None) = (sale.subscription, subscription) {
            self.subscriptions.push(Subscription {
                program,
                name,
                first_payment: at,
                first_click: self.first_click(customer.number).at,
                links,
            });
        }
        self.customers[place].status = "conversion";
        let vouched = self.is_of(sale.click, place);
        self.bind(place, sale.key, vouched, loser);
        let answer = sale_answer(
            self.programs[program].attribution,
            sale.transaction,
            commissions.len(),
            nothing_due,
        );
        self.sales.push(Sold {
            transaction: sale.transaction,
            program,
            customer: customer.number,
            amount: sale.amount,
            currency: currency(sale),
            subscription: sale.subscription,
            is_recurring: sale.is_recurring,
            at,
            refunded: 0,
            refunds: Vec::new(),
            commissions,
        });
        answer
    }

    /// One commission for each credited partner, in the order of their latest clicks; or the reason why there
    /// is none.
    fn commissions(
        &self,
        program: usize,
        customer: usize,
        sale: &Sale<Quoted>,
        subscription: Option<&Subscription>,
        links: &[usize],
        at: i64,
    ) -> (Vec<Commission>, Option<&'static str>) {
        let terms = &self.programs[program];
        let (due, rate) = match sale.product {
            Some("pro") if terms.pro => (Due::Always, Rate::Percent(PRO)),
            _ => (terms.due, terms.rate),
        };
        let bought = self.sales.iter().filter(|sold| sold.customer == customer);
        let customers_first = bought.map(|sold| sold.at).min();
        let first_payment = match sale.subscription {
            Some(_) => subscription.map(|known| known.first_payment),
            None => customers_first,
        };
        match due {
            Due::FirstPayment if customers_first.is_some() => {
                return (
                    Vec::new(),
                    Some("the program pays on a customer's first payment only"),
                );
            }
            Due::Months(months) if first_payment.is_some_and(|first| at > months_after(first, months)) => {
                return (Vec::new(), Some("the recurring commission period is over"));
            }
            _ => {}
        }
        let (whole, currency) = match rate {
            Rate::Percent(share) => {
                let earning = sale.commissionable.unwrap_or(sale.amount);
                (rounded(earning, share, 10_000), currency(sale))
            }
            Rate::Fixed(cents, currency) => (cents, currency),
        };
        let mut payees: Vec<(usize, usize)> = Vec::new();
        for link in links {
            payees.retain(|(partner, _)| *partner != OWNERS[*link]);
            payees.push((OWNERS[*link], *link));
        }
        let count = payees.len();
        let each = whole / i64::try_from(count).unwrap();
        let commission = |(place, (partner, link)): (usize, (usize, usize))| Commission {
            partner,
            link,
            amount: if place + 1 == count {
                whole - each * i64::try_from(place).unwrap()
            } else {
                each
            },
            currency,
            deducted: 0,
            status: "open",
            reason: None,
            paid: false,
        };
        (payees.into_iter().enumerate().map(commission).collect(), None)
    }

    pub fn refund(&mut self, who: Who, refund: &Refund) -> Answered {
        let program = match credential(who, "Invalid API token") {
            Ok(program) => program,
            Err(refusal) => return refusal,
        };
        let of_sale = |sold: &Sold| sold.program == program && sold.transaction == refund.transaction;
        let Some(place) = self.sales.iter().position(of_sale) else {
            return refused(404, "Sale not found for transaction_id");
        };
        let sold = &mut self.sales[place];
        let last = format!(
            "commission {} of {}",
            sold.commissions.len().max(1) - 1,
            sold.transaction
        );
        let skipped = |reason: &str| {
            answered(json!({ "success": true, "status": "skipped", "reason": reason, "commission_id": last }))
        };
        let earned = !sold.commissions.is_empty();
        if earned && sold.refunded == sold.amount {
            return skipped("already reversed");
        }
        let amount = refund.amount.filter(|cents| *cents > 0);
        let name = match (refund.refund_id, amount) {
            (Some(id), _) => format!("named {id}"),
            // An amount above any sale counts as the maximum.
            (None, Some(cents)) => format!("{} cents", cents.min(100_000_000_000_000)),
            (None, None) => "the rest".to_owned(),
        };
        let repeated = sold.refunds.contains(&name);
        if !repeated {
            sold.refunds.push(name);
            let rest = sold.amount - sold.refunded;
            sold.refunded += amount.map_or(rest, |cents| cents.min(rest));
        }
        if !earned {
            return answered(json!({
                "success": true,
                "status": "no_commission",
                "message": "Sale has no commission to reverse",
            }));
        }
        if repeated {
            return skipped("already processed");
        }
        let status = if sold.refunded == sold.amount {
            "reversed"
        } else {
            "refunded"
        };
        let mut taken = Vec::new();
        for commission in &mut sold.commissions {
            // A commission that was lowered by hand may have lost more than its share already.
            let share = rounded(commission.amount, sold.refunded, sold.amount);
            let deducted = (share - commission.deducted).max(0);
            commission.deducted += deducted;
            // A rejected commission stays rejected.
            if commission.status != "reversed" {
                commission.status = status;
            }
            commission.reason = refund.reason.or(commission.reason);
            taken.push((commission.clone(), deducted));
        }
        let mut total = 0;
        for (commission, deducted) in taken {
            total += deducted;
            let balance = self.balance(program, &commission);
            // A partner can only owe an amount that was paid.
            if commission.paid {
                balance.cents -= deducted;
                balance.debt += deducted;
            } else {
                balance.cents -= deducted.min(balance.cents.max(0));
            }
        }
        answered(json!({
            "success": true,
            "status": status,
            "deductionAmount": dollars(total),
            "commission_id": last,
        }))
    }

    /// The sales that have commissions, all of them unchanged.
    pub fn payable(&self) -> Vec<usize> {
        let untouched = |sold: &&Sold| {
            let mut commissions = sold.commissions.iter();
            !sold.commissions.is_empty() && commissions.all(|commission| commission.status == "open")
        };
        self.sales
            .iter()
            .filter(untouched)
            .map(|sold| sold.transaction)
            .collect()
    }

    /// Pays a sale's commissions, less what the partners owe for refunds of paid commissions. A balance never
    /// exceeds the amount that is then left to pay.
    pub fn pay(&mut self, transaction: usize) {
        let place = self
            .sales
            .iter()
            .position(|sold| sold.transaction == transaction)
            .unwrap();
        let program = self.sales[place].program;
        for commission in self.sales[place].commissions.clone() {
            let mut unpaid = -commission.amount;
            for sold in self.sales.iter().filter(|sold| sold.program == program) {
                for other in sold.commissions.iter().filter(|other| !other.paid) {
                    if (other.partner, other.currency) == (commission.partner, commission.currency) {
                        unpaid += other.amount - other.deducted;
                    }
                }
            }
            let balance = self.balance(program, &commission);
            let held_back = commission.amount.min(balance.debt);
            balance.debt -= held_back;
            balance.cents = (balance.cents - (commission.amount - held_back)).min(unpaid);
        }
        for commission in &mut self.sales[place].commissions {
            commission.paid = true;
            commission.status = "paid";
        }
    }

    pub(super) fn balance(&mut self, program: usize, commission: &Commission) -> &mut Balance {
        let of = |known: &Balance| {
            (known.partner, known.program, known.currency)
                == (commission.partner, program, commission.currency)
        };
        let place = self.balances.iter().position(of).unwrap_or_else(|| {
            self.balances.push(Balance {
                partner: commission.partner,
                program,
                currency: commission.currency,
                cents: 0,
                debt: 0,
            });
            self.balances.len() - 1
        });
        &mut self.balances[place]
    }
}

fn currency(sale: &Sale<Quoted>) -> &'static str {
    match sale.currency {
        Some("EUR") => "EUR",
        _ => "USD",
    }
}

/// `of` times a fraction, halves away from zero; no argument is negative.
fn rounded(of: i64, numerator: i64, denominator: i64) -> i64 {
    let (of, numerator, denominator) = (i128::from(of), i128::from(numerator), i128::from(denominator));
    i64::try_from((2 * of * numerator + denominator) / (2 * denominator)).unwrap()
}

/// Calendar months.
fn months_after(first: i64, months: u32) -> i64 {
    let first = DateTime::from_timestamp_millis(first).unwrap();
    first
        .checked_add_months(Months::new(months))
        .unwrap()
        .timestamp_millis()
}
