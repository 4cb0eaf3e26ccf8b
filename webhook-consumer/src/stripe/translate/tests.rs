//! Every event in both API shapes, with its expected translation. The fixtures are our own, written after the
//! shapes.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;

mod any_event;
mod commissionable;
mod payments;

/// The API versions that name the shapes. The translation of an event may depend on its version.
const ACACIA: &str = "acacia";
const BASIL: &str = "basil";

fn fixtures() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn fixture(name: &str, shape: &str) -> Value {
    let path = fixtures().join(format!("{name}.{shape}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// A fixture with these fields of its object replaced.
fn changed(name: &str, shape: &str, fields: Value) -> Value {
    let mut event = fixture(name, shape);
    let Value::Object(fields) = fields else { panic!() };
    event["data"]["object"].as_object_mut().unwrap().extend(fields);
    event
}

fn translation(event: &Value) -> TranslatedEvent {
    let body = event.to_string();
    let event = Event::parse(body.as_bytes()).unwrap();
    translate(&event, &keys()).unwrap().unwrap()
}

fn keys() -> MetadataKeys {
    MetadataKeys::new(&[])
}

fn meaning(event: &Value) -> Value {
    let body = event.to_string();
    let event = Event::parse(body.as_bytes()).unwrap();
    match translate(&event, &keys()) {
        None => json!("unknown"),
        Some(Err(Untranslated::Ignored(reason))) => json!({ "ignored": reason }),
        Some(Err(Untranslated::Review(reason))) => json!({ "review": reason }),
        Some(Err(Untranslated::Stuck(reason))) => json!({ "stuck": reason }),
        Some(Ok(translated)) => {
            let mut shown = json!({ "references": translated.references });
            for (name, value) in [
                ("sale", json!(translated.sale)),
                ("program", json!(translated.program)),
                ("account", json!(translated.account)),
                ("fact", json!(translated.fact)),
            ] {
                if !value.is_null() {
                    shown[name] = value;
                }
            }
            shown
        }
    }
}

fn means(name: &str, expected: &Value) {
    for shape in [ACACIA, BASIL] {
        assert_eq!(meaning(&fixture(name, shape)), *expected, "{name}.{shape}");
    }
}

/// A sale of the customer that all fixtures name.
fn sale(transaction_id: &str, more: Value) -> Value {
    let mut sale = json!({
        "transaction_id": transaction_id,
        "amount": 4900,
        "currency": "EUR",
        "click_id": "cust_4503599627370_1789990000000",
        "customer_key": "user-42",
        "processor_customer": "cus_Rlamp42",
        "sale_type": "payment",
        "is_recurring": false,
    });
    let Value::Object(more) = more else { panic!() };
    sale.as_object_mut().unwrap().extend(more);
    sale
}

fn subscription_sale(transaction_id: &str, is_recurring: bool) -> Value {
    sale(
        transaction_id,
        json!({
            "amount": 1900,
            "currency": "USD",
            "sale_type": "subscription",
            "is_recurring": is_recurring,
            "subscription_id": "sub_1Starter",
            "product_id": "prod_Starter",
        }),
    )
}

#[test]
fn a_paid_session_is_a_sale_named_by_its_payment() {
    let paid = json!({
        "sale": sale("pi_3Lamp0001", json!({})),
        "program": 1,
        "references": ["cs_live_a1Lamp", "pi_3Lamp0001"],
    });
    means("checkout.session.completed", &paid);
    means("checkout.session.async_payment_succeeded", &paid);
    let with_invoice = json!({
        "sale": sale("in_1OneOff", json!({})),
        "program": 1,
        "references": ["cs_live_a1Lamp", "in_1OneOff", "pi_3OneOff"],
    });
    means("checkout.session.completed.with_invoice", &with_invoice);
    let free_of_both = changed(
        "checkout.session.completed",
        BASIL,
        json!({ "payment_intent": null }),
    );
    assert_eq!(meaning(&free_of_both)["sale"]["transaction_id"], "cs_live_a1Lamp");
}

#[test]
fn a_session_that_is_not_paid_or_starts_a_subscription_is_no_sale() {
    means(
        "checkout.session.completed.unpaid",
        &json!({ "program": 1, "references": ["cs_live_a1Lamp", "pi_3Lamp0001"] }),
    );
    means(
        "checkout.session.completed.subscription",
        &json!({ "program": 1, "references": ["cs_live_b2Starter", "in_1First01"] }),
    );
    let setup = json!({ "mode": "setup", "payment_intent": null });
    let setup = changed("checkout.session.completed", ACACIA, setup);
    let meaning = meaning(&setup);
    assert!(meaning.get("sale").is_none(), "{meaning}");
    assert_eq!(meaning["references"], json!(["cs_live_a1Lamp"]));
}

#[test]
fn an_invoice_is_a_sale_and_knows_the_more_of_its_payment_the_older_its_shape() {
    let first = ["in_1First01", "pi_3First01", "ch_3First01"];
    let renewal = ["in_1Renewal02", "pi_3Renewal02", "ch_3Renewal02"];
    for (name, is_recurring, references) in [
        ("invoice.paid", false, first),
        ("invoice.payment_succeeded", false, first),
        ("invoice.paid.renewal", true, renewal),
    ] {
        let transaction_id = references[0];
        let mut expected = json!({
            "sale": subscription_sale(transaction_id, is_recurring),
            "program": 1,
            "references": [transaction_id],
        });
        assert_eq!(meaning(&fixture(name, BASIL)), expected, "{name}");
        expected["references"] = json!(references);
        assert_eq!(meaning(&fixture(name, ACACIA)), expected, "{name}");
    }
}

#[test]
fn a_trial_is_no_sale_and_begins_its_subscription() {
    let started = json!({ "subscription_started": { "subscription_id": "sub_1Starter" } });
    means(
        "invoice.paid.trial",
        &json!({ "references": ["in_1First01"], "program": 1, "fact": started }),
    );
    for (name, field) in [
        ("invoice.paid", "amount_paid"),
        ("checkout.session.completed", "amount_total"),
    ] {
        for cents in [0, -100] {
            let event = changed(name, ACACIA, json!({ field: cents }));
            assert!(meaning(&event).get("sale").is_none(), "{name} {cents}");
        }
    }
}

/// The places of an invoice's metadata, nearest first. The test empties one after the other.
#[test]
fn an_invoice_reads_its_metadata_from_the_nearest_place_that_has_it() {
    let named = |key: &str| json!({ "tracker_customer_key": key });
    for (shape, details) in [
        (BASIL, "/data/object/parent/subscription_details"),
        (ACACIA, "/data/object/subscription_details"),
    ] {
        let mut event = fixture("invoice.paid", shape);
        let places = [details, "/data/object/lines/data/0", "/data/object"];
        for place in places {
            event.pointer_mut(place).unwrap()["metadata"] = named(place);
        }
        for place in places {
            assert_eq!(meaning(&event)["sale"]["customer_key"], place, "{shape}");
            event.pointer_mut(place).unwrap()["metadata"] = json!({});
        }
        assert!(meaning(&event)["sale"].get("customer_key").is_none(), "{shape}");
    }
}

#[test]
fn an_invoice_without_subscription_is_a_sale_by_its_own_metadata_only() {
    for (shape, of_subscription) in [
        (ACACIA, ["subscription", "subscription_details"].as_slice()),
        (BASIL, ["parent"].as_slice()),
    ] {
        let mut event = fixture("invoice.paid", shape);
        for field in of_subscription {
            event["data"]["object"][*field] = Value::Null;
        }
        event["data"]["object"]["billing_reason"] = json!("manual");
        assert!(meaning(&event)["sale"].get("customer_key").is_none(), "{shape}");
        event["data"]["object"]["metadata"] = json!({ "tracker_customer_key": "user-42" });
        let sale = &meaning(&event)["sale"];
        assert_eq!(sale["sale_type"], "payment");
        assert_eq!(sale["is_recurring"], false);
        assert!(sale.get("subscription_id").is_none());
    }
}

#[test]
fn a_payment_that_names_nobody_is_no_sale_but_its_names_count() {
    for (name, shape, others) in [
        ("checkout.session.completed", BASIL, true),
        ("invoice.paid", ACACIA, true),
        ("invoice.paid", BASIL, false),
    ] {
        let mut event = fixture(name, shape);
        let object = event["data"]["object"]
            .to_string()
            .replace("tracker_", "foreign_");
        event["data"]["object"] = serde_json::from_str(&object).unwrap();
        event["data"]["object"]["client_reference_id"] = Value::Null;
        let by_customer = meaning(&event)["sale"].clone();
        assert_eq!(by_customer["processor_customer"], "cus_Rlamp42");
        assert!(by_customer.get("customer_key").is_none() && by_customer.get("click_id").is_none());
        event["data"]["object"]["customer"] = Value::Null;
        let meaning = meaning(&event);
        assert!(meaning.get("sale").is_none(), "{meaning}");
        assert_eq!(meaning.get("references").is_some(), others, "{meaning}");
    }
}

#[test]
fn a_program_id_that_is_no_number_keeps_a_sale_back_and_nothing_else() {
    let mut event = fixture("checkout.session.completed", BASIL);
    event["data"]["object"]["metadata"]["program_id"] = json!("shop");
    assert_eq!(meaning(&event)["stuck"], "its program_id is no number");
    event["data"]["object"]["payment_status"] = json!("unpaid");
    assert!(meaning(&event)["references"].is_array());
}

#[test]
fn a_payment_intent_or_charge_with_metadata_is_a_sale_and_without_is_a_name() {
    for (name, references) in [
        ("payment_intent.succeeded", ["pi_3Direct01", "ch_3Direct01"]),
        ("charge.succeeded.direct", ["ch_3Direct01", "pi_3Direct01"]),
    ] {
        let expected =
            json!({ "program": 1, "references": references, "sale": sale("pi_3Direct01", json!({})) });
        means(name, &expected);
        let nameless = changed(name, BASIL, json!({ "metadata": {} }));
        assert_eq!(meaning(&nameless), json!({ "references": references }), "{name}");
        // With an invoice, the invoice's events report the sale.
        let of_invoice = changed(name, ACACIA, json!({ "invoice": "in_1First01" }));
        assert!(meaning(&of_invoice).get("sale").is_none(), "{name}");
    }
    let mut authorised = changed("charge.succeeded.direct", BASIL, json!({ "amount_captured": 0 }));
    assert!(meaning(&authorised).get("sale").is_none());
    authorised["type"] = json!("charge.captured");
    authorised["data"]["object"]["amount_captured"] = json!(4900);
    assert_eq!(meaning(&authorised)["sale"]["amount"], 4900);
}

#[test]
fn an_upgrade_is_of_the_product_that_is_charged_and_of_the_moment_it_was_paid() {
    for shape in [ACACIA, BASIL] {
        let event = fixture("invoice.paid.upgrade", shape);
        let sale = &meaning(&event)["sale"];
        assert_eq!(sale["product_id"], "prod_Pro");
        assert_eq!(sale["is_recurring"], true);
        let occurred_at = |event: &Value| translation(event).occurred_at;
        assert_eq!(occurred_at(&event).map(|at| at.timestamp()), Some(1_792_591_995));
        // Impossible times are ignored.
        for paid_at in [-1, 0, i64::MAX, 1_792_592_001] {
            let mut event = event.clone();
            event["data"]["object"]["status_transitions"]["paid_at"] = json!(paid_at);
            assert_eq!(occurred_at(&event), None, "{paid_at}");
        }
    }
}

#[test]
fn whatever_names_a_customer_and_the_processors_says_that_they_are_one() {
    let named = |event: &Value| translation(event).customer;
    let customer_key = |named: NamedCustomer| named.payer.customer_key.map(|key| key.to_string());
    for name in [
        "checkout.session.completed",
        "checkout.session.completed.subscription",
        "checkout.session.completed.unpaid",
        "invoice.paid",
        "invoice.paid.trial",
    ] {
        for shape in [ACACIA, BASIL] {
            let named = named(&fixture(name, shape)).unwrap();
            assert_eq!(named.processor_customer.as_str(), "cus_Rlamp42", "{name}.{shape}");
            assert_eq!(customer_key(named).as_deref(), Some("user-42"), "{name}.{shape}");
        }
    }
    let nobody = json!({ "metadata": {}, "client_reference_id": null });
    let mut session = changed("checkout.session.completed.subscription", BASIL, nobody);
    assert_eq!(named(&session), None);
    session["data"]["object"]["client_reference_id"] = json!("user-7");
    assert_eq!(customer_key(named(&session).unwrap()).as_deref(), Some("user-7"));
}

#[test]
fn the_names_of_a_payment_are_told_by_charges_and_invoice_payments() {
    let of_charge = json!({ "references": ["ch_3Lamp0001", "pi_3Lamp0001"] });
    means("charge.succeeded", &of_charge);
    for (name, shape, references) in [
        (
            "charge.succeeded.invoice",
            ACACIA,
            &["ch_3First01", "pi_3First01", "in_1First01"][..],
        ),
        ("charge.succeeded.invoice", BASIL, &["ch_3First01", "pi_3First01"]),
        ("invoice_payment.paid", BASIL, &["in_1First01", "pi_3First01"]),
    ] {
        assert_eq!(
            meaning(&fixture(name, shape)),
            json!({ "references": references }),
            "{name}.{shape}"
        );
    }
}

#[test]
fn a_refund_tells_all_that_went_back_of_its_charge_so_far() {
    let refunded = json!({ "charge": "ch_3Lamp0001", "refunded": 1000, "currency": "EUR" });
    means(
        "charge.refunded",
        &json!({ "references": ["ch_3Lamp0001", "pi_3Lamp0001"], "fact": { "refunded": refunded } }),
    );
    let failed = json!({ "review": "a refund failed after it was told" });
    means("refund.failed", &failed);
    means("charge.refund.updated", &failed);
    let pending = changed("charge.refund.updated", BASIL, json!({ "status": "pending" }));
    assert!(meaning(&pending)["ignored"].is_string());
}

#[test]
fn a_dispute_takes_its_amount_and_an_inquiry_nothing() {
    let references = json!(["ch_3Lamp0001", "pi_3Lamp0001"]);
    let disputed = json!({ "dispute": "dp_1Lamp", "withdrawn": 4900, "currency": "EUR" });
    means(
        "charge.dispute.funds_withdrawn",
        &json!({ "references": references, "fact": { "disputed": disputed } }),
    );
    means(
        "charge.dispute.funds_withdrawn.inquiry",
        &json!({ "references": references }),
    );
    means(
        "charge.dispute.funds_reinstated",
        &json!({ "review": "disputed money was reinstated" }),
    );
    let nameless = json!({ "charge": null, "payment_intent": null });
    let nameless = changed("charge.dispute.funds_withdrawn", BASIL, nameless);
    assert!(meaning(&nameless)["stuck"].is_string());
}

#[test]
fn a_subscription_ends_and_an_account_changes() {
    let ended = json!({ "subscription_ended": { "subscription_id": "sub_1Starter" } });
    means(
        "customer.subscription.deleted",
        &json!({ "references": [], "program": 1, "fact": ended }),
    );
    let account = |connected: bool, charges: bool, details: bool| {
        let account = json!({ "connected": connected, "charges_enabled": charges, "payouts_enabled": false,
                              "details_submitted": details });
        json!({ "references": [], "account": "acct_1Shop", "fact": { "account": account } })
    };
    means("account.updated", &account(true, true, true));
    means("account.application.deauthorized", &account(false, false, false));
    let mut foreign = fixture("account.updated", BASIL);
    foreign["account"] = json!("acct_1Other");
    assert!(meaning(&foreign)["stuck"].is_string());
}

#[test]
fn a_currency_that_is_none_keeps_a_sale_back() {
    for currency in [json!("euro"), json!(""), Value::Null] {
        let event = changed(
            "checkout.session.completed",
            BASIL,
            json!({ "currency": currency }),
        );
        assert!(meaning(&event)["stuck"].is_string());
    }
}

#[test]
fn types_nobody_knows_are_told_apart() {
    let mut event = fixture("charge.succeeded", BASIL);
    for kind in ["charge.updated", "payment_intent.created", "", "Charge.Succeeded"] {
        event["type"] = json!(kind);
        assert_eq!(meaning(&event), "unknown", "{kind}");
    }
}
