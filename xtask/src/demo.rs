//! What a demo program has beside its seed: a webhook endpoint at the receiver, an invitation by e-mail; with a history, events that `ctl`
//! generates, and a payout of the older half of the payable commissions.

use std::process::Command;

use anyhow::{Context, Result};
use harness::env_file::EnvFile;
use harness::process;
use harness::progress::{Step, note};
use harness::services::Service;
use serde_json::{Value, json};

use crate::dev_servers::DevServers;

const HISTORY_DAYS: &str = "90";
/// Arguments of `ctl`: a program as old as its history.
pub(crate) const SEED_WITH_HISTORY: [&str; 3] = ["seed-demo", "--days", HISTORY_DAYS];
/// Of the endpoint at the receiver, whose port may be another at each start.
const DESCRIPTION: &str = "The receiver of this machine";
/// Who is invited into the workspace.
const COLLEAGUE: &str = "noah@demo.example";

/// Needs running services, which process the events. A program with a history is not changed. `ctl`: the command line with the
/// variables of the service and of the demo.
pub(crate) fn create_history(ctl: &mut Command, ingest: &Service, demo: &EnvFile) -> Result<()> {
    let step = Step::start("Creating the demo's history");
    let fed = process::output(ctl.args(["feed-demo", "--days", HISTORY_DAYS]))?;
    if let Some(owner) = Owner::sign_in(ingest, demo)? {
        owner.pay_once()?;
    }
    step.done(fed.trim());
    Ok(())
}

/// Has the receiver sent every event of the program from now on. The first time, a colleague of the owner is invited, too.
pub(crate) fn connect(ingest: &Service, demo: &EnvFile, receiver: &DevServers) -> Result<()> {
    let Some(owner) = Owner::sign_in(ingest, demo)? else {
        return Ok(());
    };
    if owner.connect(receiver)? {
        let invitation = json!({ "email": COLLEAGUE, "role": "admin" });
        owner.ask("POST", "/api/advertiser/invitations", &invitation)?;
    }
    Ok(())
}

/// The owner of the demo program, signed in.
pub(crate) struct Owner<'a> {
    ingest: &'a Service,
    token: String,
    /// The path of the program.
    pub(crate) program: String,
}

impl<'a> Owner<'a> {
    /// `None` if the password is not known, or not any more.
    pub(crate) fn sign_in(ingest: &'a Service, demo: &EnvFile) -> Result<Option<Self>> {
        let (Some(email), Some(password), Some(program)) = (
            demo.get("DEMO_EMAIL"),
            demo.get("DEMO_PASSWORD"),
            demo.get("DEMO_PROGRAM_ID"),
        ) else {
            return Ok(None);
        };
        let body = json!({ "identifier": email, "password": password });
        let answer = ingest.ask("POST", "/api/auth/local", None, &body)?.body;
        let token = text(&answer, "jwt");
        if token.is_empty() {
            note(format_args!(
                "{email} signs in otherwise than with DEMO_PASSWORD by now: the demo stays as it is"
            ));
            return Ok(None);
        }
        Ok(Some(Self {
            ingest,
            token: token.to_owned(),
            program: format!("/api/advertiser/affiliate-programs/{program}"),
        }))
    }

    /// Fails unless the answer is a success. Null where it has no body.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let answer = self.ingest.ask(method, path, Some(&self.token), body)?;
        answer
            .succeeded()
            .with_context(|| format!("{method} {path} was refused"))
    }

    /// Whether the endpoint is new.
    fn connect(&self, receiver: &DevServers) -> Result<bool> {
        let endpoints = format!("{}/webhook-endpoints", self.program);
        let listed = self.ask("GET", &endpoints, &Value::Null)?;
        let url = receiver.demo_endpoint();
        let is_ours = |row: &&Value| text(row, "description") == DESCRIPTION;
        let found = rows(&listed).find(is_ours);
        let Some(found) = found else {
            let description = self.ask("GET", "/openapi.json", &Value::Null)?;
            let types = description.get("webhooks").and_then(Value::as_object);
            let types: Vec<_> = types.into_iter().flat_map(|types| types.keys()).collect();
            let step = Step::start(format_args!("Having {url} sent the demo's events"));
            let endpoint = json!({ "url": url, "description": DESCRIPTION, "event_types": types });
            know_secret(&self.ask("POST", &endpoints, &endpoint)?, receiver)?;
            step.done("its secret is known there");
            return Ok(true);
        };
        let endpoint = format!("{endpoints}/{}", id(found).context("an endpoint has no id")?);
        if text(found, "url") != url {
            // Its port was taken at this start.
            self.ask("PATCH", &endpoint, &json!({ "url": url }))?;
        }
        if !receiver.knows_demo() {
            let rotation = json!({ "overlap_hours": 0 });
            let rotated = self.ask("POST", &format!("{endpoint}/rotate-secret"), &rotation)?;
            know_secret(&rotated, receiver)?;
        }
        Ok(false)
    }

    /// Does nothing if there is a payout already.
    fn pay_once(&self) -> Result<()> {
        let payouts = format!("{}/payouts", self.program);
        if rows(&self.ask("GET", &payouts, &Value::Null)?).next().is_some() {
            return Ok(());
        }
        let list = format!("{}/commissions?status=approved&pageSize=100", self.program);
        let newest = self.ask("GET", &list, &Value::Null)?;
        let older = self.ask("GET", &format!("{list}&page=2"), &Value::Null)?;
        let mut ids: Vec<i64> = rows(&older).filter_map(id).collect();
        if ids.is_empty() {
            ids = rows(&newest).filter_map(id).collect();
        }
        if !ids.is_empty() {
            let payout = json!({ "commission_ids": ids, "reference": "Bank transfer of the first" });
            self.ask("POST", &payouts, &payout)?;
        }
        Ok(())
    }
}

/// Of a list that was answered.
fn rows(answer: &Value) -> impl Iterator<Item = &Value> {
    let rows = answer.get("data").and_then(Value::as_array);
    rows.into_iter().flatten()
}

fn id(row: &Value) -> Option<i64> {
    row.get("id")?.as_i64()
}

fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn know_secret(answer: &Value, receiver: &DevServers) -> Result<()> {
    let secret = answer.pointer("/data/secret").and_then(Value::as_str);
    receiver.know(secret.context("no secret was answered")?)
}
