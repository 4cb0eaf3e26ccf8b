//! A shop whose payment processor reports to a webhook consumer, and events as the processor sends them.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use domain::earnings::commission::CommissionType;
use domain::tracking::attribution::AttributionModel;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{
    Program, Stack, Streams,
    hooks::{Hooks, SECRET, accepted, connect},
    percentage,
};

pub struct Shop {
    pub stack: Stack,
    pub streams: Streams,
    hooks: Hooks,
    /// When payments begin, in Unix seconds: after every click of a test.
    pub opened: i64,
}

/// The processor's API version of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    Acacia,
    Basil,
}

impl Shop {
    pub async fn open() -> Self {
        Self::open_at(Clock::system()).await
    }

    pub async fn open_at(clock: Clock) -> Self {
        let mut stack = Stack::start_with(clock).await;
        Self {
            hooks: Hooks::start(&mut stack).await,
            opened: stack.clock.now().timestamp() + 3_600,
            streams: Streams::of(&stack).await,
            stack,
        }
    }

    /// A shop and its program, with the customer `user-1` on Ada's link.
    pub async fn selling() -> (Self, Program) {
        Self::selling_at(Clock::system()).await
    }

    pub async fn selling_at(clock: Clock) -> (Self, Program) {
        let shop = Self::open_at(clock).await;
        let program = shop.program().await;
        shop.stack.customer(&program, &program.ada.code, "user-1").await;
        (shop, program)
    }

    /// A payment of 49.00 by `user-1`, who begins it when payments begin.
    pub fn payment(&self, name: &str) -> Payment {
        Payment {
            shape: Shape::Acacia,
            name: name.to_owned(),
            customer_key: "user-1".to_owned(),
            subscription: None,
            cents: 4900,
            began: self.opened,
        }
    }

    /// A program whose account reports to its own endpoint.
    pub async fn program(&self) -> Program {
        self.program_with(AttributionModel::LastClick, CommissionType::CpsLifetime)
            .await
    }

    /// A program that pays 20 %.
    pub async fn program_with(&self, model: AttributionModel, kind: CommissionType) -> Program {
        let program = self.stack.program_with(model, kind, percentage(2_000)).await;
        let account = format!("acct_{}", program.program_id);
        connect(&self.stack, program.program_id, &account, Some(SECRET)).await;
        program
    }

    /// Reports an event to the program's endpoint.
    pub async fn report(&self, program: &Program, event: &Value) {
        accepted(&self.hooks.deliver(&self.stack, program, event).await);
    }

    /// Reports an event, and waits until it is settled.
    pub async fn process(&self, program: &Program, event: &Value) {
        self.report(program, event).await;
        self.settled().await;
    }

    /// Waits until every reported event is settled, or parked until another event arrives.
    pub async fn settled(&self) {
        self.stack
            .eventually("no event is on its way", async || {
                self.stack.execute(SESSIONS_HAVE_COME).await;
                self.stack
                    .count(
                        "processor_events
                         WHERE state = 'open' OR (state = 'parked' AND reason <> 'sale_missing')",
                    )
                    .await
                    == 0
            })
            .await;
        self.streams.drained(&self.stack).await;
    }

    /// Approves and pays out all commissions of the program.
    pub async fn pay_out(&self, program: &Program) {
        let owner = self.stack.owner_of(program).await;
        let of_program = format!(
            "SELECT id FROM commissions WHERE program_id = {}",
            program.program_id
        );
        let ids: Vec<i64> = self.stack.values(&of_program).await;
        let approved = json!({ "commission_ids": ids });
        owner
            .submit(&program.path("commissions/approve"), approved)
            .await
            .ok();
        let all = json!({ "all_approved": true, "currency": "USD" });
        owner.submit(&program.path("payouts"), all).await.created();
    }

    /// Waits until an event has this state and reason.
    pub async fn becomes(&self, id: &str, state: &str, reason: impl Into<Option<&str>>) {
        let expected = (state.to_owned(), reason.into().map(str::to_owned));
        let what = format!("{id} is {expected:?}");
        self.stack
            .eventually(&what, async || self.event(id).await == expected)
            .await;
    }

