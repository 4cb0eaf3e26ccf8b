//! What a demo program has beside its seed: a webhook endpoint at the receiver, an invitation by e-mail; with a history, events that `ctl`
//! generates, and a payout of the older half of the payable commissions.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use harness::env_file::EnvFile;
use harness::process;
use harness::progress::{Step, note};
use harness::services::Service;
use serde_json::{Value, json};

use crate::dev_servers::DevServers;

const HISTORY_DAYS: &str = "90";
/// Arguments of `ctl`: a program as old as its history.
pub(crate) const SEED_WITH_HISTORY: [&str; 3] = ["seed-demo", "--days", HISTORY_DAYS];
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
        let body = json!({ "identifier": email, "password": password }).to_string();
        let answer = ingest.ask("POST", "/api/auth/local", None, &body)?;
        let token = read(&answer)?
            .get("jwt")
            .and_then(Value::as_str)
            .map(str::to_owned);
        if token.is_none() {
            note(format_args!(
                "{email} signs in otherwise than with DEMO_PASSWORD by now: the demo stays as it is"
            ));
        }
        Ok(token.map(|token| Self {
            ingest,
            token,
            program: format!("/api/advertiser/affiliate-programs/{program}"),
        }))
    }

    /// Fails unless the answer is a success. Null where it has no body.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let answer = self.ingest.ask(method, path, Some(&self.token), &body)?;
        ensure!(
            answer.starts_with("HTTP/1.1 2"),
            "{method} {path} was refused: {answer}"
        );
        if answer.starts_with("HTTP/1.1 204") {
            return Ok(Value::Null);
        }
        read(&answer)
    }

    /// Whether the endpoint is new.
    fn connect(&self, receiver: &DevServers) -> Result<bool> {
        let endpoints = format!("{}/webhook-endpoints", self.program);
        let listed = self.ask("GET", &endpoints, &Value::Null)?;
        let url = receiver.demo_endpoint();
        let found = rows(&listed).find(|row| is_at_a_receiver(row, &url));
        let Some(found) = found else {
            let description = self.ask("GET", "/openapi.json", &Value::Null)?;
            let types = description.get("webhooks").and_then(Value::as_object);
            let types: Vec<_> = types.into_iter().flat_map(|types| types.keys()).collect();
            let step = Step::start(format_args!("Having {url} sent the demo's events"));
            let endpoint =
                json!({ "url": url, "description": "The receiver of this machine", "event_types": types });
            know_secret(&self.ask("POST", &endpoints, &endpoint)?, receiver)?;
            step.done("its secret is known there");
            return Ok(true);
        };
        let endpoint = format!("{endpoints}/{}", id(found).context("an endpoint has no id")?);
        if found.get("url").and_then(Value::as_str) != Some(url.as_str()) {
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

/// The JSON of a whole answer.
fn read(answer: &str) -> Result<Value> {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    serde_json::from_str(body).with_context(|| format!("this is not JSON: {answer}"))
}

/// Of a list that was answered.
fn rows(answer: &Value) -> impl Iterator<Item = &Value> {
    let rows = answer.get("data").and_then(Value::as_array);
    rows.into_iter().flatten()
}

fn id(row: &Value) -> Option<i64> {
    row.get("id")?.as_i64()
}

/// Whether an endpoint is where the demo's is, on whichever port.
fn is_at_a_receiver(endpoint: &Value, url: &str) -> bool {
    let without_port = |url: &str| {
        let (host, rest) = url.strip_prefix("http://")?.split_once(':')?;
        let path = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
        Some((host.to_owned(), path.to_owned()))
    };
    let its_url = endpoint.get("url").and_then(Value::as_str).unwrap_or_default();
    without_port(its_url).is_some() && without_port(its_url) == without_port(url)
}

fn know_secret(answer: &Value, receiver: &DevServers) -> Result<()> {
    let secret = answer.pointer("/data/secret").and_then(Value::as_str);
    receiver.know(secret.context("no secret was answered")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demos_endpoint_is_known_by_its_path() {
        let is_it = |its_url| {
            let endpoint = json!({ "id": 3, "url": its_url });
            is_at_a_receiver(&endpoint, "http://127.0.0.1:8026/webhooks/demo")
        };
        assert!(is_it("http://127.0.0.1:8026/webhooks/demo"));
        assert!(is_it("http://127.0.0.1:41234/webhooks/demo"));
        assert!(!is_it("http://127.0.0.1:8026/webhooks/mine"));
        assert!(!is_it("https://hooks.example/webhooks/demo"));
    }

    #[test]
    fn an_answer_is_read_after_its_head() {
        let answer =
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"data\":[{\"id\":12},{\"id\":13}]}";
        let ids: Vec<i64> = rows(&read(answer).unwrap()).filter_map(id).collect();
        assert_eq!(ids, [12, 13]);
        assert!(read("HTTP/1.1 503 Service Unavailable\r\n\r\n").is_err());
    }
}
