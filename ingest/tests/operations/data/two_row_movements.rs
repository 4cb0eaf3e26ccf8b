//! Earlier releases wrote a movement as two rows: they stay, beside movements of one row.

use reqwest::StatusCode;
use serde_json::json;
use test_harness::{Shop, Stack, succeeds};

use super::sabotage::broken_by;

const MIRRORS: &str = "a row of the program's side, from an earlier release, mirrors one of the partner's";

/// Writes the program's side of these movements out, as earlier releases did.
pub(super) async fn write_out(stack: &Stack, movements: &str) {
    stack
        .execute(&format!(
            "INSERT INTO ledger_entries (entry_group, kind, account, program_id, partner_program_id, partner_id,
                 commission_id, sale_id, currency, amount_cents, requested_cents, shortfall_cents)
             SELECT entry_group, kind, 'program', program_id, partner_program_id, partner_id,
                    commission_id, sale_id, currency, -amount_cents, requested_cents, shortfall_cents
             FROM ledger_entries WHERE account = 'partner' AND {movements}"
        ))
        .await;
}

/// Sales, a refund and a payout of an earlier release; then each kind of movement, the last payout by both releases.
async fn upgraded() -> Shop {
    let shop = Shop::open().await;
    let (kept, paid) = (
        shop.sell("kept", json!({})).await,
        shop.sell("paid", json!({})).await,
    );
    shop.refund("kept", 2500).await;
    shop.approve(&[paid]).await;
    shop.pay(json!({ "commission_ids": [paid] })).await;
    write_out(&shop.stack, "true").await;

    // Owed back: 20.00. The refund of an unpaid sale takes the balance from 15.00 to zero, and the next one nothing.
    shop.refund("paid", 10_000).await;
    shop.sell("lost", json!({})).await;
    shop.refund("lost", 10_000).await;
    shop.refund("kept", 2000).await;
    assert_eq!(shop.balance().await, 0);
    let body = json!({ "amount_cents": 500, "reason": "agreed" });
    let raised = shop.post(&format!("commissions/{kept}/adjust"), body).await;
    assert_eq!(raised.status, StatusCode::OK, "{raised:?}");
    // Its 20.00 settle the debt, and a settlement leaves on the balance what is left of the first commission: 16.00.
    let held_back = shop.sell("held back", json!({})).await;
    shop.approve(&[held_back]).await;
    shop.pay(json!({ "commission_ids": [held_back] })).await;
    write_out(&shop.stack, "kind = 'payout' AND shortfall_cents > 0").await;
    // A movement of one row beside a pair of the same event, commission and kind.
    shop.stack
        .execute(
            "INSERT INTO ledger_entries (entry_group, kind, account, program_id, partner_program_id, partner_id,
                 commission_id, sale_id, currency, amount_cents, requested_cents)
             SELECT entry_group, kind, 'partner', program_id, partner_program_id, partner_id,
                    commission_id, sale_id, currency, 0, 0
             FROM ledger_entries WHERE account = 'program' AND kind = 'accrual'",
        )
        .await;
    shop
}

#[tokio::test]
async fn movements_of_two_rows_and_of_one_add_up() {
    let shop = upgraded().await;
    let kinds = "SELECT count(DISTINCT kind) FROM ledger_entries l WHERE account = 'partner' AND NOT EXISTS
                     (SELECT FROM ledger_entries p WHERE p.account = 'program' AND p.entry_group = l.entry_group
                      AND p.kind = l.kind)";
    // All but the payout, whose other side is written out.
    assert_eq!(shop.stack.value::<i64>(kinds).await, 4);
    shop.stack.verify().await;
    assert_eq!(shop.balance().await, 1600);
    for damage in [
        "UPDATE partner_program_balances SET balance_cents = balance_cents + 7",
        "DELETE FROM partner_balances",
    ] {
        shop.stack.execute(damage).await;
    }
    let rebuilt = succeeds(&shop.stack, &["balances", "rebuild"]).await;
    assert_eq!(rebuilt.out.trim(), "balances rebuilt, 2 were wrong");
    assert_eq!(shop.balance().await, 1600);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_side_written_out_that_mirrors_no_movement_is_found() {
    let shop = upgraded().await;
    let of_partner =
        "UPDATE ledger_entries SET amount_cents = amount_cents + 1, requested_cents = requested_cents + 1
                      WHERE account = 'partner' AND kind = 'accrual' AND amount_cents > 0";
    let of_program =
        "UPDATE ledger_entries SET amount_cents = amount_cents - 1, requested_cents = requested_cents + 1
                      WHERE account = 'program' AND kind = 'accrual'";
    for damage in [
        of_partner,
        of_program,
        "DELETE FROM ledger_entries WHERE account = 'partner' AND kind = 'accrual'",
        "UPDATE ledger_entries SET amount_cents = -amount_cents WHERE account = 'program'",
        "UPDATE ledger_entries SET amount_cents = amount_cents + 1, shortfall_cents = shortfall_cents + 1
         WHERE account = 'program' AND kind = 'accrual'",
        "UPDATE ledger_entries SET currency = 'EUR' WHERE account = 'program'",
        "UPDATE ledger_entries SET kind = 'adjustment' WHERE account = 'program' AND kind = 'accrual'",
        "UPDATE ledger_entries SET commission_id = commission_id + 1 WHERE account = 'program'",
        "UPDATE ledger_entries SET entry_group = gen_random_uuid() WHERE account = 'program'",
        // One twice.
        "INSERT INTO ledger_entries (entry_group, kind, account, program_id, partner_program_id, partner_id,
             commission_id, sale_id, currency, amount_cents, requested_cents, shortfall_cents)
         SELECT entry_group, kind, account, program_id, partner_program_id, partner_id,
                commission_id, sale_id, currency, amount_cents, requested_cents, shortfall_cents
         FROM ledger_entries WHERE account = 'program'",
    ] {
        let broken = broken_by(&shop.stack, damage).await;
        assert!(broken.contains(&MIRRORS), "{damage}: {broken:?}");
    }
}

#[tokio::test]
async fn a_movement_of_one_row_that_was_changed_is_found() {
    let shop = Shop::open().await;
    shop.sell("t1", json!({})).await;
    shop.refund("t1", 2500).await;
    shop.stack.verify().await;
    // A partner's balance is compared with those of the memberships.
    let balance = "partner-program balance = sum of its ledger entries";
    for kind in ["accrual", "reversal"] {
        for damage in [
            format!("DELETE FROM ledger_entries WHERE kind = '{kind}'"),
            format!(
                "UPDATE ledger_entries SET account = 'program', amount_cents = -amount_cents WHERE kind = '{kind}'"
            ),
            format!("UPDATE ledger_entries SET amount_cents = -amount_cents WHERE kind = '{kind}'"),
            format!("UPDATE ledger_entries SET currency = 'EUR' WHERE kind = '{kind}'"),
            format!(
                "UPDATE ledger_entries SET partner_id = 4711, partner_program_id = 4711 WHERE kind = '{kind}'"
            ),
        ] {
            let broken = broken_by(&shop.stack, &damage).await;
            assert!(broken.contains(&balance), "{damage}: {broken:?}");
        }
    }
}
