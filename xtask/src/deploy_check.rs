//! `cargo xtask deploy-check`: the files of `deploy/`, as far as they can be checked without starting them, and the links of the documents.
//! `cargo xtask release-check` starts them.
//!
//! Linters come from package indexes, pinned by version and hash in `xtask/deploy`, and are installed below the target directory.
//! systemd-analyze and promtool are installed on Debian; kubectl is the machine's, because Debian's is too old for these overlays. A
//! check without its program is reported as skipped. Tests with running services are in `ingest/tests/operations/deployment.rs`.

mod linters;
mod migrations;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use harness::area::{Checkout, remove};
use harness::interrupt::Interrupt;
use harness::process::{find_all, output};
use harness::progress::{Step, note};

use self::linters::{CUSTOM_RESOURCES, Linters};

/// The hosts of each overlay's servers, as arguments of `make-secrets.sh`; none for one that is made of the one before it.
const OVERLAYS: [(&str, &str); 3] = [
    (
        "production",
        "postgres-rw postgres-ro nats-0.nats,nats-1.nats,nats-2.nats redis",
    ),
    ("gateway", ""),
    ("single-node", "postgres-rw postgres-rw nats-0.nats redis"),
];
/// The path in pods of the CA certificate for PostgreSQL.
const POSTGRES_CA: &str = "/secrets/postgres-ca.crt";
/// And of the CA certificate for NATS and Redis.
const SERVERS_CA: &str = "/secrets/servers-ca.crt";
const NATS_SETTINGS: [&str; 5] = [
    "deploy/nats/servers.conf",
    "deploy/nats/compose.conf",
    "deploy/nats/single.conf",
    "deploy/kubernetes/base/nats.conf",
    "deploy/kubernetes/overlays/single-node/nats.conf",
];
/// Two copies of the same file: Kustomize reads nothing outside its own directory.
const NATS_USERS: [&str; 2] = ["deploy/nats/users.conf", "deploy/kubernetes/base/nats-users.conf"];
const UNITS: [&str; 5] = ["ingest", "worker", "delivery", "webhook-consumer", "migrate"];
/// The exposure that systemd-analyze computes, in tenths; a unit without hardening has 96.
const EXPOSURE_AT_MOST: &str = "15";

const DOCUMENTS: [&str; 6] = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "docs",
    "deploy",
];

/// Returns what was found right, or why nothing was checked.
type Check = fn(&Checkout, &Linters, &Path) -> Result<String>;

const CHECKS: [(&str, Check); 9] = [
    ("the compose file", compose),
    ("the Dockerfile", dockerfile),
    ("shell scripts", shell),
    ("Kubernetes manifests", kubernetes),
    ("NATS settings", nats_settings),
    ("systemd units", systemd),
    ("alerts and dashboard", prometheus),
    ("links of the documents", links),
    ("migrations", migrations::check),
];

/// Runs all checks, also after a failure.
pub(crate) fn check(checkout: &Checkout, interrupt: &Interrupt) -> Result<()> {
    let linters = Linters::provide(checkout, interrupt)?;
    let work = checkout.target_dir().join("deploy-check");
    remove(&work)?;
    fs::create_dir_all(&work)?;
    let mut failed = Vec::new();
    for (name, check) in CHECKS {
        interrupt.check()?;
        let step = Step::start(format_args!("Checking {name}"));
        match check(checkout, &linters, &work) {
            Ok(outcome) => step.done(outcome),
            Err(error) => {
                note(format_args!("{error:#}"));
                step.done("wrong");
                failed.push(name);
            }
        }
    }
    ensure!(failed.is_empty(), "{} must be fixed", failed.join(", "));
    Ok(())
}

fn compose(checkout: &Checkout, linters: &Linters, _: &Path) -> Result<String> {
    for name in ["compose.yaml", "servers.yaml"] {
        let file = checkout.root.join("deploy").join(name);
        let mut check = linters.python("check-jsonschema");
        check.args(["--builtin-schema", "vendor.compose-spec"]);
        output(check.arg(&file))?;
        ensure!(
            fs::read_to_string(&file)?.contains("POSTGRES_INITDB_ARGS: --encoding=UTF8 --no-locale"),
            "{name}: the order of texts depends on the image's C library"
        );
    }
    Ok("conforms to the Compose specification".to_owned())
}

fn dockerfile(checkout: &Checkout, linters: &Linters, _: &Path) -> Result<String> {
    let file = checkout.root.join("deploy/Dockerfile");
    output(linters.python("hadolint").arg(&file))?;
    let text = fs::read_to_string(&file)?;
    let toolchain = fs::read_to_string(checkout.root.join("rust-toolchain.toml"))?;
    let version = toolchain
        .split('"')
        .nth(1)
        .context("rust-toolchain.toml names no channel")?;
    for wanted in [
        format!("FROM rust:{version}-"),
        format!("RUSTUP_TOOLCHAIN={version} "),
    ] {
        ensure!(
            text.contains(&wanted),
            "rust-toolchain.toml says {version}, the Dockerfile has no `{wanted}`"
        );
    }
    Ok("no findings".to_owned())
}

