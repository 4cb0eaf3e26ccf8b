//! E-mails to members of a program that needs attention: at most one a day, which sums everything up.

use chrono::{DateTime, TimeDelta, Utc};
use domain::people::permission::Role;
use runtime::clock::Clock;
use test_harness::{MailServer, Program, Stack, noon};

const SUBJECT: &str = "needs a look";
const NOTICES: &str = "emails WHERE kind = 'program_notice'";

async fn with_mail(clock: Clock) -> (Stack, MailServer) {
    let (mut stack, mail) = Stack::with_mail_only(clock).await;
    stack.start_services().await;
    (stack, mail)
}

/// Asserts that an e-mail says all of this, and nothing of that.
fn says(text: &str, all: &[&str], none: &[&str]) {
    for part in all {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    for part in none {
        assert!(!text.contains(part), "{part} is in {text}");
    }
}

fn owner_of(program: &Program) -> String {
    format!("owner-of-{}@program.example", program.program_id)
}

/// Inserts events of the program's processor that need review, received now.
async fn events(stack: &Stack, program: &Program, name: &str, states: &[&str]) {
    for (n, state) in states.iter().enumerate() {
        let statement = format!(
            "INSERT INTO processor_events (event_id, program_id, processor_event_id, kind, occurred_at, received_at, state, reason, payload)
             VALUES (gen_random_uuid(), {}, 'evt_{name}_{n}', 'charge.refunded', '{now}', '{now}', '{state}', 'secret-reason', '{{}}')",
            program.program_id,
            now = stack.clock.now(),
        );
        stack.execute(&statement).await;
    }
}

/// Inserts a disabled endpoint and returns its id.
async fn disabled_endpoint(stack: &Stack, program: &Program, host: &str, reason: &str) -> i64 {
    stack
        .value(&format!(
            "INSERT INTO webhook_endpoints (program_id, url, event_types, secret_sealed, created_at, disabled_at, disabled_reason)
             VALUES ({}, 'https://{host}/hooks?key=hidden', '{{sale.recorded}}', 'x', '{now}', '{now}', '{reason}') RETURNING id",
            program.program_id,
            now = stack.clock.now(),
        ))
        .await
}

#[tokio::test]
async fn members_who_see_a_programs_notifications_are_told_once_a_day() {
    let (mut stack, mail) = with_mail(Clock::manual(noon())).await;
    let (shop, other) = (stack.program().await, stack.program().await);
    stack.owner_of(&shop).await;
    stack.owner_of(&other).await;
    let states = ["review", "stuck", "stuck", "done", "ignored"];
    events(&stack, &shop, "first", &states).await;
    stack.start_delivery();
    stack.start_delivery();
    // The same e-mail also reports what happens until it is written.
    disabled_endpoint(&stack, &other, "by-hand.example", "by_hand").await;
    let gone = disabled_endpoint(&stack, &other, "gone.example", "gone").await;
    let about_other = mail.received(&stack, &owner_of(&other), SUBJECT).await;
    let told = format!("Endpoint: {gone} at gone.example: it answered 410 Gone");
    let others = ["by-hand", "hidden", "payment processor"];
    says(&about_other.text(), &[&told], &others);
    assert_eq!(mail.about(&owner_of(&shop), SUBJECT).len(), 0);
    stack.clock.advance(TimeDelta::minutes(11));
    let first = mail.received(&stack, &owner_of(&shop), SUBJECT).await;
    says(&first.text(), &["To review: 1\nCould not be handled: 2\n"], &[]);
    says(&first.message, &[], &["secret-reason"]);

    // Twelve hours later it is too early for another e-mail about the first program, but not for one about a
    // third program.
    stack.clock.advance(TimeDelta::hours(12));
    let third = stack.program().await;
    stack.owner_of(&third).await;
    events(&stack, &shop, "second", &["stuck"]).await;
    disabled_endpoint(&stack, &shop, "failing.example", "failing").await;
    disabled_endpoint(&stack, &third, "gone.example", "gone").await;
    mail.received(&stack, &owner_of(&third), SUBJECT).await;
    assert_eq!(mail.about(&owner_of(&shop), SUBJECT).len(), 1);
    stack.clock.advance(TimeDelta::hours(13));
    let second = mail.received_after(&stack, &owner_of(&shop), SUBJECT, 1).await;
    let failing = "failing.example: every attempt of the last five days failed";
    says(
        &second.text(),
        &[failing, "Could not be handled: 1\n"],
        &["To review"],
    );
    stack.reaches(&format!("{NOTICES} AND state = 'sent'"), 4).await;
    assert_eq!(stack.count(NOTICES).await, 4);
}

#[tokio::test]
async fn endpoints_of_one_host_are_told_apart() {
    let (mut stack, mail) = with_mail(Clock::system()).await;
    let shop = stack.program().await;
    stack.owner_of(&shop).await;
    let first = disabled_endpoint(&stack, &shop, "hooks.example", "gone").await;
    let second = disabled_endpoint(&stack, &shop, "hooks.example", "failing").await;
    stack.start_delivery();
    let email = mail.received(&stack, &owner_of(&shop), SUBJECT).await;
    let gone = format!("{first} at hooks.example: it answered 410 Gone");
    let failing = format!("{second} at hooks.example: every attempt");
    for body in [email.text(), email.html()] {
        says(&body, &[&gone, &failing], &["hidden"]);
    }
}

#[tokio::test]
async fn only_verified_members_with_a_right_to_the_program_are_told() {
    let (mut stack, mail) = with_mail(Clock::system()).await;
    let shop = stack.program().await;
    stack.owner_of(&shop).await;
    let workspace_id = stack.workspace_of(&shop).await;
    let join = async |name: &str, role| {
        let email = format!("{name}@shop.example");
        stack.member(workspace_id, &email, role).await
    };
    let reader = join("reader", Role::Member).await;
    join("stranger", Role::Member).await;
    let quiet = join("quiet", Role::Admin).await;
    let unverified = join("unverified", Role::Admin).await;
    stack.permit(&shop, &reader, "program:read").await;
    let statement = format!(
        "UPDATE users SET program_notices = false WHERE id = {}; UPDATE users SET verified_at = NULL WHERE id = {}",
        quiet.user_id, unverified.user_id
    );
    stack.execute(&statement).await;
    disabled_endpoint(&stack, &shop, "gone.example", "gone").await;
    stack.start_delivery();
    for to in [owner_of(&shop).as_str(), "reader@shop.example"] {
        mail.received(&stack, to, SUBJECT).await;
    }
    assert_eq!(stack.count(NOTICES).await, 2);
}

#[tokio::test]
async fn a_process_that_dies_while_it_writes_notices_loses_and_repeats_none() {
    let (mut stack, mail) = with_mail(Clock::system()).await;
    let shop = stack.program().await;
    stack.owner_of(&shop).await;
    disabled_endpoint(&stack, &shop, "gone.example", "gone").await;
    let crash = [
        ("WORKER_ROLE", "delivery"),
        ("CRASH_AT", "delivery.before_notices_written"),
    ];
    stack.fails("worker", &crash).await;
    assert_eq!(stack.count(NOTICES).await, 0);
    assert_eq!(stack.count("program_notices").await, 0);
    stack.start_delivery();
    stack.start_delivery();
    mail.received(&stack, &owner_of(&shop), SUBJECT).await;
    let written: DateTime<Utc> = stack.value("SELECT written_at FROM program_notices").await;
    assert!(written > noon());
    assert_eq!(stack.count(NOTICES).await, 1);
}
