//! Initial states that several tests share.

use chrono::{DateTime, Utc};
use domain::earnings::ledger::payout;
use domain::earnings::payout::pay;
use domain::ids::{CommissionId, EventId, SaleId};
use domain::money::{Cents, Currency};
use sqlx::AssertSqlSafe;
use storage::money::ledger::{NewEntry, post};
use storage::money::payouts::{self, NewPayout};

use crate::program::{Program, noon};
use crate::stack::Stack;
use crate::{recomputation, rows};

/// Pays Ada's commission of a sale in a payout of its own, even if the commission is pending.
pub async fn pay_out(stack: &Stack, program: &Program, transaction_id: &str) {
    let commission = rows::commission(stack, transaction_id).await;
    let number = |column: &str| commission[column].as_i64().unwrap();
    let amount = Cents::new(number("amount_cents"));
    let event_id = EventId::new(stack.clock.mint());
    let new = NewPayout {
        event_id,
        program_id: program.program_id,
        currency: Currency::USD,
        amount,
        commission_count: 1,
        reference: None,
        idempotency_key: None,
        request_hash: None,
        created_at: stack.clock.now(),
    };
    let entry = NewEntry {
        entry_group: event_id,
        entry: payout(&pay(amount, Cents::ZERO)),
        program_id: program.program_id,
        partner_program_id: program.ada.membership,
        partner_id: program.ada.partner_id,
        commission_id: CommissionId::new(number("id")),
        sale_id: Some(SaleId::new(number("sale_id"))),
        currency: Currency::USD,
    };
    let mut transaction = stack.pool().begin().await.unwrap();
    let payout_id = payouts::insert(&mut transaction, &new).await.unwrap();
    let ids = [number("id")];
    payouts::mark_paid(&mut transaction, payout_id, &ids, &["paid"], new.created_at)
        .await
        .unwrap();
    post(&mut transaction, &[entry]).await.unwrap();
    transaction.commit().await.unwrap();
}

pub async fn mark_for_rotation(stack: &Stack, program: &Program, rotate_by: DateTime<Utc>) {
    let marked = format!("key_rotation_marked_at = '{}'", noon());
    rows::set(
        stack,
        program,
        &format!("{marked}, key_rotation_rotate_by = '{rotate_by}'"),
    )
    .await;
}

/// A thief's click on Ada's link and the user's click on Bruno's link, both stored.
pub async fn two_clicks(stack: &Stack, program: &Program) -> (String, String) {
    let clicks = (
        stack.click(&program.ada.code).await,
        stack.click(&program.bruno.code).await,
    );
    rows::counted(stack, program.ada.link, 1).await;
    rows::counted(stack, program.bruno.link, 1).await;
    clicks
}

/// A digest of the content of every table. Rollups are compared by their sums, because the worker folds them
/// at any time. `token_uses` is left out, because an ingest writes it some seconds after the calls.
pub async fn digests(stack: &Stack) -> Vec<(String, Option<String>)> {
    let tables = rows::tables_but(stack, &["token_uses"]).await;
    let mut digests = Vec::new();
    for table in tables {
        let query = format!("SELECT md5(string_agg(t::text, chr(10) ORDER BY t::text)) FROM {table} t");
        let digest = sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(stack.pool());
        let digest = digest.await.unwrap();
        digests.push((table, digest));
    }
    let rollups = format!("{:?}", recomputation::kept(stack).await);
    digests.push(("rollups".to_owned(), Some(rollups)));
    digests
}
