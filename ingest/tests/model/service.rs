//! The real service in the reference's terms: calls use names of this case, and ids in the answers become
//! names of calls.

mod books;
mod programs;
mod requests;

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use domain::people::account::UserKind;
use messages::subject::Subject;
use serde_json::{Value, json};
use sqlx::PgPool;
use storage::operations::verify;

use super::calls::{ByHand, Call, Terms, What};
use super::reference::{Answered, Quoted};
use test_harness::{Edge, Person, Program, Stack, Streams};

/// The parts that all cases share.
pub struct Service {
    pub stack: Stack,
    edges: [Edge; 2],
    streams: Streams,
    /// The user who creates the advertisers' keys.
    owner: Person,
    /// Violations that `verify` has found so far, so that the cases to which a failure shrinks do not report
    /// them again.
    violations: Mutex<HashSet<String>>,
}

/// One case's programs, and the names of the objects that it has created.
pub struct World<'a> {
    service: &'a Service,
    programs: [Program; 2],
    /// Keys of the programs' advertisers.
    keys: [String; 2],
    /// By number of the call that created the customer.
    click_ids: HashMap<usize, String>,
    sales: HashMap<i64, usize>,
    commissions: HashMap<i64, String>,
    /// The last position of each stream before the case.
    streams_began: Vec<(Subject, u64)>,
}

impl Service {
    pub async fn start(stack: Stack, edges: [Edge; 2]) -> Self {
        let email = "owner@model.example";
        let user_id = stack.user(UserKind::Advertiser, email).await;
        Self {
            streams: Streams::of(&stack).await,
            owner: stack.signed_in(user_id, email).await,
            stack,
            edges,
            violations: Mutex::default(),
        }
    }

    pub async fn world(&self, terms: &[Terms; 2]) -> World<'_> {
        let mut streams_began = Vec::new();
        for subject in REDELIVERED {
            streams_began.push((subject, self.streams.end(subject).await));
        }
        let programs = [self.program(&terms[0]).await, self.program(&terms[1]).await];
        World {
            service: self,
            keys: [self.key(&programs[0]).await, self.key(&programs[1]).await],
            programs,
            click_ids: HashMap::new(),
            sales: HashMap::new(),
            commissions: HashMap::new(),
            streams_began,
        }
    }
}

/// Subjects whose messages change nothing when they are delivered again.
const REDELIVERED: [Subject; 5] = [
    Subject::Clicks,
    Subject::Leads,
    Subject::Sales,
    Subject::Refunds,
    Subject::TestEvents,
];

