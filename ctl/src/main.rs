//! The operator's command line: each command has a file. Results go to standard output, everything else to
//! standard error.

mod audit;
mod balances;
mod claims;
mod commission;
mod consent;
mod counters;
mod customer;
mod customer_ids;
mod dead_letters;
mod key;
mod link;
mod migrate;
mod outbound;
mod output;
mod processor_connection;
mod processor_events;
mod program;
mod progress;
mod rollups;
mod secrets;
mod seed_demo;
mod streams;
mod user;
mod verify;

use std::process::ExitCode;

use anyhow::Context;
use clap::{Command as Clap, CommandFactory, FromArgMatches, Parser, Subcommand};
use runtime::config::PostgresConfig;
use runtime::config::load::with_files;
use runtime::{postgres, telemetry};

const EXAMPLES: &str = "\
Examples:
  A new installation, and the first person who can sign in:
    ctl migrate
    ctl user create --email olive@shop.example --name Olive --workspace Shop --generate-password

  A program and a link without the dashboard:
    ctl program create --workspace-id 1 --name \"Shop affiliates\"
    ctl link create --program-id 1 --partner Ada

  A look after the pipeline, and another chance for what it gave up:
    ctl outbox status
    ctl streams status
    ctl verify
    ctl dead-letters list
    ctl dead-letters replay --all
    ctl processor-events list
    ctl webhooks list --troubled

  A commission that should not be paid, and one that should:
    ctl commission reject --program-id 1 --reason \"own purchase\" 12 --dry-run
    ctl commission add --program-id 1 --partner-program-id 5 --amount-cents 2500 --currency USD --note \"Best of May\"

  What is stored about a customer, and no more:
    ctl customer export --program-id 1 --customer-key user-42
    ctl customer erase --program-id 1 --email jane@customer.example

Every setting is also an environment variable; LOG=info logs more details.";

/// Operates a referral-tracker installation.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES)]
struct Cli {
    #[command(flatten)]
    postgres: PostgresConfig,
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    #[command(flatten)]
    OnDatabase(Command),
    /// Messages on their way to workers: count, deliver again
    #[command(subcommand)]
    Streams(streams::Streams),
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Migrate the database to this version; has no effect on one that is up to date
    Migrate(migrate::Migrate),
    /// Create a demo program with two partners, and print its settings as dotenv lines
    SeedDemo(seed_demo::SeedDemo),
    /// Give the demo program a history of clicks, leads, sales and refunds, settled by the workers
    FeedDemo(seed_demo::feed::FeedDemo),
    /// People who sign in: create, suspend, restore
    #[command(subcommand)]
    User(user::User),
    /// Programs: create
    #[command(subcommand)]
    Program(program::Program),
    /// Rate limits of a program's own: set, clear
    #[command(subcommand)]
    Limits(program::limits::Limits),
    /// Referral links: create
    #[command(subcommand)]
    Link(link::Link),
    /// Commissions by hand: reject, adjust, add
    #[command(subcommand)]
    Commission(commission::Commission),
    /// Program keys: mark for rotation
    #[command(subcommand)]
    Key(key::Key),
    /// What is stored about one customer: export, erase
    #[command(subcommand)]
    Customer(customer::Customer),
    /// Check the invariants of the ledger and the pipeline; fails if any is broken
    Verify(verify::Verify),
    /// Work in flight: claims, outbox, parked refunds, dead letters
    #[command(subcommand)]
    Outbox(outbound::outbox::Outbox),
    /// Records that no retry could settle: list, show, replay
    #[command(subcommand)]
    DeadLetters(dead_letters::DeadLetters),
    /// E-mails to people, and the addresses that refuse them: status, allow
    #[command(subcommand)]
    Emails(outbound::emails::Emails),
    /// Accounts of payment processors, and the programs that own them: list, confirm, refuse
    #[command(subcommand)]
    ProcessorConnection(processor_connection::ProcessorConnection),
    /// What payment processors reported: list, show, replay
    #[command(subcommand)]
    ProcessorEvents(processor_events::ProcessorEvents),
    /// Endpoints of webhooks, and what was sent to them: list, deliveries, replay, disable, enable
    #[command(subcommand)]
    Webhooks(outbound::webhooks::Webhooks),
    /// Sums by day, which the dashboard reads: rebuild
    #[command(subcommand)]
    Rollups(rollups::Rollups),
    /// Balances of partners: rebuild
    #[command(subcommand)]
    Balances(balances::Balances),
    /// Clicks of links and memberships: rebuild
    #[command(subcommand)]
    Counters(counters::Counters),
    /// Claims of sales, after a restore: rebuild
    #[command(subcommand)]
    Claims(claims::Claims),
    /// Secrets of others, sealed in the database: reseal
    #[command(subcommand)]
    Secrets(secrets::Secrets),
    /// Ids of customers, after a restore: advance
    #[command(subcommand)]
    CustomerIds(customer_ids::CustomerIds),
}

