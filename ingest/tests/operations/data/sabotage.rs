//! Breaks each invariant of `ctl verify` by hand: an invariant without a row here is not tested.

use serde_json::json;
use storage::operations::verify::INVARIANTS;
use test_harness::{Json, Shop, Stack, Streams, refund_of, sale_of};

/// The invariant, and the damage that breaks it. `t1` and `t2` are sales of Ada's, `t3` is one of Bruno's;
/// `t2` is refunded in part.
const DAMAGES: &[(&str, &str)] = &[
    (
        "one sale per transaction_id, held by its claim",
        "DELETE FROM transaction_claims WHERE transaction_id = 't1'",
    ),
    (
        "one commission per sale, unless the program splits them",
        "UPDATE commissions SET sale_id = (SELECT id FROM sale_events WHERE processor_event_id = 't1')
         WHERE sale_id = (SELECT id FROM sale_events WHERE processor_event_id = 't3')",
    ),
    (
        "commissions by percentage come to their policy's share of what earns",
        "UPDATE sale_events SET commissionable_cents = amount_cents - 100 WHERE processor_event_id = 't1'",
    ),
    (
        "a sale has a commission or a reason why not",
        "UPDATE sale_events SET no_commission_reason = 'none' WHERE processor_event_id = 't1'",
    ),
    (
        "partner-program balance = sum of its ledger entries",
        "UPDATE partner_program_balances SET balance_cents = balance_cents - 1",
    ),
    (
        "partner balance = sum of its ledger entries",
        "UPDATE partner_balances SET balance_cents = balance_cents - 1",
    ),
    (
        "a commission's accrual is in the ledger, and what refunds took from it",
        "DELETE FROM ledger_entries WHERE kind = 'accrual'",
    ),
    (
        "the effective refund of a sale is the sum of its refunds, and within the sale",
        "UPDATE refunds SET effective_cents = effective_cents + 1",
    ),
    (
        "a commission's deduction is its exact share of the refund",
        "UPDATE commissions SET deducted_cents = deducted_cents - 1 WHERE deducted_cents > 0",
    ),
    (
        "a commission's status agrees with its sale's refunds",
        "UPDATE commissions SET status = 'reversed'",
    ),
    (
        "a commission added by hand was approved with it, and is paid or rejected",
        "INSERT INTO commissions (program_id, partner_program_id, partner_id, amount_cents, adjusted_cents, currency, note, hold_until)
         SELECT program_id, partner_program_id, partner_id, 100, 100, currency, 'bonus', now() FROM commissions LIMIT 1",
    ),
    (
        "a balance is negative only after a paid commission was reversed",
        "UPDATE partner_program_balances SET balance_cents = -1",
    ),
    (
        "no more is owed to a partner than is left of their unpaid commissions",
        "UPDATE partner_program_balances SET balance_cents = balance_cents + 1",
    ),
    (
        "a payout holds back what is owed, and moves money only when nothing more is",
        "UPDATE ledger_entries SET kind = 'payout', requested_cents = requested_cents + 1, shortfall_cents = 1
         WHERE kind = 'reversal'",
    ),
    (
        "a payout is the sum of its partners' ledger entries, one a commission",
        "INSERT INTO payouts (event_id, program_id, currency, amount_cents, commission_count, created_at)
         SELECT gen_random_uuid(), program_id, currency, 100, 1, now() FROM commissions LIMIT 1",
    ),
    (
        "a commission is paid by one payout, of its program and currency",
        "UPDATE commissions SET paid_at = now()",
    ),
    (
        "a payout pays what refunds had left of a commission, once",
        "UPDATE commissions SET paid_at = now(), payout_id = 1",
    ),
    (
        "sale, customer, commission and partner are of one program",
        "UPDATE customers SET program_id = program_id + 1",
    ),
    (
        "no test row earns anything",
        "UPDATE commissions SET is_test = true",
    ),
    (
        "no test row takes a transaction_id, a refund or a subscription",
        "UPDATE sale_events SET is_test = true",
    ),
    (
        "a link's clicks and last_clicked agree with its real click events that count",
        "UPDATE referral_links SET clicks = clicks + 1",
    ),
    (
        "a membership's clicks agree with those of its links",
        "UPDATE partner_programs SET clicks = clicks + 1",
    ),
    (
        "a program's days are what its events add up to",
        "INSERT INTO rollup_deltas (program_id, day, sales) SELECT id, current_date, 1 FROM programs",
    ),
    (
        "a link's days are what its events add up to",
        "INSERT INTO rollup_deltas (program_id, referral_link_id, day, clicks)
         SELECT program_id, id, current_date, 1 FROM referral_links",
    ),
    (
        "what a program gave back on a day is what its refunds add up to",
        "UPDATE refunds SET refunded_at = refunded_at - interval '1 day'",
    ),
    (
        "what was given back under a link on a day is what its refunds add up to",
        "UPDATE sale_events SET referral_link_id = NULL WHERE processor_event_id = 't2'",
    ),
    (
        "a day has no more clicks by country, device or referrer than in all",
        "INSERT INTO click_origin_deltas (program_id, day, origin, value, clicks)
         SELECT id, current_date, 'country', 'DE', 1000 FROM programs",
    ),
    (
        "a customer's months are what their sales add up to",
        "INSERT INTO customer_month_deltas (program_id, customer_id, month, currency, sales, revenue_cents, refunded_cents,
                                            commission_cents, deducted_cents)
         SELECT program_id, id, '2001-01-01', 'USD', 1, 0, 0, 0, 0 FROM customers",
    ),
    (
        "a program's cohorts are what its customers' months add up to",
        "INSERT INTO program_cohorts SELECT id, '2001-01-01', '2001-01-01', '', 1, 0, 0, 0, 0, 0 FROM programs",
    ),
    (
        "a customer's status agrees with its dates and events",
        "UPDATE customers SET status = 'lead'",
    ),
    (
        "no claim is open, and no outbox row unsent, for over a minute",
        "UPDATE transaction_claims SET state = 'open', payload = '{}', sale_id = NULL,
                claimed_at = now() - interval '2 minutes'",
    ),
    (
        "a payment is one sale, under however many names",
        "INSERT INTO processor_refs (program_id, reference, payment)
         SELECT program_id, transaction_id, 't1' FROM transaction_claims WHERE transaction_id IN ('t1', 't2')",
    ),
    (
        "a duplicate is wholly reversed, and its original is an earlier sale of its program",
        "UPDATE sale_events SET duplicate_of = (SELECT id FROM sale_events WHERE processor_event_id = 't1')
         WHERE processor_event_id = 't2'",
    ),
    (
        "what a processor took back of a sale is counted on it, once",
        "UPDATE sale_events SET processor_refunded_cents = 1 WHERE processor_event_id = 't1'",
    ),
    (
        "no processor event is open for over a minute past its turn",
        "INSERT INTO processor_events (event_id, processor_event_id, kind, occurred_at, received_at, payload, relay_after)
         VALUES (gen_random_uuid(), 'evt_1', 'charge.succeeded', now(), now(), '{}', now() - interval '2 minutes')",
    ),
    (
        "click_ids are unique, and no event is without its customer",
        "DELETE FROM customers",
    ),
    (
        "texts that clicks share are stored",
        "UPDATE click_events SET user_agent = NULL, user_agent_id = 1",
    ),
    (
        "no commission for a link first clicked after the payment",
        "UPDATE click_events SET click_timestamp = click_timestamp + interval '1 second'
         WHERE referral_link_id = (SELECT max(referral_link_id) FROM click_events);
         UPDATE sale_events SET sale_date = sale_date - interval '1 day'",
    ),
    (
        "a one-time commission is for the customer's first payment",
        "UPDATE commissions SET commission_type = 'cps_one_time'",
    ),
    (
        "a recurring commission is within its months of the first payment",
        "UPDATE commissions SET commission_type = 'cps_recurring', default_duration_months = 1;
         UPDATE sale_events SET sale_date = sale_date + interval '40 days' WHERE processor_event_id = 't2'",
    ),
    (
        "archived programs have no later sales",
        "UPDATE programs SET status = 'archived', archived_at = '2000-01-01'",
    ),
    (
        "no sale outside its attribution window",
        "UPDATE sale_events SET sale_date = sale_date + interval '1 year'",
    ),
    (
        "what waits to be delivered is an event of its program",
        "INSERT INTO webhook_queue (endpoint_id, program_id, event_id, event_type, event_created_at, position, created_at, due_at)
         VALUES (1, 1, gen_random_uuid(), 'lead.created', now(), 1, now(), now())",
    ),
];