    /// The rows of a program by what they are, each query's `$1` being the program. The name in their ids is
    /// left out, so that programs can be compared.
    pub async fn rows(
        &self,
        program: &Program,
        name: &str,
        queries: impl IntoIterator<Item = (&'static str, &'static str)>,
    ) -> BTreeMap<&'static str, Value> {
        let mut all = BTreeMap::new();
        for (what, query) in queries {
            let rows: Vec<Value> = sqlx::query_scalar(query)
                .bind(program.program_id.get())
                .fetch_all(self.stack.pool())
                .await
                .unwrap();
            let text = Value::from(rows).to_string().replace(&format!("_{name}"), "");
            all.insert(what, serde_json::from_str(&text).unwrap());
        }
        all
    }

    /// `(state, reason)` of an event in the inbox.
    pub async fn event(&self, id: &str) -> (String, Option<String>) {
        sqlx::query_as("SELECT state, reason FROM processor_events WHERE processor_event_id = $1")
            .bind(id)
            .fetch_one(self.stack.pool())
            .await
            .unwrap()
    }
}

/// Payment intents no longer wait for the session that describes them.
pub const SESSIONS_HAVE_COME: &str =
    "UPDATE processor_events SET relay_after = now() WHERE reason = 'awaits_session' AND relay_after > now()";

/// A live event.
pub fn event(id: &str, kind: &str, created: i64, object: Value) -> Value {
    let mut event = json!({
        "id": id, "object": "event", "type": kind, "livemode": true, "created": created, "data": {},
    });
    event["data"]["object"] = object;
    event
}

/// The end of a subscription.
pub fn ended(subscription: &str, id: &str, created: i64) -> Value {
    let object = json!({ "id": subscription, "object": "subscription", "metadata": {} });
    event(id, "customer.subscription.deleted", created, object)
}

/// Names the processor's customer in the event.
pub fn of_customer(mut event: Value, processor_customer: &str) -> Value {
    event["data"]["object"]["customer"] = json!(processor_customer);
    event
}

/// Removes the merchant's metadata from the event.
pub fn nameless(mut event: Value) -> Value {
    let object = &mut event["data"]["object"];
    object["metadata"] = json!({});
    for details in ["/subscription_details", "/parent/subscription_details"] {
        if let Some(details) = object.pointer_mut(details)
            && details.is_object()
        {
            details["metadata"] = json!({});
        }
    }
    event
}

/// The parts of a customer's payment.
#[derive(Debug, Clone)]
pub struct Payment {
    pub shape: Shape,
    /// The suffix of all its ids.
    pub name: String,
    pub customer_key: String,
    pub subscription: Option<String>,
    pub cents: i64,
    /// Unix seconds; each kind of event happens at a second of its own after this.
    pub began: i64,
}

impl Payment {
    pub fn basil(self) -> Self {
        let shape = Shape::Basil;
        Self { shape, ..self }
    }

    pub fn in_subscription(self, id: &str) -> Self {
        let subscription = Some(id.to_owned());
        Self { subscription, ..self }
    }

    pub fn by(self, customer_key: &str) -> Self {
        let customer_key = customer_key.to_owned();
        Self { customer_key, ..self }
    }

    pub fn of_cents(self, cents: i64) -> Self {
        Self { cents, ..self }
    }

    pub fn at(self, began: DateTime<Utc>) -> Self {
        let began = began.timestamp();
        Self { began, ..self }
    }

    /// The invoice that begins the subscription.
    pub fn first(&self) -> Value {
        self.invoice("invoice.paid", "subscription_create")
    }

    /// An invoice of a later period.
    pub fn renewal(&self) -> Value {
        self.invoice("invoice.paid", "subscription_cycle")
    }

    pub fn id(&self, prefix: &str) -> String {
        format!("{prefix}_{}", self.name)
    }