fn shell(checkout: &Checkout, linters: &Linters, _: &Path) -> Result<String> {
    let mut scripts = Vec::new();
    for dir in ["deploy", "xtask/deploy"] {
        find_scripts(&checkout.root.join(dir), &mut scripts)?;
    }
    ensure!(scripts.len() >= 6, "only {} scripts were found", scripts.len());
    output(linters.python("shellcheck").args(&scripts))?;
    Ok(format!("{} scripts", scripts.len()))
}

/// By their first line: maintainer scripts have no extension.
fn find_scripts(dir: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            find_scripts(&path, found)?;
        } else if fs::read(&path)?.starts_with(b"#!/bin/sh") {
            found.push(path);
        }
    }
    found.sort();
    Ok(())
}

/// Renders every overlay with generated secrets, and validates the manifests against the schemas.
fn kubernetes(checkout: &Checkout, linters: &Linters, work: &Path) -> Result<String> {
    let Some(kubectl) = find_all("kubectl").next() else {
        return Ok("SKIPPED: no kubectl on this machine".to_owned());
    };
    let source = work.join("kubernetes");
    let kept = checkout.root.join("deploy/kubernetes");
    output(Command::new("cp").arg("-R").args([&kept, &source]))?;
    let mut rendered = Vec::new();
    for (overlay, hosts) in OVERLAYS {
        let dir = source.join("overlays").join(overlay);
        if !hosts.is_empty() {
            // The developer's own secrets are not used.
            remove(&dir.join("secrets"))?;
            let mut make = Command::new(checkout.root.join("deploy/make-secrets.sh"));
            make.arg(dir.join("secrets")).args(hosts.split(' '));
            make.env("POSTGRES_CA_FILE", POSTGRES_CA);
            output(make.env("SERVERS_CA_FILE", SERVERS_CA))?;
        }
        let manifests = output(Command::new(&kubectl).arg("kustomize").arg(&dir))?;
        let is_ours = |line: &&str| line.contains("image: ") && line.contains("referral-tracker");
        let pods = manifests.lines().filter(is_ours).count();
        let mounted = manifests.matches("path: postgres-ca.crt").count();
        ensure!(
            mounted == pods,
            "{overlay}: {mounted} of {pods} pods have {POSTGRES_CA}"
        );
        ensure!(
            manifests.contains("hostnossl all all all reject"),
            "{overlay}: PostgreSQL accepts connections without TLS"
        );
        ensure!(
            manifests.contains("localeCollate: C\n"),
            "{overlay}: the order of texts depends on the image's C library"
        );
        ensure!(
            !trusts_many(&manifests),
            "{overlay}: TRUSTED_PROXIES names more than an ingress controller"
        );
        let file = work.join(format!("{overlay}.yaml"));
        fs::write(&file, manifests)?;
        rendered.push(file);
    }
    let custom = work.join("custom.json");
    let mut validate = linters.python("python");
    validate.arg(checkout.root.join("xtask/deploy/kubernetes.py"));
    output(validate.arg(&custom).args(&rendered))?;
    output(linters.javascript(CUSTOM_RESOURCES).arg(&custom))?;
    Ok(format!(
        "{} overlays conform to the schemas of Kubernetes and the operators",
        rendered.len()
    ))
}

/// Whether a whole network of pods is trusted to name the client.
fn trusts_many(manifests: &str) -> bool {
    manifests
        .lines()
        .filter_map(|line| line.trim().strip_prefix("TRUSTED_PROXIES:"))
        .flat_map(|networks| networks.split(','))
        .filter_map(|network| network.trim().trim_matches('"').rsplit_once('/'))
        .any(|(_, length)| length.parse::<u8>().is_ok_and(|length| length < 24))
}

/// The server itself validates them.
fn nats_settings(checkout: &Checkout, linters: &Linters, work: &Path) -> Result<String> {
    let [users, copy] = NATS_USERS.map(|file| fs::read_to_string(checkout.root.join(file)));
    let users = users?;
    ensure!(users == copy?, "{NATS_USERS:?} differ");
    let secrets = work.join("nats-secrets");
    let mut make = Command::new(checkout.root.join("deploy/make-secrets.sh"));
    output(make.arg(&secrets).env("SERVERS_CA_FILE", SERVERS_CA))?;
    // In Kubernetes, files of several directories are beside each other.
    let mounted = work.join("nats");
    fs::create_dir_all(&mounted)?;
    for name in ["users.conf", "nats-users.conf"] {
        fs::write(mounted.join(name), &users)?;
    }
    for settings in NATS_SETTINGS {
        let text = fs::read_to_string(checkout.root.join(settings))?;
        ensure!(
            text.contains("sync_interval: always"),
            "{settings}: an acknowledged message must be on the disk"
        );
        let settings = mounted.join("nats.conf");
        let text = text.replace("/secrets/", &format!("{}/", secrets.display()));
        fs::write(&settings, text)?;
        let mut command = Command::new(&linters.nats);
        command.env("SERVER_NAME", "nats-0");
        for user in ["INGEST", "WEBHOOK_CONSUMER", "WORKER", "CTL"] {
            command.env(format!("NATS_{user}_PASSWORD"), "p1");
        }
        output(command.arg("--config").arg(settings).arg("-t"))?;
    }
    Ok(format!("{} files", NATS_SETTINGS.len()))
}

