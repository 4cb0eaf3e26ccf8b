//! The HTTP request of a call.

use serde_json::{Value, json};

use super::World;
use crate::calls::{Call, LINKS, Sale, TestKind, What, Who};
use crate::reference::Quoted;
use crate::refusals;

impl World<'_> {
    pub fn token(&self, who: Who) -> Option<String> {
        match who {
            Who::Nobody => None,
            Who::EmptyToken => Some(String::new()),
            Who::UnknownToken => Some(format!("aff_{}", "0".repeat(32))),
            Who::Program(program) => Some(self.programs[program].token.clone()),
        }
    }

    pub fn request(&self, call: &Call<Quoted>) -> (&'static str, Value) {
        match &call.what {
            What::Click {
                program,
                link,
                existing,
            } => {
                let body = json!({
                    "affiliate_url": self.landing(*program, *link),
                    "existing_click_id": existing.map(|quoted| self.click_id(quoted)),
                });
                ("click", body)
            }
            What::Lead { click, key } => {
                let body = json!({
                    "click_id": click.map(|quoted| self.click_id(quoted)),
                    "customer_key": key.map(|key| self.named("user", key)),
                });
                ("lead", body)
            }
            What::Sale(sale) => ("sale", self.sale(sale)),
            What::Refund(refund) => {
                let body = json!({
                    "transaction_id": self.named("order", refund.transaction),
                    "refund_amount_cents": refund.amount,
                    "refund_id": refund.refund_id.map(|id| self.named("refund", id)),
                    "refund_reason": refund.reason,
                });
                ("refund", body)
            }
            What::Test { kind, named } => self.test(*kind, *named),
            What::Refused(place) => {
                let refusal = &refusals::all()[*place];
                (refusal.path, refusal.body.clone())
            }
        }
    }

    fn sale(&self, sale: &Sale<Quoted>) -> Value {
        json!({
            "transaction_id": self.named("order", sale.transaction),
            "amount_cents": sale.amount,
            "commissionable_cents": sale.commissionable,
            "click_id": sale.click.map(|quoted| self.click_id(quoted)),
            "customer_key": sale.key.map(|key| self.named("user", key)),
            "currency": sale.currency,
            "product_id": sale.product,
            "subscription_id": sale.subscription.map(|name| format!("sub {name}")),
            "is_recurring": sale.is_recurring,
        })
    }

    fn test(&self, kind: TestKind, named: Option<usize>) -> (&'static str, Value) {
        let named = named.map(|program| self.programs[program].program_id.get());
        let mut body = json!({ "additional_data": { "test_mode": true, "program_id": named } });
        let path = match kind {
            TestKind::Click { program, link } => {
                body["affiliate_url"] = self.landing(program, link).into();
                "click"
            }
            TestKind::Lead => "lead",
            TestKind::Sale { transaction } => {
                body["transaction_id"] = transaction.map(|name| self.named("order", name)).into();
                "sale"
            }
        };
        (path, body)
    }

    fn landing(&self, program: usize, link: usize) -> String {
        let program_id = self.programs[program].program_id;
        let code = LINKS.get(link).unwrap_or(&"nobody");
        format!("https://shop.example/landing?aff={code}-{program_id}")
    }

    fn click_id(&self, quoted: Quoted) -> String {
        match quoted {
            Quoted::Of(number) => self.click_ids[&number].clone(),
            Quoted::Forged => "cust_1_1700000000000".to_owned(),
        }
    }
}
