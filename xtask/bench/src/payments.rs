//! Deliveries of a payment processor: signed events of paid checkouts.

use anyhow::{Context, Result};
use domain::ids::ProgramId;
use domain::processors::processor::{ConnectionStatus, ProcessorId, WebhookSecret};
use domain::sealed::SealingKeys;
use hmac::{Hmac, KeyInit, Mac};
use runtime::clock::Clock;
use sha2::Sha256;
use sqlx::PgPool;
use storage::processor::processor_connections::{self, Connection, SealedSecret};

use super::load::Requests;
use super::market::Market;
use super::requests::{post, scattered};

/// The secret of every program's endpoint.
const SECRET: &str = "whsec_measured_0123456789abcdef01";

/// Connects every program of the market, so that its deliveries are accepted.
pub(super) async fn connect(pool: &PgPool, market: &Market, keys: &SealingKeys) -> Result<()> {
    let secret = WebhookSecret::parse(SECRET).ok().context("not a secret")?;
    let clock = Clock::system();
    let mut connection = pool.acquire().await?;
    for program_id in market.program_ids.iter().copied().map(ProgramId::new) {
        // A fixed nonce: the secret is public.
        let sealed = SealedSecret::seal(keys, program_id, &secret, [7; 24])?;
        let new = Connection {
            account_id: ProcessorId::parse(&format!("acct_{program_id}"))
                .ok()
                .context("not an account")?,
            webhook_endpoint_id: None,
            status: ConnectionStatus::Connected,
            charges_enabled: true,
            payouts_enabled: true,
            connected_at: Some(clock.now()),
            confirmed_at: Some(clock.now()),
            secret: Some(sealed),
            previous: None,
        };
        processor_connections::save(&mut connection, program_id, &new, clock.now()).await?;
    }
    Ok(())
}

/// One-off payments of the market's customers.
pub(super) struct Payments<'a> {
    market: &'a Market,
    run: String,
    /// Unix seconds, as signed.
    signed_at: i64,
}

impl<'a> Payments<'a> {
    /// `run`: unique for each load, part of the ids; at most five letters and digits.
    pub(super) fn new(market: &'a Market, run: &str) -> Self {
        Self {
            market,
            run: format!("{run:0>5}"),
            signed_at: Clock::system().now().timestamp(),
        }
    }
}

impl Requests for Payments<'_> {
    fn request(&mut self, number: u64) -> String {
        let customer = scattered(number, self.market.size.customers);
        let program = usize::try_from(Market::program_of(customer)).unwrap_or_default();
        let program_id = self.market.program_ids.get(program).copied().unwrap_or_default();
        let signed_at = self.signed_at;
        let id = format!("{}{number:08}", self.run);
        let body = format!(
            r#"{{"id":"evt_{id}","object":"event","api_version":"2025-03-31.basil","created":{signed_at},"data":{{"object":{{"id":"cs_live_{id}","object":"checkout.session","amount_subtotal":4900,"amount_total":4900,"client_reference_id":null,"created":{signed_at},"currency":"usd","customer":null,"customer_details":{{"address":{{"city":"Utrecht","country":"NL","line1":"Kade 7","line2":null,"postal_code":"3511 AA","state":null}},"email":"jane@shop.example","name":"Jane Doe","phone":null,"tax_exempt":"none"}},"invoice":null,"livemode":true,"locale":"en","metadata":{{"tracker_customer_key":"c{customer:08}"}},"mode":"payment","payment_intent":"pi_{id}","payment_method_types":["card","ideal"],"payment_status":"paid","status":"complete","subscription":null,"success_url":"https://shop.example/thanks","total_details":{{"amount_discount":0,"amount_shipping":0,"amount_tax":0}},"url":null}}}},"livemode":true,"pending_webhooks":1,"request":{{"id":null,"idempotency_key":null}},"type":"checkout.session.completed"}}"#
        );
        let signature = signature(&signed_at.to_string(), body.as_bytes());
        let headers = format!("Stripe-Signature: t={signed_at},v1={signature}\r\n");
        post(&format!("/webhooks/stripe/{program_id:08}"), &headers, &body)
    }
}

/// As the processor signs, with [`SECRET`].
#[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
pub(super) fn signature(timestamp: &str, body: &[u8]) -> String {
    let keyed = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("any length");
    let signed = keyed
        .chain_update(timestamp)
        .chain_update(b".")
        .chain_update(body);
    hex::encode(signed.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::market::{PROGRAMS, Size};
    use super::*;

    #[test]
    fn a_delivery_is_signed_for_its_own_body_and_goes_to_its_customers_program() {
        let market = Market {
            size: Size {
                customers: 5000,
                hot_customers: 10,
                visitors: 10,
            },
            workspace_id: 1,
            program_ids: (101..=101 + i64::try_from(PROGRAMS).unwrap()).collect(),
            tokens: Vec::new(),
        };
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
            let signature = signature(&event["created"].to_string(), body.as_bytes());
            assert!(head.contains(&format!("v1={signature}")));
        }
    }
}
