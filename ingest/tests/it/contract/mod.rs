//! The contract as data: `ingest/tests/contract/*.yaml` is a table of rules, each with the calls that show it, and this
//! runs it against the service's own binaries.
//!
//! Each file has an ingest and a worker of its own, with a database and streams of their own. Each entry has a program
//! and a client address of its own, so no entry disturbs another, and every entry that fails is told of at once.

mod always;
mod given;
mod matching;
mod names;
mod table;
mod tables;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::runtime::clock::Clock;
use common::storage::verify;
use common::testing::{Process, free_address};
use reqwest::Method;
use serde_json::json;

use self::names::Names;
use self::table::{Entry, Payload, Step, Table};
use self::tables::Tables;
use crate::edge::Edge;
use crate::stack::{Answer, Program, Stack};

/// How long rows may take to follow an answer.
const PATIENCE: Duration = Duration::from_secs(10);

macro_rules! files {
    ($($file:ident)*) => {
        const FILES: &[&str] = &[$(stringify!($file)),*];

        $(#[tokio::test]
        async fn $file() {
            shown(stringify!($file)).await;
        })*
    };
}

files! {
    click visitors lead sale refund keys rotation limits limits_reached chain_limit test_mode cli readiness legacy errors failures
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contract")
}

fn read(file: &str) -> Table {
    let text = std::fs::read_to_string(folder().join(format!("{file}.yaml"))).unwrap();
    Table::parse(&text).unwrap_or_else(|faults| panic!("{file}.yaml: {faults}"))
}

/// Every entry of a file holds.
async fn shown(file: &str) {
    let table = read(file);
    let service = Service::start(&table).await;
    let mut failures = String::new();
    for (number, entry) in table.entries.iter().enumerate() {
        if let Err(differences) = service.show(number, entry).await {
            write!(
                failures,
                "\n{file}.yaml: {}\n    {}\n",
                entry.rule,
                differences.join("\n    ")
            )
            .unwrap();
        }
    }
    if let Err(violations) = service.books_are_whole().await {
        write!(failures, "\n{file}.yaml leaves broken books: {violations}\n").unwrap();
    }
    service.stop().await;
    assert!(failures.is_empty(), "{failures}");
}

/// The binaries under test, and beside them an ingest in this process through which starting points are made.
struct Service {
    stack: Stack,
    ingest: Edge,
    http: reqwest::Client,
    processes: Vec<Process>,
    /// Receives the clicks that tell that all clicks before them are written.
    landmark: Option<Program>,
}

impl Service {
    async fn start(table: &Table) -> Self {
        let mut stack = Stack::without_services(Clock::system()).await;
        let side_door = stack.start_ingest();
        stack.use_ingest(side_door);
        let (ingest, worker) = (Edge::at(free_address()), Edge::at(free_address()));
        let settings = |edge: &Edge| {
            let mut settings = stack.environment(edge.address());
            settings.retain(|(name, _)| !name.ends_with("_LIMIT"));
            settings.push(("LOG", "warn".to_owned()));
            let own = table
                .settings
                .iter()
                .map(|(name, value)| (name.as_str(), value.clone()));
            settings.into_iter().chain(own).collect::<Vec<_>>()
        };
        let mut processes = vec![Process::start("ingest", &settings(&ingest))];
        if table.worker {
            processes.push(Process::start("worker", &settings(&worker)));
            worker.ready(&stack).await;
        }
        ingest.ready(&stack).await;
        stack.ready().await;
        let landmark = if table.worker {
            Some(stack.program().await)
        } else {
            None
        };
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self {
            stack,
            ingest,
            http,
            processes,
            landmark,
        }
    }

