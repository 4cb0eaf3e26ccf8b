//! A PostgreSQL server is lost under load, and its standby takes over behind the same address.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{Edge, Program, Stack, Streams, sale_of, succeeds};
use testing::{OwnPostgres, TestDatabase};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const SELLERS: usize = 4;

/// An address that can move to another server, like a name or a virtual address. Open connections stay with
/// their server.
struct Address {
    at: SocketAddr,
    leads_to: watch::Sender<SocketAddr>,
    /// Connections since the address moved.
    opened: Arc<AtomicUsize>,
}

impl Address {
    async fn leading_to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = Self {
            at: listener.local_addr().unwrap(),
            leads_to: watch::Sender::new(server),
            opened: Arc::default(),
        };
        let (server, opened) = (address.leads_to.subscribe(), Arc::clone(&address.opened));
        tokio::spawn(async move {
            loop {
                let (mut client, _) = listener.accept().await.unwrap();
                let (server, opened) = (*server.borrow(), Arc::clone(&opened));
                tokio::spawn(async move {
                    let Ok(mut server) = TcpStream::connect(server).await else {
                        return;
                    };
                    opened.fetch_add(1, Ordering::SeqCst);
                    // The connection may end in any way.
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                });
            }
        });
        address
    }

    fn move_to(&self, server: SocketAddr) {
        self.leads_to.send_replace(server);
        self.opened.store(0, Ordering::SeqCst);
    }

    fn opened(&self) -> usize {
        self.opened.load(Ordering::SeqCst)
    }
}

/// Counts of answers so far.
#[derive(Default)]
struct Answered {
    sales: AtomicUsize,
    /// Leads and sales that were answered 5xx or not at all: their outcome is unknown.
    unknown: AtomicUsize,
}

/// Sellers. Each sells to one customer after the other, and repeats calls without a final answer.
struct Selling {
    answered: Arc<Answered>,
    stop: CancellationToken,
    sellers: JoinSet<BTreeMap<String, String>>,
}

impl Selling {
    fn start(edge: &Edge, program: &Arc<Program>) -> Self {
        let mut selling = Self {
            answered: Arc::default(),
            stop: CancellationToken::new(),
            sellers: JoinSet::new(),
        };
        for seller in 0..SELLERS {
            let seller = Seller {
                name: format!("seller-{seller}"),
                edge: edge.clone(),
                program: Arc::clone(program),
                answered: Arc::clone(&selling.answered),
            };
            selling.sellers.spawn(seller.sell(selling.stop.clone()));
        }
        selling
    }

    /// Waits for further sales.
    async fn sell_more(&self, stack: &Stack) {
        grows(stack, &self.answered.sales, 5).await;
    }

    /// Waits for further answers that make a seller repeat a call.
    async fn fail_more(&self, stack: &Stack) {
        grows(stack, &self.answered.unknown, 2).await;
    }

    /// The transaction_ids of all sales, each with its customer's click_id.
    async fn finish(self) -> BTreeMap<String, String> {
        self.stop.cancel();
        self.sellers.join_all().await.into_iter().flatten().collect()
    }
}

/// Waits until a count has grown by this many for each seller.
async fn grows(stack: &Stack, count: &AtomicUsize, by: usize) {
    let goal = count.load(Ordering::SeqCst) + by * SELLERS;
    stack
        .eventually("answers come", async || count.load(Ordering::SeqCst) >= goal)
        .await;
}

struct Seller {
    name: String,
    edge: Edge,
    program: Arc<Program>,
    answered: Arc<Answered>,
}

impl Seller {
    async fn sell(self, stop: CancellationToken) -> BTreeMap<String, String> {
        let mut sold = BTreeMap::new();
        while !stop.is_cancelled() {
            let id = format!("{}-{}", self.name, sold.len());
            let click_id = self.edge.click(&self.program.ada.code, None).await;
            // A repeat of a recorded lead is refused.
            let lead = json!({ "click_id": click_id, "customer_key": id });
            self.repeat("lead", &lead, StatusCode::BAD_REQUEST).await;
            self.repeat("sale", &sale_of(&id, &id), StatusCode::CONFLICT)
                .await;
            self.answered.sales.fetch_add(1, Ordering::SeqCst);
            sold.insert(id, click_id);
        }
        sold
    }

    /// Repeats the call until it is answered 200. After an unknown outcome, `recorded` also says that it was
    /// recorded.
    async fn repeat(&self, path: &str, body: &Value, recorded: StatusCode) {
        let mut was_unknown = false;
        loop {
            let answer = self.edge.post(path, Some(&self.program.token), body).await;
            if answer.status == StatusCode::OK || (was_unknown && answer.status == recorded) {
                return;
            }
            assert!(answer.status.is_server_error(), "{answer:?}");
            self.answered.unknown.fetch_add(1, Ordering::SeqCst);
            was_unknown = true;
        }
    }
}

/// The values of one column, and how often each occurs.
async fn stored(stack: &Stack, query: &'static str) -> BTreeMap<String, i64> {
    let rows: Vec<(String, i64)> = sqlx::query_as(query).fetch_all(stack.pool()).await.unwrap();
    rows.into_iter().collect()
}

fn once<'a>(ids: impl Iterator<Item = &'a String>) -> BTreeMap<String, i64> {
    ids.map(|id| (id.clone(), 1)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_takes_over_and_every_answered_sale_is_there_once() {
    let primary = Arc::new(OwnPostgres::start());
    let address = Address::leading_to(primary.address()).await;
    let database = TestDatabase::create_on(OwnPostgres::url_at(address.at)).await;
    let standby = Arc::new(OwnPostgres::standby_of(&primary));
    let mut stack = Stack::on(database, Clock::system());
    stack.set("ANSWER_WITHIN_MS", "1000");
    // From then on, commits wait for the standby.
    stack
        .reaches("pg_stat_replication WHERE sync_state = 'sync'", 1)
        .await;
    let edge = Edge::at(stack.start_ingest());
    let worker = Edge::at(stack.start_worker());
    edge.ready(&stack).await;
    worker.ready(&stack).await;
    let program = Arc::new(stack.program().await);
    let selling = Selling::start(&edge, &program);
    selling.sell_more(&stack).await;

    primary.off_thread(OwnPostgres::stop_at_once).await;
    selling.fail_more(&stack).await;
    address.move_to(standby.address());
    let again = "a standby that cannot write yet is reached again and again";
    stack.eventually(again, async || address.opened() > 20).await;
    selling.fail_more(&stack).await;
    standby.off_thread(OwnPostgres::promote).await;
    edge.ready(&stack).await;
    worker.ready(&stack).await;
    selling.sell_more(&stack).await;

    let sold = selling.finish().await;
    Streams::of(&stack).await.drained(&stack).await;
    let sales = "SELECT processor_event_id, count(*) FROM sale_events GROUP BY 1";
    assert_eq!(stored(&stack, sales).await, once(sold.keys()));
    let clicks = "SELECT click_id, count(*) FROM click_events GROUP BY 1";
    assert_eq!(stored(&stack, clicks).await, once(sold.values()));
    let leads = i64::try_from(sold.len()).unwrap();
    assert_eq!(stack.count("lead_events").await, leads);
    assert_eq!(stack.count("dead_letters").await, 0);
    stack.verify().await;
    succeeds(&stack, "verify").await;
}
