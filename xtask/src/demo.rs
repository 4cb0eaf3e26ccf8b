//! The history of a demo program: events that `ctl` generates, and a payout of the older half of the payable commissions.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use harness::env_file::EnvFile;
use harness::process;
use harness::progress::Step;
use harness::services::Service;

const HISTORY_DAYS: &str = "90";
/// Arguments of `ctl`: a program as old as its history.
pub(crate) const SEED_WITH_HISTORY: [&str; 3] = ["seed-demo", "--days", HISTORY_DAYS];

/// Needs running services, which process the events. A program with a history is not changed. `ctl`: the command line with the
/// variables of the service and of the demo.
pub(crate) fn create_history(ctl: &mut Command, ingest: &Service, demo: &EnvFile) -> Result<()> {
    let step = Step::start("Creating the demo's history");
    let fed = process::output(ctl.args(["feed-demo", "--days", HISTORY_DAYS]))?;
    pay_once(ingest, demo)?;
    step.done(fed.trim());
    Ok(())
}

/// Does nothing if there is a payout already, or if the owner's password is unknown.
fn pay_once(ingest: &Service, demo: &EnvFile) -> Result<()> {
    let (Some(email), Some(password), Some(program)) = (
        demo.get("DEMO_EMAIL"),
        demo.get("DEMO_PASSWORD"),
        demo.get("DEMO_PROGRAM_ID"),
    ) else {
        return Ok(());
    };
    let body = format!(r#"{{"identifier":"{email}","password":"{password}"}}"#);
    let signed_in = ingest.ask("POST", "/api/auth/local", None, &body)?;
    let (_, rest) = signed_in
        .split_once(r#""jwt":""#)
        .with_context(|| format!("the owner cannot sign in: {signed_in}"))?;
    let token = rest.split('"').next();
    let path = format!("/api/advertiser/affiliate-programs/{program}");
    let payouts = ingest.ask("GET", &format!("{path}/payouts"), token, "")?;
    if payouts.contains(r#""commission_count""#) {
        return Ok(());
    }
    let list = format!("{path}/commissions?status=approved&pageSize=100");
    let newest = commission_ids(&ingest.ask("GET", &list, token, "")?);
    let older = commission_ids(&ingest.ask("GET", &format!("{list}&page=2"), token, "")?);
    let ids = if older.is_empty() { newest } else { older };
    if ids.is_empty() {
        return Ok(());
    }
    let body = format!(
        r#"{{"commission_ids":[{}],"reference":"Bank transfer of the first"}}"#,
        ids.join(",")
    );
    let paid = ingest.ask("POST", &format!("{path}/payouts"), token, &body)?;
    ensure!(
        paid.starts_with("HTTP/1.1 201"),
        "the demo's payout was refused: {paid}"
    );
    Ok(())
}

/// The ids of a list's rows: each row begins with its id and its sale's.
fn commission_ids(answer: &str) -> Vec<String> {
    let before_sales = answer.split(r#","sale_id":"#);
    let ids = before_sales.filter_map(|text| text.rsplit_once(r#"{"id":"#).map(|(_, id)| id));
    ids.filter(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_commissions_are_not_confused_with_those_of_partners() {
        let answer = r#"{"data":[{"id":12,"sale_id":7,"partner":{"id":3,"name":"Ada"}},{"id":13,"sale_id":8}],"meta":{}}"#;
        assert_eq!(commission_ids(answer), ["12", "13"]);
        assert!(commission_ids(r#"{"data":[],"meta":{}}"#).is_empty());
    }
}