impl World<'_> {
    /// Sends calls at once, each with its number in the case, and returns their answers.
    pub async fn call(&mut self, calls: &[(usize, Call<Quoted>)]) -> Vec<Answered> {
        let sent = calls.iter().map(|(number, call)| {
            let (path, body) = self.request(call);
            // Neighbours of a burst use different processes, so that they meet in the tables too.
            let edge = &self.service.edges[number % 2];
            let token = self.token(call.who);
            async move { edge.post(path, token.as_deref(), &body).await }
        });
        let answers = futures::future::join_all(sent).await;
        let mut told = Vec::new();
        // First collects all ids: a refund of the same burst names the sale.
        for ((number, call), answer) in calls.iter().zip(&answers) {
            self.learn(*number, call, &answer.body);
            if let What::Refund(refund) = &call.what {
                self.learn_commissions_in_force(refund.transaction).await;
            }
        }
        for answer in answers {
            told.push(Answered {
                status: answer.status.as_u16(),
                body: self.told(answer.body),
            });
        }
        told
    }

    /// A name that no other case uses.
    fn named(&self, noun: &str, name: usize) -> String {
        format!("{noun} {name} of {}", self.programs[0].program_id)
    }

    /// Takes the ids that a call has created from its answer.
    fn learn(&mut self, number: usize, call: &Call<Quoted>, body: &Value) {
        if let Some(click_id) = body["click_id"].as_str()
            && !self.click_ids.values().any(|known| known == click_id)
        {
            self.click_ids.insert(number, click_id.to_owned());
        }
        let What::Sale(sale) = &call.what else {
            return;
        };
        let transaction = sale.transaction;
        if let Some(sale_id) = body["sale_id"].as_i64() {
            self.sales.entry(sale_id).or_insert(transaction);
        }
        let ids = match body["commission_ids"].as_array() {
            Some(ids) => ids.clone(),
            None => vec![body["commission_id"].clone()],
        };
        for (place, id) in ids.iter().enumerate() {
            if let Some(id) = id.as_i64() {
                let name = format!("commission {place} of {transaction}");
                self.commissions.entry(id).or_insert(name);
            }
        }
    }

    /// A click of the sale's burst may be stored after the sale, and be the earlier one. Then other
    /// commissions replace those that the sale was answered with.
    async fn learn_commissions_in_force(&mut self, transaction: usize) {
        let (_, ids) = self.commissions(transaction).await;
        for (place, id) in ids.into_iter().enumerate() {
            let name = format!("commission {place} of {transaction}");
            self.commissions.entry(id).or_insert(name);
        }
    }

    /// An answer's body with ids replaced by names of calls, and without texts that the contract leaves open.
    fn told(&self, mut body: Value) -> Value {
        for (field, value) in body.as_object_mut().into_iter().flatten() {
            match field.as_str() {
                "click_id" => *value = self.visitor(value.as_str().unwrap_or_default()).into(),
                "partner_code" => *value = self.link(value.as_str().unwrap_or_default()).into(),
                "sale_id" => rename(value, |id| self.sales.get(&id).map(|name| format!("sale {name}"))),
                "commission_id" => rename(value, |id| self.commissions.get(&id).cloned()),
                "commission_ids" => {
                    for id in value.as_array_mut().into_iter().flatten() {
                        rename(id, |id| self.commissions.get(&id).cloned());
                    }
                }
                "data" if value.is_object() => {
                    rename(&mut value["eventId"], |_| Some("an id".to_owned()));
                    rename(&mut value["programId"], |id| {
                        let place = self
                            .programs
                            .iter()
                            .position(|program| program.program_id.get() == id);
                        place.map(|place| format!("program {place}"))
                    });
                }
                _ => {}
            }
        }
        if body["error"]["code"] == "link_disabled" {
            return json!({ "success": body["success"], "error": { "code": "link_disabled" } });
        }
        body
    }

    fn visitor(&self, click_id: &str) -> String {
        let known = self.click_ids.iter().find(|(_, known)| *known == click_id);
        known.map_or_else(|| click_id.to_owned(), |(number, _)| format!("click_id {number}"))
    }

    /// `ada-7` is Ada's link in the program whose id is 7.
    fn link(&self, code: &str) -> String {
        let (name, program_id) = code.rsplit_once('-').unwrap_or_default();
        let program = |program: &Program| program.program_id.to_string() == program_id;
        let place = self.programs.iter().position(program);
        place.map_or_else(|| code.to_owned(), |place| format!("{name} {place}"))
    }

    /// Delivers one of this case's messages again; `which` counts over all streams of the case.
    pub async fn redeliver(&self, which: usize) {
        let mut messages = Vec::new();
        for (subject, began) in &self.streams_began {
            let end = self.service.streams.end(*subject).await;
            messages.extend((began + 1..=end).map(|sequence| (*subject, sequence)));
        }
        if let Some((subject, sequence)) = messages.get(which % messages.len().max(1)) {
            self.service.streams.repeat(*subject, *sequence).await;
        }
    }

    /// Approves a sale's commissions, unless they are approved already, and pays them. Returns the status of
    /// the payout's answer.
    pub async fn pay_out(&self, transaction: usize) -> u16 {
        let (program, ids) = self.commissions(transaction).await;
        let wanted = json!({ "commission_ids": ids });
        self.advertise(program, "commissions/approve", wanted.clone())
            .await;
        self.advertise(program, "payouts", wanted).await
    }

    /// Returns the status of the answer.
    pub async fn change_by_hand(&self, transaction: usize, change: ByHand) -> u16 {
        let (program, ids) = self.commissions(transaction).await;
        match change {
            ByHand::Reject => {
                let body = json!({ "commission_ids": ids, "reason": "by hand" });
                self.advertise(program, "commissions/reject", body).await
            }
            ByHand::Adjust(cents) => {
                let body = json!({ "amount_cents": cents, "reason": "by hand" });
                self.advertise(program, &format!("commissions/{}/adjust", ids[0]), body)
                    .await
            }
        }
    }

    /// A sale's program, and its commissions.
    async fn commissions(&self, transaction: usize) -> (i64, Vec<i64>) {
        let rows: Vec<(i64, i64)> = sqlx::query_as(
            "SELECT c.id, c.program_id FROM commissions c JOIN sale_events s ON s.id = c.sale_id
             WHERE s.processor_event_id = $1 AND c.superseded_at IS NULL ORDER BY c.id",
        )
        .bind(self.named("order", transaction))
        .fetch_all(self.pool())
        .await
        .unwrap();
        let program = rows.first().map_or(0, |(_, program)| *program);
        (program, rows.iter().map(|(id, _)| *id).collect())
    }

    /// A call of the program's advertiser; returns the status of its answer.
    async fn advertise(&self, program: i64, rest: &str, body: Value) -> u16 {
        let place = self.ids().iter().position(|id| *id == program);
        let key = place.map(|place| self.keys[place].as_str());
        let path = format!("/api/advertiser/affiliate-programs/{program}/{rest}");
        let answer = self.service.stack.submit(&path, key, body).await;
        answer.status.as_u16()
    }

    /// Waits until this many clicks of the case are stored: they are written behind their answers.
    pub async fn stored(&self, clicks: usize) {
        let clicks = i64::try_from(clicks).unwrap();
        let stack = &self.service.stack;
        let [one, other] = [&self.programs[0], &self.programs[1]].map(|program| program.program_id);
        let real = format!("click_events WHERE program_id IN ({one}, {other}) AND NOT is_test");
        stack.reaches(&real, clicks).await;
    }

    /// Waits until all work that follows from the calls is done.
    pub async fn settled(&self) {
        self.service.streams.drained(&self.service.stack).await;
    }

    /// Violations that `verify` finds and did not find after an earlier case.
    pub async fn new_violations(&self) -> Vec<String> {
        let found = verify::violations(self.pool()).await.unwrap();
        let mut known = self.service.violations.lock().unwrap();
        let rows = found
            .iter()
            .flat_map(|of| of.rows.iter().map(|row| format!("{}: {row}", of.invariant)));
        rows.filter(|row| known.insert(row.clone())).collect()
    }

    fn pool(&self) -> &PgPool {
        self.service.stack.pool()
    }

    fn ids(&self) -> Vec<i64> {
        self.programs
            .iter()
            .map(|program| program.program_id.get())
            .collect()
    }
}

/// Replaces an id by its name; an unknown id stays.
fn rename(value: &mut Value, name: impl Fn(i64) -> Option<String>) {
    if let Some(name) = value.as_i64().and_then(name) {
        *value = name.into();
    }
}
