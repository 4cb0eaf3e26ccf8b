//! The mail server refuses, hangs, disconnects or comes back. Each e-mail is sent, and a second delivery has
//! the same id.

use chrono::TimeDelta;
use domain::email::EmailHasher;
use domain::people::account::EmailAddress;
use domain::people::email_content::EmailContent;
use runtime::clock::Clock;
use storage::outbound::emails::{self, NewEmail};
use test_harness::{Manner, Stack, ctl, noon};

const ADA: &str = "ada@letters.example";

/// Adds an e-mail to the queue. Returns whether it will be sent.
async fn write(stack: &Stack, to: &str) -> bool {
    let recipient = EmailAddress::parse(to).unwrap();
    let hasher = EmailHasher::from(([0x22; 32], Vec::new()));
    let now = stack.clock.now();
    let new = NewEmail {
        message_id: stack.clock.mint(),
        recipient: &recipient,
        recipient_hashes: &hasher.hashes(to),
        content: &EmailContent::PasswordChanged {
            at: now,
            by_link: false,
            account_link: "https://referrals.example/app/account".to_owned(),
        },
        token_sealed: None,
        invited_by: None,
        created_at: now,
    };
    let mut connection = stack.pool().acquire().await.unwrap();
    emails::add(&mut connection, &new).await.unwrap()
}

async fn state(stack: &Stack) -> String {
    stack
        .value("SELECT string_agg(state, ' ' ORDER BY id) FROM emails")
        .await
}

#[tokio::test]
async fn what_a_server_does_not_take_now_is_sent_later() {
    let (mut stack, mail) = Stack::with_mail_only(Clock::manual(noon())).await;
    mail.set_manner(Manner::Answers("RCPT", "450 4.2.1 later"));
    stack.start_delivery();
    assert!(write(&stack, ADA).await);
    stack.reaches("emails WHERE reply_code = 450", 1).await;
    for manner in [
        Manner::Answers("AUTH", "535 5.7.8 who are you"),
        Manner::Answers("MAIL", "550 5.1.8 no such sender"),
        Manner::Answers("RCPT", "550 5.7.1 relaying denied"),
        Manner::Answers(".", "451 4.3.0 disk full"),
        Manner::Closes("DATA"),
        Manner::Closes("."),
    ] {
        let (attempts, sessions) = (attempts(&stack).await, mail.sessions());
        mail.set_manner(manner);
        stack.clock.advance(TimeDelta::minutes(150));
        stack
            .eventually("another attempt", async || {
                mail.sessions() > sessions
                    && self::attempts(&stack).await > attempts
                    && is_postponed(&stack).await
            })
            .await;
        assert_eq!(state(&stack).await, "waiting", "{manner:?}");
        assert_eq!(mail.taken(), []);
    }
    mail.set_manner(Manner::Takes);
    stack.clock.advance(TimeDelta::minutes(150));
    let email = mail.received(&stack, ADA, "password was changed").await;
    assert_eq!(email.header("To"), ADA);
    stack.reaches("emails WHERE state = 'sent'", 1).await;
    assert_eq!(stack.count("stopped_addresses").await, 0);
}

async fn attempts(stack: &Stack) -> i16 {
    stack.value("SELECT attempts FROM emails").await
}

/// Whether the e-mail is due at another time than the end of its lease, which shows that the attempt is over.
async fn is_postponed(stack: &Stack) -> bool {
    let due_at: chrono::DateTime<chrono::Utc> = stack.value("SELECT due_at FROM emails").await;
    due_at - stack.clock.now() != TimeDelta::minutes(3)
}

#[tokio::test]
async fn after_a_day_it_is_given_up() {
    let (mut stack, mail) = Stack::with_mail_only(Clock::manual(noon())).await;
    mail.set_manner(Manner::Answers("EHLO", "421 4.3.2 closing"));
    assert!(write(&stack, ADA).await);
    stack.start_delivery();
    stack.reaches("emails WHERE reply_code = 421", 1).await;
    stack.clock.advance(TimeDelta::hours(25));
    stack
        .reaches("emails WHERE state = 'given_up' AND recipient IS NULL", 1)
        .await;
    assert_eq!(mail.taken(), []);
}