    fn metadata(&self) -> Value {
        json!({ "tracker_customer_key": self.customer_key })
    }

    fn event(&self, prefix: &str, kind: &str, second: i64, object: Value) -> Value {
        event(
            &format!("evt_{prefix}_{}", self.name),
            kind,
            self.began + second,
            object,
        )
    }

    pub fn checkout(&self) -> Value {
        let (mode, intent) = match self.subscription {
            Some(_) => ("subscription", Value::Null),
            None => ("payment", json!(self.id("pi"))),
        };
        let object = json!({
            "id": self.id("cs"), "object": "checkout.session", "mode": mode, "payment_status": "paid",
            "payment_intent": intent, "invoice": self.id("in"), "subscription": self.subscription,
            "amount_total": self.cents, "currency": "usd", "metadata": self.metadata(),
        });
        self.event("checkout", "checkout.session.completed", 1, object)
    }

    /// `kind` is `invoice.paid` or `invoice.payment_succeeded`.
    pub fn invoice(&self, kind: &str, billing_reason: &str) -> Value {
        let mut object = json!({
            "id": self.id("in"), "object": "invoice", "amount_paid": self.cents, "total": self.cents,
            "currency": "usd", "billing_reason": billing_reason, "metadata": {}, "lines": { "data": [] },
        });
        let details = match &self.subscription {
            Some(_) => json!({ "metadata": self.metadata() }),
            None => Value::Null,
        };
        match self.shape {
            Shape::Acacia => {
                object["subscription"] = json!(self.subscription);
                object["subscription_details"] = details;
                object["payment_intent"] = json!(self.id("pi"));
                object["charge"] = json!(self.id("ch"));
            }
            Shape::Basil if self.subscription.is_some() => {
                object["parent"] = json!({ "subscription_details": details });
                object["parent"]["subscription_details"]["subscription"] = json!(self.subscription);
            }
            Shape::Basil => {}
        }
        self.event(kind, kind, 2, object)
    }

    pub fn invoice_payment(&self) -> Value {
        let object = json!({
            "id": self.id("inpay"), "object": "invoice_payment", "invoice": self.id("in"), "amount_paid": self.cents,
            "status": "paid", "payment": { "type": "payment_intent", "payment_intent": self.id("pi") },
        });
        self.event("inpay", "invoice_payment.paid", 3, object)
    }

    fn charge(&self, refunded: i64) -> Value {
        let mut charge = json!({
            "id": self.id("ch"), "object": "charge", "amount": self.cents, "amount_refunded": refunded,
            "currency": "usd", "payment_intent": self.id("pi"), "metadata": {}, "refunded": refunded == self.cents,
        });
        if self.shape == Shape::Acacia {
            charge["invoice"] = json!(self.id("in"));
        }
        charge
    }

    pub fn charge_succeeded(&self) -> Value {
        self.event("charge", "charge.succeeded", 4, self.charge(0))
    }

    /// Its metadata names the customer, like the session's.
    pub fn payment_intent(&self) -> Value {
        let object = json!({
            "id": self.id("pi"), "object": "payment_intent", "amount": self.cents, "amount_received": self.cents,
            "currency": "usd", "latest_charge": self.id("ch"), "metadata": self.metadata(), "status": "succeeded",
        });
        self.event("intent", "payment_intent.succeeded", 1, object)
    }

    /// `refunded` is the total of all refunds so far.
    pub fn charge_refunded(&self, refunded: i64) -> Value {
        let prefix = format!("refunded_{refunded}");
        self.event(&prefix, "charge.refunded", 5, self.charge(refunded))
    }

    pub fn disputed(&self, cents: i64) -> Value {
        let object = json!({
            "id": self.id("dp"), "object": "dispute", "amount": cents, "currency": "usd", "charge": self.id("ch"),
            "payment_intent": self.id("pi"), "status": "needs_response", "reason": "fraudulent",
        });
        self.event("disputed", "charge.dispute.funds_withdrawn", 6, object)
    }
}
