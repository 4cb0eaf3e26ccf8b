//! Servers go away during traffic and come back. Acknowledged events are stored exactly once.

use std::collections::BTreeSet;
use std::sync::Arc;

use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::json;
use test_harness::{Answer, Edge, PASSWORD, Program, Stack, Streams, answering_within, sale_of};
use testing::{OwnNats, OwnPostgres, TestDatabase, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A visitor's clicks, one after the other.
struct Clicking {
    stop: CancellationToken,
    sent: watch::Receiver<usize>,
    answers: JoinHandle<Vec<Answer>>,
}

impl Clicking {
    fn start(edge: Edge, code: &str) -> Self {
        let stop = CancellationToken::new();
        let (count, sent) = watch::channel(0);
        let body = json!({ "affiliate_url": format!("https://shop.example/?aff={code}") });
        let until = stop.clone();
        let answers = tokio::spawn(async move {
            let mut answers = Vec::new();
            while !until.is_cancelled() {
                answers.push(edge.post("click", None, &body).await);
                count.send_replace(answers.len());
            }
            answers
        });
        Self { stop, sent, answers }
    }

    /// Waits for this many further answers.
    async fn more(&mut self, clicks: usize) {
        let goal = *self.sent.borrow() + clicks;
        self.sent.wait_for(|sent| *sent >= goal).await.unwrap();
    }

    async fn finish(self) -> Vec<Answer> {
        self.stop.cancel();
        self.answers.await.unwrap()
    }
}

fn click_ids(answers: &[Answer]) -> BTreeSet<String> {
    let acknowledged = answers.iter().filter(|answer| answer.status == StatusCode::OK);
    acknowledged
        .map(|answer| answer.body["click_id"].as_str().unwrap().to_owned())
        .collect()
}

async fn stored_click_ids(stack: &Stack) -> BTreeSet<String> {
    let ids: Vec<String> = stack.values("SELECT click_id FROM click_events").await;
    let distinct: BTreeSet<String> = ids.iter().cloned().collect();
    assert_eq!(distinct.len(), ids.len(), "a click is stored twice");
    distinct
}

async fn recorded(stack: &Stack, program: &Program) {
    stack.reaches("sale_events", 1).await;
    assert_eq!(stack.balance(program.ada.membership).await, 1_000);
}

#[tokio::test]
async fn an_ingest_whose_connection_breaks_as_it_starts_starts_all_the_same() {
    let mut stack = Stack::without_services(Clock::system()).await;
    let program = stack.program().await;
    // Programs are read before the service accepts requests.
    let held = stack
        .holding("LOCK TABLE programs IN ACCESS EXCLUSIVE MODE")
        .await;
    let edge = Edge::at(stack.start_ingest());
    stack
        .eventually("it waits for programs, and its connection breaks", async || {
            stack
                .value::<i64>(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                     WHERE datname = current_database() AND application_name = 'ingest' AND wait_event_type = 'Lock'",
                )
                .await
                == 1
        })
        .await;
    held.rollback().await.unwrap();
    edge.ready(&stack).await;
    edge.click(&program.ada.code, None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clicks_are_answered_while_postgres_is_down_and_are_all_there_afterwards() {
    let postgres = Arc::new(OwnPostgres::start());
    let mut stack = Stack::on(TestDatabase::create_on(postgres.url()).await, Clock::system());
    let (edge, worker) = (Edge::at(stack.start_ingest()), Edge::at(stack.start_worker()));
    edge.ready(&stack).await;
    worker.ready(&stack).await;
    let program = stack.program().await;
    let mut clicking = Clicking::start(edge.clone(), &program.ada.code);
    clicking.more(50).await;
    postgres.off_thread(OwnPostgres::stop_at_once).await;
    clicking.more(200).await;
    postgres.off_thread(OwnPostgres::start_again).await;
    clicking.more(50).await;
    let answers = clicking.finish().await;
    assert!(answers.iter().all(|answer| answer.status == StatusCode::OK));
    let acknowledged = click_ids(&answers);
    assert_eq!(acknowledged.len(), answers.len());
    stack
        .eventually("all clicks are stored", async || {
            stored_click_ids(&stack).await.len() == answers.len()
        })
        .await;
    assert_eq!(stored_click_ids(&stack).await, acknowledged);
    stack.verify().await;
    let counted: i64 = stack
        .value("SELECT sum(clicks)::bigint FROM referral_links")
        .await;
    assert_eq!(counted, i64::try_from(answers.len()).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sale_during_a_postgres_outage_is_unknown_and_its_retry_records_it_once() {
    let postgres = Arc::new(OwnPostgres::start());
    let mut stack = Stack::on(TestDatabase::create_on(postgres.url()).await, Clock::system());
    stack.start_services().await;
    let program = stack.program_with_customer().await;
    postgres.off_thread(OwnPostgres::stop_at_once).await;
    let unknown = stack.sale(&program, sale_of("t1", "user-1")).await.is(500);
    assert_eq!(unknown.message(), "Sale tracking failed");
    postgres.off_thread(OwnPostgres::start_again).await;
    stack.ready().await;
    let retry = stack.sale(&program, sale_of("t1", "user-1")).await;
    let known = [StatusCode::OK, StatusCode::CONFLICT];
    assert!(known.contains(&retry.status), "{retry:?}");
    recorded(&stack, &program).await;
    stack.verify().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_clicks_and_claimed_sales_survive_a_kill_of_nats() {
    let mut nats = OwnNats::start();
    let mut stack = Stack::without_services(Clock::system()).await;
    stack.set("NATS_URL", &nats.url());
    let address = stack.start_ingest();
    stack.use_ingest(address);
    let (edge, worker) = (Edge::at(address), Edge::at(stack.start_worker()));
    edge.ready(&stack).await;
    worker.ready(&stack).await;
    let program = stack.program_with_customer().await;
    let mut clicking = Clicking::start(edge.clone(), &program.bruno.code);
    clicking.more(50).await;
    nats.kill();
    for service in [&edge, &worker] {
        let readyz = service.health("readyz").await;
        assert_eq!(readyz, Some(StatusCode::SERVICE_UNAVAILABLE));
        assert_eq!(service.health("livez").await, Some(StatusCode::OK));
    }
    stack.sale(&program, sale_of("t1", "user-1")).await.is(500);
    nats.start_again();
    edge.ready(&stack).await;
    worker.ready(&stack).await;
    clicking.more(50).await;
    let answers = clicking.finish().await;
    let acknowledged = click_ids(&answers);
    stack
        .eventually("every acknowledged click is stored", async || {
            acknowledged.is_subset(&stored_click_ids(&stack).await)
        })
        .await;
    recorded(&stack, &program).await;
    stack.sale(&program, sale_of("t1", "user-1")).await.is(409);
    stack.verify().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sale_is_answered_as_soon_as_nats_is_back_with_an_empty_store() {
    let mut nats = OwnNats::start();
    let mut stack = Stack::without_services(Clock::system()).await;
    stack.set("NATS_URL", &nats.url());
    stack.start_services().await;
    let program = stack.program_with_customer().await;
    nats.kill();
    nats.wipe();
    nats.start_again();
    // Only the caller's own deadline matters: it is shorter than the time after which silence is noticed.
    stack.sold(&program, sale_of("t1", "user-1")).await;
    recorded(&stack, &program).await;
    stack.verify().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_listener_hangs_a_token_that_was_replaced_is_refused_all_the_same() {
    let postgres = Arc::new(OwnPostgres::start());
    let mut stack = Stack::on(TestDatabase::create_on(postgres.url()).await, Clock::system());
    let edge = Edge::at(stack.start_ingest());
    edge.ready(&stack).await;
    let program = stack.program().await;
    let sale = async || edge.post("sale", Some(&program.token), &json!({})).await.status;
    assert_eq!(sale().await, StatusCode::BAD_REQUEST);
    let listener: i32 = stack
        .value("SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN %'")
        .await;
    signal(listener, "STOP");
    stack
        .execute("UPDATE programs SET api_token_hash = sha256('another')")
        .await;
    stack
        .eventually("the token is refused", async || {
            sale().await == StatusCode::UNAUTHORIZED
        })
        .await;
    signal(listener, "CONT");
}

async fn leads_recorded(stack: &Stack, leads: i64) {
    stack.reaches("lead_events", leads).await;
    assert_eq!(stack.count("refused_events").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn leads_of_clicks_answered_during_a_postgres_outage_are_recorded_after_it() {
    const VISITORS: i64 = 8;
    let postgres = Arc::new(OwnPostgres::start());
    let mut stack = Stack::on(TestDatabase::create_on(postgres.url()).await, Clock::system());
    stack.set("ANSWER_WITHIN_MS", "1000");
    stack.start_services().await;
    let program = stack.program().await;
    stack.customer(&program, &program.ada.code, "before").await;
    postgres.off_thread(OwnPostgres::stop_at_once).await;
    for n in 0..VISITORS {
        let click_id = stack.click(&program.ada.code).await;
        stack
            .lead(&program, &click_id, &format!("user-{n}"))
            .await
            .is(500);
    }
    postgres.off_thread(OwnPostgres::start_again).await;
    stack.ready().await;
    leads_recorded(&stack, VISITORS + 1).await;
    stack.sold(&program, sale_of("t1", "user-0")).await;
    recorded(&stack, &program).await;
    stack.verify().await;
}

#[tokio::test]
async fn a_lead_whose_click_is_held_up_is_unknown_and_recorded_when_the_click_is() {
    // Longer than a lead waits for a missing click.
    let (stack, _) = answering_within(4_000).await;
    let program = stack.program().await;
    let holding_up = stack.hold_up_clicks().await;
    let click_id = stack.click(&program.ada.code).await;
    stack.lead(&program, &click_id, "user-1").await.is(500);
    holding_up.rollback().await.unwrap();
    leads_recorded(&stack, 1).await;
    stack.sold(&program, sale_of("t1", "user-1")).await;
    recorded(&stack, &program).await;
    Streams::of(&stack).await.drained(&stack).await;
    stack.verify().await;
}

/// One request of each kind: account, advertiser, dashboard reads, partner and command line.
async fn of_each_kind(stack: &Stack, program: &Program, owner: &str, partner: &str) -> [Answer; 8] {
    let settings = program.path("");
    let email = format!("owner-of-{}@program.example", program.program_id);
    let (partners, report) = (format!("{settings}/partners"), format!("{settings}/report"));
    futures::join!(
        stack.sign_in(&email, PASSWORD),
        stack.get("/api/users/me", owner),
        stack.get(&settings, owner),
        stack.get(&partners, owner),
        stack.get(&report, owner),
        stack.put(&settings, owner, json!({ "name": "Shop" })),
        stack.get("/api/partner/programs", partner),
        stack.submit("/api/v1/cli/auth/start", None, json!({})),
    )
    .into()
}

#[tokio::test(flavor = "multi_thread")]
async fn management_is_503_while_postgres_is_down_and_answers_as_soon_as_it_is_back() {
    let postgres = Arc::new(OwnPostgres::start());
    let mut stack = Stack::on(TestDatabase::create_on(postgres.url()).await, Clock::system());
    let address = stack.start_ingest();
    stack.use_ingest(address);
    Edge::at(address).ready(&stack).await;
    let program = stack.program().await;
    let owner = stack.owner_of(&program).await.token;
    let partner = stack
        .account_of("ada@partner.example", &[program.ada.partner_id])
        .await
        .token;
    let requests = async || of_each_kind(&stack, &program, &owner, &partner).await;
    let all_succeed = async || {
        for answer in requests().await {
            answer.ok();
        }
    };
    // Each pool has idle connections then, which the restart breaks.
    all_succeed().await;
    postgres.off_thread(OwnPostgres::stop_at_once).await;
    postgres.off_thread(OwnPostgres::start_again).await;
    all_succeed().await;
    postgres.off_thread(OwnPostgres::stop_at_once).await;
    for answer in requests().await {
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{answer:?}");
        assert_eq!(answer.body["error"]["name"], "ServiceUnavailableError");
        assert_eq!(answer.header("retry-after"), "1");
    }
    postgres.off_thread(OwnPostgres::start_again).await;
    all_succeed().await;
}
