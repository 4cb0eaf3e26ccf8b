//! Device, system and browser from a user agent, by the patterns of uap-core (`worker/data/uap-core`).
//!
//! Bounds: [`LENGTH`] bytes of a text are read, [`KEPT`] results cached. The patterns are built on first use.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};

use domain::text::Label;
use domain::tracking::visitor::{DeviceType, Software};
use quick_cache::sync::Cache;
use tokio::task::{JoinError, spawn_blocking};
use ua_parser::{Extractor, Regexes};

use super::bot::is_bot;

/// Bytes of a text that are read. Real user agents are shorter, and a longer text must not cost more.
const LENGTH: usize = 1024;
/// Number of cached texts: at most a few megabytes, with the limit above.
const KEPT: usize = 4096;

static PATTERNS: LazyLock<Extractor<'static>> = LazyLock::new(build);

#[derive(Debug)]
pub struct UserAgents {
    known: Cache<Box<str>, Arc<Software>>,
    /// The result for a click without a user agent.
    silent: Arc<Software>,
}

impl UserAgents {
    pub fn new() -> Self {
        Self {
            known: Cache::new(KEPT),
            silent: Arc::default(),
        }
    }

    /// Returns the results in the order of the texts.
    pub async fn read(
        &self,
        texts: impl Iterator<Item = Option<&str>>,
    ) -> Result<Vec<Arc<Software>>, JoinError> {
        let texts: Vec<&str> = texts.map(|text| bounded(text.unwrap_or_default())).collect();
        let mut answers = HashMap::from([("", Arc::clone(&self.silent))]);
        let mut unknown: BTreeSet<&str> = BTreeSet::new();
        for &text in &texts {
            if answers.contains_key(text) {
                continue;
            }
            if let Some(software) = self.known.get(text) {
                answers.insert(text, software);
            } else {
                unknown.insert(text);
            }
        }
        let read = read_all(unknown.iter().map(|&text| Box::from(text)).collect()).await?;
        for (text, software) in unknown.into_iter().zip(read) {
            self.known.insert(text.into(), Arc::clone(&software));
            answers.insert(text, software);
        }
        let answer = |text| answers.get(text).unwrap_or(&self.silent);
        Ok(texts.into_iter().map(answer).cloned().collect())
    }
}

async fn read_all(texts: Vec<Box<str>>) -> Result<Vec<Arc<Software>>, JoinError> {
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    spawn_blocking(move || texts.iter().map(|text| Arc::new(software(text))).collect()).await
}

fn bounded(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LENGTH)).unwrap_or(text)
}

fn software(text: &str) -> Software {
    let (browser, system, device) = PATTERNS.extract(text);
    let system = system.map(|system| system.os);
    let device = device.map(|device| device.device);
    let device_type = if is_bot(text, device.as_deref()) {
        Some(DeviceType::Bot)
    } else {
        device_type(text, system.as_deref(), device.as_deref())
    };
    Software {
        device_type,
        device_os: system.and_then(|system| Label::parse(&system).ok()),
        browser_name: browser.and_then(|browser| Label::parse(&browser.family).ok()),
    }
}

const TELEVISIONS: [&str; 11] = [
    "Android TV",
    "Apple TV",
    "AppleTV",
    "BRAVIA",
    "CrKey",
    "Google TV",
    "GoogleTV",
    "HbbTV",
    "Roku",
    "SMART-TV",
    "SmartTV",
];

const TABLETS: [&str; 4] = ["iPad", "Tablet", "Kindle", "PlayBook"];

const PHONES: [&str; 7] = [
    "Mobi",
    "iPhone",
    "iPod",
    "Windows Phone",
    "Opera Mini",
    "BlackBerry",
    "MIDP",
];

/// Desktop systems, by the names that the patterns give them.
const DESKTOPS: [&str; 12] = [
    "Windows",
    "Mac OS X",
    "Mac OS",
    "Linux",
    "Chrome OS",
    "Ubuntu",
    "Debian",
    "Fedora",
    "Red Hat",
    "SUSE",
    "FreeBSD",
    "OpenBSD",
];

/// The patterns name devices but do not classify them. The checks go from specific to general: a television
/// or a tablet may call itself mobile too, and an Android device that does not is a tablet.
fn device_type(text: &str, system: Option<&str>, device: Option<&str>) -> Option<DeviceType> {
    let says = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    let is = |parts: &[&str]| device.is_some_and(|device| parts.iter().any(|part| device.contains(part)));
    // Windows on a tablet calls itself `Tablet PC`, but counts as a desktop.
    let windows = system == Some("Windows");
    if says(&TELEVISIONS) {
        Some(DeviceType::Tv)
    } else if !windows && (says(&TABLETS) || is(&TABLETS)) {
        Some(DeviceType::Tablet)
    } else if says(&PHONES) || is(&["Smartphone", "Feature Phone"]) {
        Some(DeviceType::Mobile)
    } else if system == Some("Android") {
        Some(DeviceType::Tablet)
    } else if system.is_some_and(|system| DESKTOPS.contains(&system)) {
        Some(DeviceType::Desktop)
    } else {
        None
    }
}

#[expect(
    clippy::expect_used,
    reason = "the patterns are compiled in; every test of this module builds them"
)]
fn build() -> Extractor<'static> {
    let patterns = include_str!("../../data/uap-core/regexes.yaml");
    let regexes: Regexes<'static> = serde_saphyr::from_str(patterns).expect("the patterns are well-formed");
    Extractor::try_from(regexes).expect("the patterns are valid")
}

#[cfg(test)]
mod tests;
