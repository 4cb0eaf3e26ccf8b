//! Deliveries of a payment processor: signed events of paid checkouts.

use std::sync::Arc;

use anyhow::Result;
use runtime::clock::Clock;
use trials::{connect_processor, sealing_keys, signature};

use super::environment::BenchEnvironment;
use super::load::Requests;
use super::market::Market;
use super::requests::{post, scattered};

/// The secret of every program's endpoint.
pub(super) const SECRET: &str = "whsec_measured_0123456789abcdef01";

/// Connects every program of the market, so that its deliveries are accepted.
pub(super) fn connect(bench: &BenchEnvironment<'_>) -> Result<()> {
    let keys = sealing_keys(&bench.env)?;
    for program_id in &bench.market.program_ids {
        let connecting = connect_processor(&bench.pool, *program_id, SECRET, &keys);
        bench.runtime.block_on(connecting)?;
    }
    Ok(())
}

/// One-off payments of the market's customers.
pub(super) struct Payments {
    market: Arc<Market>,
    run: String,
    /// Unix seconds, as signed.
    signed_at: i64,
}

impl Payments {
    /// `run`: unique for each load, part of the ids; at most five letters and digits.
    pub(super) fn new(market: &Arc<Market>, run: &str) -> Self {
        Self {
            market: Arc::clone(market),
            run: format!("{run:0>5}"),
            signed_at: Clock::system().now().timestamp(),
        }
    }
}

impl Requests for Payments {
    fn request(&mut self, number: u64) -> String {
        let customer = scattered(number, self.market.size.customers);
        let program = usize::try_from(Market::program_of(customer)).unwrap_or_default();
        let program_id = self.market.program_ids.get(program).copied().unwrap_or_default();
        let signed_at = self.signed_at;
        let id = format!("{}{number:08}", self.run);
        let body = format!(
            r#"{{"id":"evt_{id}","object":"event","api_version":"2025-03-31.basil","created":{signed_at},"data":{{"object":{{"id":"cs_live_{id}","object":"checkout.session","amount_subtotal":4900,"amount_total":4900,"client_reference_id":null,"created":{signed_at},"currency":"usd","customer":null,"customer_details":{{"address":{{"city":"Utrecht","country":"NL","line1":"Kade 7","line2":null,"postal_code":"3511 AA","state":null}},"email":"jane@shop.example","name":"Jane Doe","phone":null,"tax_exempt":"none"}},"invoice":null,"livemode":true,"locale":"en","metadata":{{"tracker_customer_key":"c{customer:08}"}},"mode":"payment","payment_intent":"pi_{id}","payment_method_types":["card","ideal"],"payment_status":"paid","status":"complete","subscription":null,"success_url":"https://shop.example/thanks","total_details":{{"amount_discount":0,"amount_shipping":0,"amount_tax":0}},"url":null}}}},"livemode":true,"pending_webhooks":1,"request":{{"id":null,"idempotency_key":null}},"type":"checkout.session.completed"}}"#
        );
        let headers = format!("Stripe-Signature: {}\r\n", signature(SECRET, signed_at, &body));
        post(&format!("/webhooks/stripe/{program_id:08}"), &headers, &body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_is_signed_for_its_own_body_and_goes_to_its_customers_program() {
        let market = Arc::new(Market::of_test());
        let mut payments = Payments::new(&market, "r7");
        for number in [3, 4] {
            let request = payments.request(number);
            let customer = scattered(number, 5000);
            let program_id = 101 + Market::program_of(customer);
            assert!(
                request.starts_with(&format!("POST /webhooks/stripe/{program_id:08} ")),
                "{request}"
            );
            let (head, body) = request.split_once("\r\n\r\n").unwrap();
            let event: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!(event["id"], format!("evt_000r7{number:08}"));
            let object = &event["data"]["object"];
            assert_eq!(object["payment_intent"], format!("pi_000r7{number:08}"));
            assert_eq!(
                object["metadata"]["tracker_customer_key"],
                format!("c{customer:08}")
            );
            let signature = signature(SECRET, event["created"].as_i64().unwrap(), body);
            assert!(head.contains(&format!("Stripe-Signature: {signature}\r\n")));
        }
    }
}
