//! Another session keeps a row locked. Records of other customers are settled meanwhile, even those of the
//! same batch.

use futures::future::join_all;
use messages::subject::Subject;
use serde_json::{Value, json};
use test_harness::{Answer, Edge, PATIENT, Program, Stack, Streams, answering_within, sale_of};
use tokio::task::JoinHandle;

/// Customers of another tenant.
const OTHERS: usize = 20;

fn sale_in_background(edge: &Edge, program: &Program, transaction_id: &str, key: &str) -> JoinHandle<Answer> {
    edge.in_background(program, "sale", sale_of(transaction_id, key))
}

async fn all_ok(answers: impl IntoIterator<Item = JoinHandle<Answer>>) {
    for answer in join_all(answers).await {
        answer.unwrap().ok();
    }
}

/// The number of records in a stream, however they are packed.
async fn records(streams: &Streams, subject: Subject) -> usize {
    let in_message = |payload: &[u8]| {
        let envelope: Value = serde_json::from_slice(payload).unwrap();
        envelope["records"].as_array().unwrap().len()
    };
    let messages = streams.messages(subject).await;
    messages.iter().map(|payload| in_message(payload)).sum()
}

async fn published(stack: &Stack, streams: &Streams, subject: Subject, expected: usize) {
    stack
        .eventually("all of them are published", async || {
            records(streams, subject).await == expected
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_customer_holds_up_nobody_elses_clicks_leads_and_sales() {
    let (mut stack, edge) = answering_within(PATIENT).await;
    let (program, other) = (stack.program().await, stack.program().await);
    let streams = Streams::of(&stack).await;
    let locked_click = stack.customer(&program, &program.ada.code, "user-1").await;
    stack.customer(&other, &other.ada.code, "known").await;
    streams.drained(&stack).await;
    stack.stop_workers().await;
    let clicks = records(&streams, Subject::Clicks).await;
    let id = program.program_id;
    let lock = format!("SELECT id FROM customers WHERE program_id = {id} FOR UPDATE");
    let held = stack.holding(&lock).await;

    // No worker runs, so the next records end up in the same batches.
    edge.click(&program.bruno.code, Some(&locked_click)).await;
    let mut newcomers = Vec::new();
    for _ in 0..OTHERS {
        newcomers.push(edge.click(&other.ada.code, None).await);
    }
    published(&stack, &streams, Subject::Clicks, clicks + 1 + OTHERS).await;
    let leads = records(&streams, Subject::Leads).await;
    let locked_sale = sale_in_background(&edge, &program, "t1", "user-1");
    let others_leads: Vec<_> = newcomers
        .iter()
        .enumerate()
        .map(|(n, click_id)| {
            let lead = json!({ "click_id": click_id, "customer_key": format!("new-{n}") });
            edge.in_background(&other, "lead", lead)
        })
        .collect();
    let others_sales: Vec<_> = (0..OTHERS)
        .map(|n| sale_in_background(&edge, &other, &format!("o{n}"), "known"))
        .collect();
    published(&stack, &streams, Subject::Leads, leads + OTHERS).await;
    published(&stack, &streams, Subject::Sales, 1 + OTHERS).await;
    stack.start_worker();
    all_ok(others_leads).await;
    all_ok(others_sales).await;
    assert!(!locked_sale.is_finished());

    held.rollback().await.unwrap();
    all_ok([locked_sale]).await;
    streams.drained(&stack).await;
    // The click of the locked customer is settled too.
    let last_link =
        "SELECT touched_link_ids[cardinality(touched_link_ids)] FROM customers WHERE customer_key = 'user-1'";
    assert_eq!(stack.value::<i64>(last_link).await, program.bruno.link.get());
    assert_eq!(stack.count("dead_letters").await, 0);
    stack.verify().await;
}