#[tokio::main]
async fn main() -> ExitCode {
    let command = with_files(command()).unwrap_or_else(|error| error.exit());
    let cli = Cli::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit());
    run(cli).await.unwrap_or_else(|error| {
        output::failure(&error);
        ExitCode::FAILURE
    })
}

async fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    telemetry::init_cli("ctl")?;
    let command = match cli.task {
        // Works while the database is unavailable, too.
        Task::Streams(streams) => return streams.run().await,
        Task::OnDatabase(command) => command,
    };
    let pool = postgres::connect(&cli.postgres, "ctl")
        .await
        .context("connecting to Postgres")?;
    match command {
        Command::Migrate(migrate) => migrate.run(&pool).await?,
        Command::SeedDemo(seed) => output::lines(seed.run(&pool, rand::random()).await?),
        Command::FeedDemo(feed) => output::lines(feed.run(&pool).await?),
        Command::User(user) => user.run(&pool).await?,
        Command::Program(program) => program.run(&pool).await?,
        Command::Limits(limits) => limits.run(&pool).await?,
        Command::Link(link) => link.run(&pool).await?,
        Command::Commission(commission) => commission.run(&pool).await?,
        Command::Key(key) => key.run(&pool).await?,
        Command::Customer(customer) => customer.run(&pool).await?,
        Command::ProcessorConnection(connection) => connection.run(&pool).await?,
        Command::Webhooks(webhooks) => webhooks.run(&pool).await?,
        Command::Verify(verify) => verify.run(&pool).await?,
        Command::Rollups(rollups) => output::lines(rollups.run(&pool).await?),
        Command::Balances(balances) => output::lines(balances.run(&pool).await?),
        Command::Counters(counters) => output::lines(counters.run(&pool).await?),
        Command::Claims(claims) => output::lines(claims.run(&pool).await?),
        Command::CustomerIds(ids) => output::lines(ids.run(&pool).await?),
        Command::Outbox(outbox) => return outbox.run(&pool).await,
        Command::DeadLetters(letters) => return letters.run(&pool).await,
        Command::Emails(emails) => return emails.run(&pool).await,
        Command::Secrets(secrets) => return secrets.run(&pool).await,
        Command::ProcessorEvents(events) => return events.run(&pool).await,
    }
    Ok(ExitCode::SUCCESS)
}

/// Settings of streams, which only services create.
const STREAM_SETTINGS: [&str; 3] = ["stream_max_bytes", "stream_max_bytes_clicks", "stream_replicas"];

