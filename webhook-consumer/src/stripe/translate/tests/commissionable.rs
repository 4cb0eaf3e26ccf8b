//! The commissionable part of a payment: the amount without tax and shipping.

use super::*;

const SHAPES: [&str; 2] = [ACACIA, BASIL];

/// Changes the object of a fixture. Returns the sale's amount and its commissionable part.
fn earning(name: &str, shape: &str, change: Value) -> (Value, Value) {
    let sale = meaning(&changed(name, shape, change))["sale"].clone();
    assert!(sale.is_object(), "{name}.{shape}");
    (sale["amount"].clone(), sale["commissionable"].clone())
}

fn session(shape: &str, change: Value) -> (Value, Value) {
    earning("checkout.session.completed.taxed", shape, change)
}

/// An invoice of 11.90 with 1.90 of tax.
fn invoice(shape: &str, change: Value) -> (Value, Value) {
    earning("invoice.paid.taxed", shape, change)
}

fn cents(amount: i64, commissionable: i64) -> (Value, Value) {
    (json!(amount), json!(commissionable))
}

fn whole(amount: i64) -> (Value, Value) {
    (json!(amount), Value::Null)
}

#[test]
fn of_a_session_neither_tax_nor_shipping_earns() {
    for shape in SHAPES {
        assert_eq!(session(shape, json!({})), cents(5355, 4000), "{shape}");
        let without_cost = json!({ "shipping_cost": null });
        assert_eq!(session(shape, without_cost), cents(5355, 4000), "{shape}");
        // The same prices including tax: 40.00, and 5.00 for shipping.
        let inclusive = json!({
            "amount_subtotal": 4000, "amount_total": 4500,
            "total_details": { "amount_discount": 0, "amount_shipping": 500, "amount_tax": 719 },
            "shipping_cost": { "amount_subtotal": 500, "amount_tax": 80, "amount_total": 500 },
        });
        assert_eq!(session(shape, inclusive), cents(4500, 3361), "{shape}");
        let yen = json!({ "currency": "jpy", "amount_total": 1100, "shipping_cost": null,
                          "total_details": { "amount_tax": 100, "amount_shipping": null } });
        assert_eq!(session(shape, yen), cents(1100, 1000), "{shape}");
    }
}

#[test]
fn of_an_invoice_tax_does_not_earn_in_whatever_field_it_is() {
    for shape in SHAPES {
        assert_eq!(invoice(shape, json!({})), cents(1190, 1000), "{shape}");
        // The shape decides whether the tax is in `total_taxes` or `tax`.
        let unsaid = json!({ "total_excluding_tax": null });
        assert_eq!(invoice(shape, unsaid), cents(1190, 1000), "{shape}");
        let shipped = json!({ "total": 1785, "amount_paid": 1785, "total_excluding_tax": 1500,
                              "shipping_cost": { "amount_subtotal": 500, "amount_tax": 95, "amount_total": 595 } });
        assert_eq!(invoice(shape, shipped), cents(1785, 1000), "{shape}");
        let yen =
            json!({ "currency": "jpy", "total": 1100, "amount_paid": 1100, "total_excluding_tax": 1000 });
        assert_eq!(invoice(shape, yen), cents(1100, 1000), "{shape}");
    }
    let two = json!({ "total_excluding_tax": null, "total_taxes": [{ "amount": 100 }, { "amount": 90 }] });
    assert_eq!(invoice(BASIL, two), cents(1190, 1000));
}

#[test]
fn what_a_credit_balance_paid_takes_its_share_of_the_tax_with_it() {
    for shape in SHAPES {
        let half = json!({ "amount_paid": 595 });
        assert_eq!(invoice(shape, half), cents(595, 500), "{shape}");
        // 1 · 1000 / 1190 = 0.84 and 4 · 1000 / 1190 = 3.36 are rounded to the nearest cent.
        assert_eq!(invoice(shape, json!({ "amount_paid": 1 })), whole(1), "{shape}");
        assert_eq!(
            invoice(shape, json!({ "amount_paid": 4 })),
            cents(4, 3),
            "{shape}"
        );
    }
}

#[test]
fn numbers_that_do_not_fit_earn_at_least_nothing_and_at_most_what_was_paid() {
    for shape in SHAPES {
        for (change, expected) in [
            (json!({ "total": null }), whole(1190)),
            (json!({ "total": 0 }), whole(1190)),
            (json!({ "total": -5 }), whole(1190)),
            (json!({ "total_excluding_tax": 0 }), cents(1190, 0)),
            (json!({ "total_excluding_tax": -5 }), cents(1190, 0)),
            (json!({ "total_excluding_tax": 5000 }), whole(1190)),
            (json!({ "total_excluding_tax": i64::MIN }), cents(1190, 0)),
            (json!({ "amount_paid": 2380 }), cents(2380, 2000)),
        ] {
            assert_eq!(invoice(shape, change.clone()), expected, "{shape} {change}");
        }
        let untaxed = json!({ "total_excluding_tax": null, "tax": null, "total_taxes": null });
        assert_eq!(invoice(shape, untaxed), whole(1190), "{shape}");
        let mostly_tax = json!({ "total_details": { "amount_tax": i64::MAX, "amount_shipping": i64::MAX } });
        assert_eq!(session(shape, mostly_tax), cents(5355, 0), "{shape}");
        assert_eq!(
            session(shape, json!({ "total_details": null, "shipping_cost": null })),
            whole(5355)
        );
    }
}
