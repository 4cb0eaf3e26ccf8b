//! `deploy/`, as far as it can be run without a container engine: settings are those the services know, units start what they say, and
//! the settings of the three NATS servers make a cluster that loses one of them without loss.

mod cluster;
mod settings;
mod units;
mod users;

use std::fs;
use std::path::{Path, PathBuf};

fn place(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy").join(path)
}

fn read(path: &str) -> String {
    fs::read_to_string(place(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}
