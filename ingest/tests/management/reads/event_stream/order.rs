use domain::programs::outbound_event::OutboundEventType;
use serde_json::json;

use super::{Reader, add, ids, next};

const TYPE: OutboundEventType = OutboundEventType::SaleRecorded;

#[tokio::test]
async fn who_has_read_to_the_end_is_told_of_a_transaction_that_commits_late() {
    let reader = Reader::begun().await;
    let mut late = reader.stack.pool().begin().await.unwrap();
    let first = add(&mut late, &reader.program, TYPE, None).await;
    let second = reader.happens(TYPE).await;
    reader.place().await;
    let page = reader.after(&reader.start).await;
    assert_eq!(ids(&page), [second.as_str()]);
    let end = next(&page);
    // This transaction began and wrote before the events that have been read.
    late.commit().await.unwrap();
    let third = reader.happens(TYPE).await;
    reader.place().await;
    let page = reader.after(&end).await;
    assert_eq!(ids(&page), [first.as_str(), third.as_str()]);
    assert_eq!(reader.after(&next(&page)).await.body["data"], json!([]));
    // A second reader from the start reads the same events in the same order.
    let (all, _) = reader.all(&reader.start, 2, "").await;
    assert_eq!(all, [second, first, third]);
}

/// Many transactions commit in any order, while a reader follows them.
#[tokio::test]
async fn a_reader_who_follows_misses_nothing_and_is_told_nothing_twice() {
    const EACH: usize = 40;
    let reader = Reader::begun().await;
    let writer = |n: usize| {
        let (pool, reader) = (reader.stack.pool().clone(), &reader);
        async move {
            let mut written = Vec::new();
            let mut held = None;
            for event in 0..EACH {
                let mut transaction = pool.begin().await.unwrap();
                written.push(add(&mut transaction, &reader.program, TYPE, None).await);
                if (event + n).is_multiple_of(3) {
                    // Commits after the next one.
                    if let Some(before) = held.replace(transaction) {
                        sqlx::Transaction::commit(before).await.unwrap();
                    }
                } else {
                    transaction.commit().await.unwrap();
                }
            }
            if let Some(last) = held {
                last.commit().await.unwrap();
            }
            written
        }
    };
    let follow = async {
        let (mut read, mut cursor) = (Vec::new(), reader.start.clone());
        while read.len() < 3 * EACH {
            reader.place().await;
            let page = reader.read(&format!("after={cursor}&limit=7")).await;
            read.extend(ids(&page));
            cursor = next(&page);
        }
        read
    };
    let (a, b, c, read) = tokio::join!(writer(0), writer(1), writer(2), follow);
    let mut written = [a, b, c].concat();
    let mut sorted = read.clone();
    written.sort();
    sorted.sort();
    assert_eq!(sorted, written);
    let (all, _) = reader.all(&reader.start, 50, "").await;
    assert_eq!(all, read, "read again in another order");
}

#[tokio::test]
async fn types_are_read_alone_and_the_cursor_passes_the_others() {
    let reader = Reader::begun().await;
    let mut sales = Vec::new();
    let mut clicks = Vec::new();
    for _ in 0..3 {
        clicks.extend(reader.clicks(2).await);
        sales.push(reader.happens(TYPE).await);
        reader.happens(OutboundEventType::PartnerEnrolled).await;
    }
    reader.place().await;
    let (read, end) = reader.all(&reader.start, 2, "&types=sale.recorded").await;
    assert_eq!(read, sales);
    assert_eq!(reader.after(&end).await.body["data"], json!([]));
    let (read, _) = reader.all(&reader.start, 1, "&types=click.recorded").await;
    assert_eq!(read, clicks);
    let (read, end) = reader.all(&reader.start, 10, "&types=payout.created").await;
    assert_eq!(read, [""; 0]);
    assert_eq!(reader.after(&end).await.body["data"], json!([]));
}

/// More events than one answer looks at.
#[tokio::test]
async fn a_rare_type_is_found_behind_many_others() {
    let reader = Reader::begun().await;
    let statement = format!(
        "INSERT INTO outbound_events (event_id, program_id, event_type, occurred_at, body)
             SELECT gen_random_uuid(), {}, 'sale.recorded', now(), '{{}}' FROM generate_series(1, 20000)",
        reader.program.program_id
    );
    reader.stack.execute(&statement).await;
    let rare = reader.happens(OutboundEventType::PayoutCreated).await;
    reader.place().await;
    let page = reader
        .read(&format!("after={}&types=payout.created", reader.start))
        .await;
    assert_eq!(page.body["data"], json!([]));
    assert_eq!(page.body["meta"]["has_more"], true);
    let (read, _) = reader.all(&next(&page), 10, "&types=payout.created").await;
    assert_eq!(read, [rare]);
}