/// Fills the root directory `$1`. Only existence and mode of programs are checked.
const ROOT: &str = r#"
mkdir -p "$1/usr/lib/referral-tracker" "$1/usr/lib/systemd" "$1/etc/systemd/system"
for program in ingest worker webhook-consumer ctl; do
    install -m 0755 /dev/null "$1/usr/lib/referral-tracker/$program"
done
cp -R /usr/lib/systemd/system "$1/usr/lib/systemd/"
cp deploy/systemd/* "$1/etc/systemd/system/"
"#;

/// In a root directory that contains the programs they start.
fn systemd(checkout: &Checkout, _: &Linters, work: &Path) -> Result<String> {
    let Some(analyze) = find_all("systemd-analyze").next() else {
        return Ok("SKIPPED: no systemd-analyze on this machine".to_owned());
    };
    let root = work.join("root");
    let units = root.join("etc/systemd/system");
    let mut fill = Command::new("sh");
    fill.current_dir(&checkout.root).args(["-euc", ROOT, "sh"]);
    output(fill.arg(&root))?;
    enabled_units_start_with_the_machine(&root, &units)?;
    let root = format!("--root={}", root.display());
    for unit in UNITS {
        let name = format!("referral-tracker-{unit}.service");
        let mut verify = Command::new(&analyze);
        verify.args(["verify", "--man=no", &root]).arg(units.join(&name));
        // It exits with 0 despite warnings.
        let verified = verify.output()?;
        let warnings = String::from_utf8_lossy(&verified.stderr);
        ensure!(
            verified.status.success() && warnings.trim().is_empty(),
            "{warnings}"
        );
        let mut security = Command::new(&analyze);
        security.args(["security", "--no-pager", "--offline=true", &root]);
        output(security.args([&format!("--threshold={EXPOSURE_AT_MOST}"), &name]))?;
    }
    Ok(format!("{} units", UNITS.len()))
}

/// Whether or not others are enabled.
fn enabled_units_start_with_the_machine(root: &Path, units: &Path) -> Result<()> {
    let Some(systemctl) = find_all("systemctl").next() else {
        return Ok(());
    };
    let root = format!("--root={}", root.display());
    let services = UNITS.iter().filter(|unit| **unit != "migrate");
    let services: Vec<String> = services
        .map(|unit| format!("referral-tracker-{unit}.service"))
        .collect();
    let mut enable = Command::new(&systemctl);
    output(enable.args(["--quiet", &root, "enable"]).args(&services))?;
    // The first one is checked after all others were disabled.
    for service in services.iter().rev() {
        ensure!(
            units.join("multi-user.target.wants").join(service).is_symlink(),
            "{service} is enabled, and does not start with the machine"
        );
        output(Command::new(&systemctl).args(["--quiet", &root, "disable", service]))?;
    }
    Ok(())
}

fn prometheus(checkout: &Checkout, linters: &Linters, work: &Path) -> Result<String> {
    let Some(promtool) = find_all("promtool").next() else {
        return Ok("SKIPPED: no promtool on this machine".to_owned());
    };
    let dir = checkout.root.join("deploy/prometheus");
    let promtool = |verb, noun, file: &Path| output(Command::new(&promtool).args([verb, noun]).arg(file));
    for settings in ["prometheus.yaml", "debian.yaml"] {
        promtool("check", "config", &dir.join(settings))?;
    }
    promtool("test", "rules", &dir.join("alerts.test.yaml"))?;
    let expressions = work.join("dashboard.yaml");
    let mut extract = linters.python("python");
    extract.arg(checkout.root.join("xtask/deploy/dashboard.py"));
    extract.arg(checkout.root.join("deploy/grafana"));
    output(extract.arg(&expressions))?;
    promtool("check", "rules", &expressions)?;
    Ok("rules, their tests, the dashboard and its expressions".to_owned())
}

/// Links to files and headings, offline.
fn links(checkout: &Checkout, linters: &Linters, _: &Path) -> Result<String> {
    let mut remark = linters.javascript("node_modules/remark-cli/cli.js");
    remark
        .current_dir(&checkout.root)
        .args(["--frail", "--quiet", "--no-stdout", "--use"])
        .arg(linters.link_checker())
        .args(DOCUMENTS);
    output(&mut remark)?;
    Ok("every file and heading exists".to_owned())
}