    /// Takes an entry through its steps.
    async fn show(&self, number: usize, entry: &Entry) -> Result<(), Vec<String>> {
        let client = format!("10.77.{}.{}", number / 250, number % 250 + 1);
        let mut names = Names::default();
        let programs = given::prepare(&self.stack, &entry.given, &mut names).await;
        self.settle().await;
        let before = Tables::read(&self.stack, &programs).await;
        for (index, step) in entry.steps.iter().enumerate() {
            for payload in step.payloads() {
                let place = format!("step {}, {} {payload}", index + 1, step.send);
                let found = self.take(step, &payload, &client, &mut names).await;
                found.map_err(|differences| at(&place, differences))?;
            }
        }
        self.settle().await;
        let differences = async || {
            let after = Tables::read(&self.stack, &programs).await;
            after.differences(&before, entry, &names)
        };
        let come_true = async {
            while !differences().await.is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        match tokio::time::timeout(PATIENCE, come_true).await {
            Ok(()) => Ok(()),
            Err(_) => Err(at("rows", differences().await)),
        }
    }

    /// Sends one request and compares its answer.
    async fn take(
        &self,
        step: &Step,
        payload: &Payload,
        client: &str,
        names: &mut Names,
    ) -> Result<(), Vec<String>> {
        let (method, request) = self
            .request(step, payload, client, names)
            .map_err(|fault| vec![fault])?;
        let path = request.url().path().to_owned();
        let is_preflight = request.headers().contains_key("access-control-request-method");
        let response = self.http.execute(request).await.unwrap();
        let answer = Answer::of(response).await.unwrap();
        let mut differences = matching::differences(&step.answer, &answer, names);
        if !is_preflight {
            differences.extend(always::differences(&method, &path, &answer));
        }
        if differences.is_empty() {
            Ok(())
        } else {
            Err(differences)
        }
    }

    fn request(
        &self,
        step: &Step,
        payload: &Payload,
        client: &str,
        names: &Names,
    ) -> Result<(Method, reqwest::Request), String> {
        let (method, path) = step
            .send
            .split_once(' ')
            .ok_or("send names a method and a path")?;
        let method: Method = method.parse().map_err(|_| format!("no method: {method}"))?;
        let url = format!("http://{}{}", self.ingest.address(), names.fill_text(path)?);
        let mut request = self.http.request(method.clone(), url);
        if !step.headers.contains_key("x-forwarded-for") {
            request = request.header("x-forwarded-for", client);
        }
        if let Some(key) = &step.key {
            request = request.bearer_auth(names.fill_text(key)?);
        }
        for (name, values) in &step.headers {
            for value in values.all() {
                request = request.header(name, names.fill_text(value)?);
            }
        }
        request = match payload {
            Payload::Nothing => request,
            Payload::Json(body) => request
                .header("content-type", "application/json")
                .body(names.fill_all(body)?.to_string()),
            Payload::Text(text) => request.body(names.fill_text(text)?),
        };
        Ok((method, request.build().map_err(|error| error.to_string())?))
    }

    /// Clicks are written behind their answers, in order: once one more is written, none before it is still to come.
    async fn settle(&self) {
        let Some(landmark) = &self.landmark else { return };
        let answer = self.stack.click_with(&landmark.ada.code, json!({})).await;
        let click_id = answer.body["click_id"].as_str().unwrap();
        self.stack
            .eventually("clicks are written and notifications sent", async || {
                sqlx::query_scalar(
                    "SELECT EXISTS (SELECT 1 FROM click_events WHERE click_id = $1)
                         AND NOT EXISTS (SELECT 1 FROM outbox)",
                )
                .bind(click_id)
                .fetch_one(self.stack.pool())
                .await
                .unwrap()
            })
            .await;
    }

    /// No invariant is broken, and nothing was given up on.
    async fn books_are_whole(&self) -> Result<(), String> {
        let dead: i64 = self.stack.value("SELECT count(*) FROM dead_letters").await;
        let violations = verify::violations(self.stack.pool()).await.unwrap();
        if dead == 0 && violations.is_empty() {
            Ok(())
        } else {
            Err(format!("{dead} dead letters, {violations:?}"))
        }
    }

    async fn stop(self) {
        drop(self.processes);
        self.stack.stop().await;
    }
}

fn at(place: &str, differences: Vec<String>) -> Vec<String> {
    differences
        .into_iter()
        .map(|difference| format!("{place}: {difference}"))
        .collect()
}

#[test]
fn every_file_of_the_table_is_run() {
    let mut there: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| {
            entry
                .unwrap()
                .path()
                .file_stem()
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    there.sort();
    let mut run = FILES.to_vec();
    run.sort_unstable();
    assert_eq!(there, run);
}

#[test]
fn rules_are_unique_across_files() {
    let mut rules: Vec<String> = FILES
        .iter()
        .flat_map(|file| read(file).entries)
        .map(|entry| entry.rule)
        .collect();
    rules.sort();
    let twice: Vec<_> = rules.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

#[test]
fn every_starting_point_is_used() {
    let table: String = FILES
        .iter()
        .map(|file| std::fs::read_to_string(folder().join(format!("{file}.yaml"))).unwrap())
        .collect();
    let names = include_str!("given.rs").split("#[serde(rename = \"").skip(1);
    let names: Vec<&str> = names.filter_map(|rest| rest.split('"').next()).collect();
    assert!(names.len() > 10, "{names:?}");
    let given: Vec<&str> = table
        .lines()
        .filter(|line| line.trim().starts_with("given:"))
        .collect();
    let unused: Vec<_> = names
        .iter()
        .filter(|name| !given.iter().any(|line| line.contains(*name)))
        .collect();
    assert!(unused.is_empty(), "{unused:?}");
}
