//! Tests the running service against its own description: Schemathesis sends valid and invalid requests of `/openapi.json`, and
//! checks every answer.
//!
//! One customer exists, so that the description's examples reach a recorded sale; an owner is signed in for the management
//! operations. The seed is fixed, so that every run is the same.

use std::process::Command;

use anyhow::Result;
use harness::area::Checkout;
use harness::interrupt::Interrupt;
use harness::process;
use harness::progress::Step;
use harness::python;
use serde_json::json;

use crate::whole_service::WholeService;

/// Its version and its settings.
const SCHEMATHESIS: &str = "xtask/schemathesis";
const SEED: &str = "20261121";
/// Examples for each operation, in the suite.
pub(crate) const FEW: u32 = 3;
/// Before a release.
pub(crate) const MANY: u32 = 60;

/// The owner's session, in a temporary database.
const SESSION: &str = "affs_1fJjkkpe9PiTw9KSulA8Ghct30vZz4HpdQ5c5b9cPF14bQ73M";
/// The session for the sign-out operation.
const SESSION_TO_END: &str = "affs_1u4qI0Nb1txh4SNOBj2isW90uaUNPVTEj3FGxXbZ2HA0yIxJh";

/// The customer of the description's examples.
const CUSTOMER_KEY: &str = "user-42";

pub(crate) fn check(
    checkout: &Checkout,
    service: &WholeService,
    examples: u32,
    interrupt: &Interrupt,
) -> Result<()> {
    let schemathesis = python::provide(checkout, SCHEMATHESIS, interrupt)?.join("bin/schemathesis");
    make_owner(checkout, service)?;
    make_customer(service)?;
    let key = service.demo("DEMO_API_KEY")?;
    let step = Step::start("Checking the API against its description");
    let mut command = Command::new(schemathesis);
    command
        .env("SESSION", SESSION)
        .env("SESSION_TO_END", SESSION_TO_END)
        // Schemathesis writes its cache of earlier runs to the working directory.
        .current_dir(checkout.target_dir())
        .arg("--config-file")
        .arg(checkout.root.join(SCHEMATHESIS).join("schemathesis.toml"))
        .arg("run")
        .arg(format!("{}/openapi.json", service.ingest.url()))
        .args(["--header", &format!("Authorization: Bearer {key}")])
        .args(["--seed", SEED, "--max-examples", &examples.to_string()])
        .args(["--generation-database", "none", "--continue-on-failure"])
        .args(["--request-timeout", "20", "--suppress-health-check", "all"])
        .args(["--warnings", "off", "--no-color"]);
    process::run(&mut command, interrupt)?;
    step.done("every answer is as described");
    Ok(())
}

/// A signed-in owner, with rows for the management operations.
fn make_owner(checkout: &Checkout, service: &WholeService) -> Result<()> {
    let mut psql = service.postgres.psql(&service.database_url);
    psql.args(["-v", &format!("session={SESSION}")])
        .args(["-v", &format!("session_to_end={SESSION_TO_END}")])
        .arg("-f")
        .arg(checkout.root.join("xtask/src/conformance.sql"));
    process::output(&mut psql).map(|_| ())
}

fn make_customer(service: &WholeService) -> Result<()> {
    let click_id = service.click()?;
    let lead = json!({ "click_id": click_id, "customer_key": CUSTOMER_KEY });
    service.post("lead", &lead)?.succeeded().map(drop)
}
