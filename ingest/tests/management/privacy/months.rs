//! An export or an erasure reads the customer's months, not the months of all events.

use std::collections::BTreeSet;

use chrono::{Datelike, Months};
use serde_json::json;
use sqlx::{Connection, PgConnection};
use storage::operations::partitions;
use storage::people::personal_data::{self, Identifiers, Reach};

use super::{EMAIL, Jane, KEY, TOLD, standing, visit};

/// Scans of partitions in this transaction: the month, and the index of the event table that was used, or
/// `whole`.
///
/// `PostgreSQL` counts scans when its executor starts them: partitions that a plan prunes are not among them.
const SCANS: &str = "
    SELECT partition.relname::text, coalesce(index.relname, 'whole')::text
    FROM pg_inherits h JOIN pg_class partition ON partition.oid = h.inhrelid
    CROSS JOIN LATERAL (SELECT partition.oid AS scanned, NULL::oid AS index
                        UNION ALL
                        SELECT i.indexrelid, a.inhparent FROM pg_index i JOIN pg_inherits a ON a.inhrelid = i.indexrelid
                        WHERE i.indrelid = partition.oid) s
    LEFT JOIN pg_class index ON index.oid = s.index
    WHERE h.inhparent IN ('click_events'::regclass, 'lead_events'::regclass) AND pg_stat_get_xact_numscans(s.scanned) > 0";

#[tokio::test]
async fn only_months_of_the_customer_are_read_and_by_indexes() {
    let jane = Jane::came().await;
    let stack = &jane.stack;
    let now = stack.clock.now();
    let month = |before: u32| {
        let first = now.date_naive().with_day(1).unwrap() - Months::new(before);
        format!("y{}m{:02}", first.year(), first.month())
    };
    let from = now.date_naive().with_day(1).unwrap() - Months::new(12);
    partitions::ensure(stack.pool(), from, 13).await.unwrap();
    // The first click was three months ago.
    for earlier in [
        "UPDATE click_events SET click_timestamp = click_timestamp - interval '3 months'
         WHERE click_timestamp = (SELECT min(click_timestamp) FROM click_events)",
        "UPDATE customers SET first_click_at = (SELECT min(click_timestamp) FROM click_events),
                touched_at[1] = (SELECT min(click_timestamp) FROM click_events)",
    ] {
        stack.execute(earlier).await;
    }
    // No other partition was scanned. Small tables are read whole; large ones are not.
    let mut connection = PgConnection::connect_with(&stack.pool().connect_options())
        .await
        .unwrap();
    let mut transaction = connection.begin().await.unwrap();
    sqlx::query("SET LOCAL enable_seqscan = off")
        .execute(&mut *transaction)
        .await
        .unwrap();
    let stated = Identifiers {
        customer_key: Some(KEY),
        ..Identifiers::default()
    };
    let program_id = jane.program.program_id;
    let found = personal_data::find(&mut transaction, program_id, stated, Reach::Program, |_| {})
        .await
        .unwrap();
    let export = personal_data::export(&mut transaction, &found).await.unwrap();
    assert_eq!(export.click_events.as_array().unwrap().len(), 2);
    assert_eq!(export.lead_events.as_array().unwrap().len(), 1);
    let erased = personal_data::erase(&mut transaction, &found, now).await.unwrap();
    assert_eq!((erased.click_events, erased.lead_events), (2, 1));
    let scans: BTreeSet<(String, String)> = sqlx::query_as(SCANS)
        .fetch_all(&mut *transaction)
        .await
        .unwrap()
        .into_iter()
        .collect();
    let by = |index: &str| -> BTreeSet<&str> {
        scans
            .iter()
            .filter(|(_, by)| by == index)
            .map(|(partition, _)| partition.as_str())
            .collect()
    };
    // Clicks, the largest table, in the two months that contain hers.
    let hers = [month(3), month(0)].map(|month| format!("click_events_{month}"));
    assert_eq!(by("click_events_real"), hers.iter().map(String::as_str).collect());
    let indexes: BTreeSet<&str> = scans.iter().map(|(_, by)| by.as_str()).collect();
    let few = [
        "click_events_held",
        "click_events_uncounted",
        "lead_events_customer",
    ];
    let all = few
        .into_iter()
        .chain(["click_events_real", "lead_events_customer_key"]);
    assert_eq!(indexes, all.collect());
    for index in few {
        let (first, before) = (month(3), month(5));
        assert!(
            by(index).iter().any(|partition| partition.ends_with(&first)),
            "{index}"
        );
        assert!(
            !by(index).iter().any(|partition| partition.ends_with(&before)),
            "{index}"
        );
    }
}

#[tokio::test]
async fn clicks_that_her_row_does_not_date_are_found_too() {
    let jane = Jane::came().await;
    let stack = &jane.stack;
    stack.execute("UPDATE programs SET exclude_bots = true").await;
    let mut bot = visit();
    bot["user_agent"] = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)".into();
    bot["existing_click_id"] = jane.click_id.as_str().into();
    let clicked = stack.click_with(&jane.program.ada.code, bot).await.ok();
    assert_eq!(clicked.body["click_id"], jane.click_id.as_str());
    stack.reaches("click_events WHERE NOT counted", 1).await;
    // 130 clicks, a minute apart. Her row keeps the first and the 100 latest.
    for crowd in [
        "INSERT INTO click_events (event_id, program_id, referral_link_id, customer_id, click_timestamp, click_id, page_title, counted, is_bot)
         SELECT gen_random_uuid(), c.program_id, c.first_referral_link_id, c.id, c.first_click_at + n * interval '1 minute', c.click_id,
                'Welcome back, Jane Doe 4711', true, false
         FROM customers c, generate_series(1, 130) n",
        "UPDATE customers c SET touched_link_ids = ARRAY[first_referral_link_id], touched_at = ARRAY[first_click_at + interval '130 minutes'],
                earlier_link_ids = array_fill(first_referral_link_id, ARRAY[99]),
                earlier_at = (SELECT array_agg(c.first_click_at + n * interval '1 minute') FROM generate_series(31, 129) n)",
    ] {
        stack.execute(crowd).await;
    }
    let exported = jane.ask("export", json!({ "customer_key": KEY })).await.ok();
    // The second click has left her row, together with 29 others.
    let clicks = exported.body["data"]["click_events"].as_array().unwrap();
    assert_eq!(clicks.len(), 133);
    let erased = jane
        .ask("erase", json!({ "customer_key": KEY, "email": EMAIL }))
        .await
        .ok();
    assert_eq!(erased.body["data"]["click_events"], 133);
    assert_eq!(standing(stack, &TOLD[2..9]).await, [""; 0]);
    assert_eq!(standing(stack, &[jane.click_id.as_str()]).await, [""; 0]);
}
