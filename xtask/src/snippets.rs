//! Runs the server examples of `docs/integrate.md` unchanged against the service, in each language that this machine has, with
//! definitions of the variables that they use: for a partner's customer, for the same one again, and for one who came without a link.

pub(crate) mod webhooks;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use harness::area::Checkout;
use harness::interrupt::Interrupt;
use harness::process::{self, find_all};
use harness::progress::{Step, note};
use serde_json::{Value, json};

use crate::whole_service::WholeService;

const PAGE: &str = "docs/integrate.md";

/// How to run an example. Click id, customer and order are environment variables.
struct Language {
    heading: &'static str,
    /// The interpreter, and the programs that the example calls.
    programs: &'static [&'static str],
    arguments: &'static [&'static str],
    file: &'static str,
    /// Code before the example, in the same file.
    before: &'static str,
    /// A second file (name and content), which is run instead of the example's.
    around: Option<(&'static str, &'static str)>,
}

const PLAIN: Language = Language {
    heading: "",
    programs: &[],
    arguments: &[],
    file: "",
    before: "",
    around: None,
};

const LANGUAGES: [Language; 5] = [
    Language {
        heading: "curl",
        programs: &["sh", "curl"],
        arguments: &["-eu"],
        file: "curl.sh",
        ..PLAIN
    },
    Language {
        heading: "Node",
        programs: &["node"],
        file: "node.mjs",
        before: include_str!("../snippets/before.mjs"),
        ..PLAIN
    },
    Language {
        heading: "Python",
        programs: &["python3"],
        file: "python.py",
        before: include_str!("../snippets/before.py"),
        ..PLAIN
    },
    Language {
        heading: "Go",
        programs: &["go"],
        arguments: &["run", "example.go"],
        file: "example.go",
        around: Some(("main.go", include_str!("../snippets/main.go"))),
        ..PLAIN
    },
    Language {
        heading: "PHP",
        programs: &["php"],
        file: "example.php",
        around: Some(("around.php", include_str!("../snippets/around.php"))),
        ..PLAIN
    },
];

/// Fails if an example fails, or if the service has not recorded its events.
pub(crate) fn check(checkout: &Checkout, service: &WholeService, interrupt: &Interrupt) -> Result<()> {
    let page = fs::read_to_string(checkout.root.join(PAGE))?;
    let step = Step::start(format_args!("Running the examples of {PAGE}"));
    let mut ran = Vec::new();
    for language in &LANGUAGES {
        let code = example(&page, language.heading)
            .with_context(|| format!("{PAGE} has no example under {}", language.heading))?;
        let found: Option<Vec<_>> = language
            .programs
            .iter()
            .map(|program| find_all(program).next())
            .collect();
        let Some(program) = found.as_ref().and_then(|found| found.first()) else {
            note(format_args!(
                "SKIPPED: {} ({} is not on this machine)",
                language.heading,
                language.programs.join(" or ")
            ));
            continue;
        };
        interrupt.check()?;
        let dir = checkout.target_dir().join("snippets").join(language.heading);
        run(language, code, program, &dir, service)
            .with_context(|| format!("the example for {} failed", language.heading))?;
        ran.push(language.heading);
    }
    step.done(format_args!("{} work", ran.join(", ")));
    Ok(())
}

/// The first block of code under a heading.
fn example<'a>(page: &'a str, heading: &str) -> Option<&'a str> {
    let (_, section) = page.split_once(&format!("\n### {heading}\n"))?;
    let section = section.split("\n##").next()?;
    let (_, block) = section.split_once("\n```")?;
    let (_, code) = block.split_once('\n')?;
    code.split("\n```").next()
}

fn run(language: &Language, code: &str, program: &Path, dir: &Path, service: &WholeService) -> Result<()> {
    fs::create_dir_all(dir)?;
    fs::write(dir.join(language.file), format!("{}{code}\n", language.before))?;
    if let Some((file, text)) = language.around {
        fs::write(dir.join(file), text)?;
    }
    let customer = format!("customer of {}", language.heading);
    let order = format!("order of {}", language.heading);
    let click_id = service.click()?;
    let example = |click_id: &str, customer: &str, order: &str| {
        let key = service.demo("DEMO_API_KEY")?;
        let mut command = Command::new(program);
        command
            .current_dir(dir)
            .args(language.arguments)
            .arg(language.around.map_or(language.file, |(file, _)| file))
            .env("TRACKER_URL", service.ingest.url())
            .env("TRACKER_API_KEY", key)
            .env("CLICK_ID", click_id)
            .env("CUSTOMER_KEY", customer)
            .env("ORDER_ID", order);
        process::output(&mut command)
    };
    let printed = example(&click_id, &customer, &order)?;
    ensure!(!printed.contains("error"), "it was refused: {printed}");
    // The sale and its refund are recorded if a repeated sale and a further refund are answered as repeats.
    let sale = json!({ "transaction_id": order, "amount_cents": 4900, "customer_key": customer });
    let sale = service.post("sale", &sale)?;
    ensure!(sale.status == 409, "the sale is not recorded: {sale:?}");
    let refund = service.post("refund", &json!({ "transaction_id": order }))?;
    let reason = refund.body.get("reason").and_then(Value::as_str);
    ensure!(
        reason == Some("already reversed"),
        "the refund is not recorded: {refund:?}"
    );
    example(&click_id, &customer, &order).context("everything is recorded already, which is no error")?;
    let organic = format!("{customer} without a link");
    example("", &organic, &format!("{order} without a link"))
        .context("somebody came without a link, which is no error")
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository;

    fn assert_words(page: &str, headings: &[&str], words: [&str; 4]) {
        let page = repository::read(page);
        for heading in headings {
            let code = example(&page, heading).unwrap_or_default();
            for word in words {
                assert!(code.contains(word), "{heading}: {word}");
            }
        }
    }

    #[test]
    fn the_pages_have_an_example_under_every_heading() {
        let calls = ["lead", "sale", "refund", "TRACKER_API_KEY"];
        assert_words(PAGE, &LANGUAGES.map(|language| language.heading), calls);
        let servers = ["WEBHOOK_SECRET", "PORT", "remember(", "is_test"];
        assert_words(
            webhooks::PAGE,
            &webhooks::SERVERS.map(|(heading, _)| heading),
            servers,
        );
    }

    #[test]
    fn an_example_is_the_first_block_under_its_heading() {
        let page = "## Server\n\n### One\n\ntext\n\n```sh\nfirst\n\nline\n```\n\n```\nsecond\n```\n### Two\n\nnone\n\n## Other\n```\nx\n```\n";
        assert_eq!(example(page, "One"), Some("first\n\nline"));
        assert_eq!(example(page, "Two"), None);
        assert_eq!(example(page, "Three"), None);
    }
}
