//! The service that runs a file's entries: real processes, called over HTTP, and their tables.

use std::time::Duration;

use reqwest::Method;
use runtime::clock::Clock;
use storage::operations::verify;
use testing::{Process, free_address};

use super::names::Names;
use super::table::{Entry, Payload, Step, Table};
use super::tables::Tables;
use super::{always, given, matching};
use test_harness::{Answer, Edge, Program, Stack, Streams};

/// How long rows may take to follow an answer.
const PATIENCE: Duration = Duration::from_mins(1);

/// The binaries under test, and an ingest in this process that creates starting points.
pub struct Service {
    /// Killed before the stack is dropped.
    _processes: Vec<Process>,
    stack: Stack,
    ingest: Edge,
    http: reqwest::Client,
    /// Present if a worker runs.
    landmark: Option<Landmark>,
}

struct Landmark {
    /// Receives clicks whose storage proves that all earlier clicks are published.
    program: Program,
    streams: Streams,
}

/// The state of an entry before its steps, and the values of its names.
pub struct Shown {
    programs: Vec<i64>,
    before: Tables,
    names: Names,
}

impl Service {
    pub async fn start(table: &Table) -> Self {
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
            Some(Landmark {
                program: stack.program().await,
                streams: Streams::of(&stack).await,
            })
        } else {
            None
        };
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self {
            stack,
            ingest,
            http,
            _processes: processes,
            landmark,
        }
    }

    /// Runs the steps of an entry.
    pub async fn show(&self, number: usize, entry: &Entry) -> Result<Shown, Vec<String>> {
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
        let shown = Shown {
            programs,
            before,
            names,
        };
        let come_true = async {
            while self.holds(entry, &shown).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        match tokio::time::timeout(PATIENCE, come_true).await {
            Ok(()) => Ok(shown),
            Err(_) => self.holds(entry, &shown).await.map(|()| shown),
        }
    }

    /// Compares an entry's rows with the expected ones. Called again after all entries, because an unexpected
    /// row may be written late.
    pub async fn holds(&self, entry: &Entry, shown: &Shown) -> Result<(), Vec<String>> {
        let after = Tables::read(&self.stack, &shown.programs).await;
        let differences = after.differences(&shown.before, entry, &shown.names);
        if differences.is_empty() {
            Ok(())
        } else {
            Err(at("rows", differences))
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

    /// Waits until everything sent so far is written. An ingest publishes clicks behind their answers, in
    /// order: once one more click is written, all earlier ones are published. Batches of the worker may end
    /// in any order, and a blocked record ends after its batch.
    async fn settle(&self) {
        let Some(Landmark { program, streams }) = &self.landmark else {
            return;
        };
        let click_id = self.stack.click(&program.ada.code).await;
        let written = format!("click_events WHERE click_id = '{click_id}'");
        self.stack.reaches(&written, 1).await;
        streams.drained(&self.stack).await;
    }

    /// No invariant is broken, and there is no dead letter.
    pub async fn books_are_whole(&self) -> Result<(), String> {
        let dead = self.stack.count("dead_letters").await;
        let violations = verify::violations(self.stack.pool()).await.unwrap();
        if dead == 0 && violations.is_empty() {
            Ok(())
        } else {
            Err(format!("{dead} dead letters, {violations:?}"))
        }
    }
}

fn at(place: &str, differences: Vec<String>) -> Vec<String> {
    differences
        .into_iter()
        .map(|difference| format!("{place}: {difference}"))
        .collect()
}