#[tokio::test]
async fn verify_finds_whatever_breaks_an_invariant() {
    let names: Vec<_> = INVARIANTS.iter().map(|invariant| invariant.name).collect();
    let damaged: Vec<_> = DAMAGES.iter().map(|(name, _)| *name).collect();
    assert_eq!(damaged, names, "each invariant has its damage, in order");
    let (stack, program) = Stack::with_program().await;
    for (code, customer, sales) in [
        (&program.ada.code, "user-1", &["t1", "t2"][..]),
        (&program.bruno.code, "user-2", &["t3"][..]),
    ] {
        stack.customer(&program, code, customer).await;
        for transaction_id in sales {
            stack.sold(&program, sale_of(transaction_id, customer)).await;
        }
    }
    stack.refunded(&program, refund_of("t2", 100)).await;
    Streams::of(&stack).await.drained(&stack).await;
    stack.verify().await;
    for (name, damage) in DAMAGES {
        let found = stack.broken_by(damage).await;
        assert!(found.contains(name), "{name}: {found:?}");
    }
    stack.verify().await;
}

/// A renewal is credited like the first payment of its subscription, whatever customer pays it. A later click
/// changes nothing.
#[tokio::test]
async fn who_renews_anothers_subscription_may_click_its_link_afterwards() {
    let (stack, program) = Stack::with_program().await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    let renewing = stack.customer(&program, &program.bruno.code, "user-2").await;
    for (transaction_id, customer) in [("t1", "user-1"), ("t2", "user-2")] {
        let renewal = json!({ "subscription_id": "sub-1", "is_recurring": transaction_id == "t2" });
        let sale = sale_of(transaction_id, customer).with(renewal);
        stack.sold(&program, sale).await;
    }
    stack.returns(&program.ada, &renewing, 2).await;
    let of_ada = format!("commissions WHERE referral_link_id = {}", program.ada.link);
    assert_eq!(stack.count(&of_ada).await, 2);
    stack.verify().await;
}