#[tokio::test]
async fn a_refused_address_gets_nothing_more_until_it_is_allowed_again() {
    let (mut stack, mail) = Stack::with_mail_only(Clock::system()).await;
    mail.set_manner(Manner::Answers("RCPT", "550 5.1.1 no such mailbox"));
    // The second e-mail is added before the first is refused.
    assert!(write(&stack, ADA).await && write(&stack, ADA).await);
    stack.start_delivery();
    stack.reaches("emails WHERE state = 'stopped'", 2).await;
    assert_eq!(stack.count("stopped_addresses WHERE reply_code = 550").await, 1);
    mail.set_manner(Manner::Takes);
    assert!(!write(&stack, ADA).await);
    assert!(write(&stack, "ben@letters.example").await);
    stack.reaches("emails WHERE state = 'sent'", 1).await;
    assert_eq!(mail.taken().len(), 1);

    let allow = "emails allow --email Ada@letters.example";
    ctl(&stack, allow).await.says("the address gets e-mails again\n");
    ctl(&stack, allow).await.says("the address was not stopped\n");
    assert!(write(&stack, ADA).await);
    mail.received(&stack, ADA, "password was changed").await;
    ctl(&stack, "emails status").await.says("stopped addresses");
}

/// The server refuses the content of an e-mail, not its address.
#[tokio::test]
async fn a_refused_message_is_given_up_and_its_address_stays() {
    let (mut stack, mail) = Stack::with_mail_only(Clock::system()).await;
    mail.set_manner(Manner::Answers(".", "554 5.6.0 spam"));
    assert!(write(&stack, ADA).await);
    stack.start_delivery();
    stack
        .reaches("emails WHERE state = 'given_up' AND reply_code = 554", 1)
        .await;
    assert_eq!(stack.count("stopped_addresses").await, 0);
    assert!(write(&stack, ADA).await);
}

/// A server that hangs gets few sessions, which end with the process.
#[tokio::test]
async fn a_server_that_hangs_gets_few_sessions_and_a_shutdown_goes_on() {
    let (mut stack, mail) = Stack::with_mail_only(Clock::system()).await;
    mail.set_manner(Manner::Hangs("DATA"));
    for n in 0..6 {
        assert!(write(&stack, &format!("ada{n}@letters.example")).await);
    }
    stack.start_delivery();
    stack.eventually("sessions", async || mail.sessions() == 4).await;
    assert_eq!(stack.count("emails WHERE attempts = 1").await, 4);
    assert_eq!(stack.count("emails WHERE attempts = 0").await, 2);
    // The leases end, and another process sends the e-mails.
    stack.execute("UPDATE emails SET due_at = now()").await;
    mail.set_manner(Manner::Takes);
    stack.start_delivery();
    stack.reaches("emails WHERE state = 'sent'", 6).await;
}

#[tokio::test]
async fn a_crash_between_sending_and_storing_it_repeats_the_same_message() {
    let (mut stack, mail) = Stack::with_mail_only(Clock::system()).await;
    assert!(write(&stack, ADA).await);
    let crash = [
        ("WORKER_ROLE", "delivery"),
        ("CRASH_AT", "delivery.after_email_sent"),
    ];
    stack.fails("worker", &crash).await;
    assert_eq!((mail.taken().len(), state(&stack).await.as_str()), (1, "waiting"));
    // The lease of the dead process ends.
    stack.execute("UPDATE emails SET due_at = now()").await;
    stack.start_delivery();
    stack
        .reaches("emails WHERE state = 'sent' AND attempts = 2", 1)
        .await;
    let taken = mail.taken();
    assert_eq!(taken.len(), 2);
    assert_ne!(taken[0].header("Message-ID"), "");
    assert_eq!(taken[0], taken[1]);
}

#[tokio::test]
async fn two_processes_send_each_email_once() {
    let (mut stack, mail) = Stack::with_mail_only(Clock::system()).await;
    for n in 0..40 {
        assert!(write(&stack, &format!("ada{n}@letters.example")).await);
    }
    stack.start_delivery();
    stack.start_delivery();
    stack.reaches("emails WHERE state = 'sent'", 40).await;
    let mut to: Vec<String> = mail.taken().into_iter().map(|email| email.to).collect();
    to.sort();
    to.dedup();
    assert_eq!((to.len(), mail.taken().len()), (40, 40));
}

#[tokio::test]
async fn settings_that_cannot_send_do_not_start() {
    let (mut stack, _) = Stack::with_mail_only(Clock::system()).await;
    stack.set("EMAIL_REPLY_TO", "nobody");
    let why = stack.delivery_that_ends().await;
    assert!(why.contains("EMAIL_REPLY_TO"), "{why}");
}
