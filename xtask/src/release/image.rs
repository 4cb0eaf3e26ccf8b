//! The image: the Dockerfile's last stage with the programs that were just built. Needs a Docker Engine.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use harness::process;

use super::{Release, VERSION, revision};

const DOCKERFILE: &str = "deploy/Dockerfile";
const PROGRAMS: [&str; 4] = ["ingest", "worker", "webhook-consumer", "ctl"];
/// Over its base.
const BYTES_AT_MOST: u64 = 80_000_000;

pub(super) fn save(release: &Release<'_>) -> Result<String> {
    if process::output(Command::new("docker").arg("info")).is_err() {
        return Ok("SKIPPED: no Docker Engine on this machine; this release has no image".to_owned());
    }
    let root = &release.checkout.root;
    let programs = format!("referral-tracker-programs:{VERSION}");
    import(release, &programs)?;
    let image = format!("referral-tracker:{VERSION}");
    let mut build = Command::new("docker");
    build
        .current_dir(root)
        // Without it an engine of 20.10 builds every stage.
        .env("DOCKER_BUILDKIT", "1")
        .args(["build", "--quiet", "--file", DOCKERFILE, "--tag", &image])
        .args(["--build-arg", &format!("PROGRAMS={programs}")])
        .args(["--build-arg", &format!("REVISION={}", revision(root)?)])
        .arg(".");
    process::run(&mut build, release.interrupt)?;
    process::output(Command::new("docker").args(["image", "rm", &programs]))?;
    runs(&image)?;

    let added = size(&image)? - size(&base(&fs::read_to_string(root.join(DOCKERFILE))?)?)?;
    ensure!(
        added <= BYTES_AT_MOST,
        "the image has {added} bytes over its base, and may have {BYTES_AT_MOST}"
    );
    let file = release.out.join(format!("referral-tracker-{VERSION}-image.tar"));
    process::output(
        Command::new("docker")
            .args(["save", &image, "--output"])
            .arg(file),
    )?;
    Ok(format!("saved, {} MB over its base", added / 1_000_000))
}

/// An image of the programs alone, in place of the stage that compiles them: they are in `/programs`.
fn import(release: &Release<'_>, name: &str) -> Result<()> {
    const IMPORT: &str = "tar --create --transform 's|^|programs/|' ingest worker webhook-consumer ctl sbom \
         | docker import - \"$0\" > /dev/null";
    let mut import = Command::new("sh");
    import
        .current_dir(release.checkout.root.join("target/release"))
        .args(["-euc", IMPORT, name]);
    process::run(&mut import, release.interrupt)
}

/// Programs of a newer system would not: the image has another C library than this machine.
fn runs(image: &str) -> Result<()> {
    for program in PROGRAMS {
        let mut run = Command::new("docker");
        run.args(["run", "--rm", "--network", "none", image, program, "--help"]);
        process::output(&mut run).with_context(|| format!("{program} does not run in the image"))?;
    }
    Ok(())
}

/// What the last stage begins with.
fn base(dockerfile: &str) -> Result<String> {
    let from = dockerfile
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("FROM "));
    Ok(from.context("the Dockerfile begins with nothing")?.to_owned())
}

fn size(image: &str) -> Result<u64> {
    let mut inspect = Command::new("docker");
    inspect.args(["image", "inspect", "--format", "{{.Size}}", image]);
    Ok(process::output(&mut inspect)?.trim().parse()?)
}