#[tokio::test]
async fn a_movement_that_was_changed_is_found() {
    let shop = Shop::open().await;
    shop.sell("t1", json!({})).await;
    shop.refund("t1", 2500).await;
    shop.stack.verify().await;
    // A partner's balance is compared with the balances of the memberships.
    let balance = "partner-program balance = sum of its ledger entries";
    for kind in ["accrual", "reversal"] {
        for damage in [
            format!("DELETE FROM ledger_entries WHERE kind = '{kind}'"),
            format!("UPDATE ledger_entries SET amount_cents = -amount_cents WHERE kind = '{kind}'"),
            format!("UPDATE ledger_entries SET currency = 'EUR' WHERE kind = '{kind}'"),
            format!(
                "UPDATE ledger_entries SET partner_id = 4711, partner_program_id = 4711 WHERE kind = '{kind}'"
            ),
        ] {
            let broken = shop.stack.broken_by(&damage).await;
            assert!(broken.contains(&balance), "{damage}: {broken:?}");
        }
    }
    let of_no_commission =
        "INSERT INTO ledger_entries (entry_group, kind, program_id, partner_program_id, partner_id,
             commission_id, currency, amount_cents, requested_cents)
         SELECT entry_group, kind, program_id, partner_program_id, partner_id, 4711, currency, 0, 0
         FROM ledger_entries WHERE kind = 'accrual'";
    let broken = shop.stack.broken_by(of_no_commission).await;
    let accrual = "a commission's accrual is in the ledger, and what refunds took from it";
    assert_eq!(broken, [accrual]);
}