/// Hides the settings of services: a single command needs no tuning.
fn command() -> Clap {
    let hide = |command: Clap, names: &'static [&'static str]| {
        let hidden = |command: Clap, name: &&'static str| command.mut_arg(*name, |arg| arg.hide(true));
        names.iter().fold(command, hidden)
    };
    let command = hide(
        Cli::command(),
        &["database_pool_size", "database_acquire_timeout_ms"],
    )
    .mut_subcommand("feed-demo", |feed| hide(feed, &STREAM_SETTINGS));
    let on_the_bus = [
        ("claims", "rebuild"),
        ("dead-letters", "replay"),
        ("streams", "replay"),
        ("streams", "status"),
    ];
    on_the_bus.into_iter().fold(command, |command, (group, name)| {
        command.mut_subcommand(group, |group| {
            group.mut_subcommand(name, |command| hide(command, &STREAM_SETTINGS))
        })
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_command_and_argument_says_what_it_is() {
        fn look(command: &Clap) {
            let name = command.get_name();
            assert!(command.get_about().is_some(), "{name}");
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "{name}: {argument}");
            }
            command.get_subcommands().for_each(look);
        }
        let command = command();
        command.clone().debug_assert();
        look(&command);
    }

    /// Makes all settings optional: they may come from the environment, so a document need not name them.
    fn without_settings(command: Clap) -> Clap {
        let names: Vec<String> = command
            .get_subcommands()
            .map(|sub| sub.get_name().to_owned())
            .collect();
        let command = command.mut_args(|argument| {
            if argument.get_env().is_some() {
                argument.required(false)
            } else {
                argument
            }
        });
        names.iter().fold(command, |command, name| {
            command.mut_subcommand(name, without_settings)
        })
    }

    /// Splits a line into words as a shell does, up to the end of the command.
    fn words(line: &str) -> Vec<String> {
        let is_end = |word: &&str| ["|", "||", "&&", ">", "<", "#", ";"].contains(word);
        let mut words = Vec::new();
        for (number, piece) in line.split('"').enumerate() {
            if number % 2 == 1 {
                words.push(piece.to_owned());
                continue;
            }
            let ends = piece.split_whitespace().any(|word| is_end(&word));
            let plain = piece.split_whitespace().take_while(|word| !is_end(word));
            words.extend(plain.map(str::to_owned));
            if ends {
                break;
            }
        }
        words
    }

    /// `ctl` commands in a document: whole lines in code blocks, and command names in the text.
    fn lines(document: &str) -> Vec<(bool, Vec<String>)> {
        let mut found = Vec::new();
        let mut in_block = false;
        for line in document.lines() {
            if line.starts_with("```") {
                in_block = !in_block;
            } else if in_block {
                let line = line.trim_start();
                // Also finds commands that run through a wrapper, as in a container.
                let ours = line.split_once("-- ctl ").map(|(_, rest)| rest);
                found.extend(
                    ours.or_else(|| line.strip_prefix("ctl "))
                        .map(|rest| (true, words(rest))),
                );
            } else {
                let code = line.split('`').skip(1).step_by(2);
                found.extend(code.filter_map(|code| Some((false, words(code.strip_prefix("ctl ")?)))));
            }
        }
        found
    }

    #[test]
    fn every_command_a_document_names_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let docs = fs::read_dir(root.join("docs"))
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let documents = docs.chain(["README.md", "deploy/README.md"].map(|name| root.join(name)));
        let mut seen = 0;
        for document in documents.filter(|path| path.extension().is_some_and(|end| end == "md")) {
            let text = fs::read_to_string(&document).unwrap();
            for (whole, words) in lines(&text) {
                seen += 1;
                if whole {
                    let parsed = without_settings(command())
                        .try_get_matches_from(std::iter::once(&"ctl".to_owned()).chain(&words));
                    // `--help` exits with 0.
                    let failed = parsed.err().filter(|error| error.exit_code() != 0);
                    assert!(
                        failed.is_none(),
                        "{}: ctl {words:?}: {failed:?}",
                        document.display()
                    );
                    continue;
                }
                let mut at = &command();
                for word in words.iter().take_while(|word| !word.starts_with('-')) {
                    if !at.has_subcommands() {
                        break;
                    }
                    let next = at.find_subcommand(word);
                    at = next.unwrap_or_else(|| panic!("{}: ctl {words:?}", document.display()));
                }
            }
        }
        assert!(seen > 20, "{seen}");
    }

    #[test]
    fn a_line_ends_where_the_shell_ends_it() {
        assert_eq!(words("outbox status > /dev/null || alert"), ["outbox", "status"]);
        assert_eq!(
            words("program create --name \"Shop affiliates\""),
            ["program", "create", "--name", "Shop affiliates"]
        );
    }
}
