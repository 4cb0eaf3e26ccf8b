//! Partners get a weekly summary of their programs, and one click ends it.

use chrono::{DateTime, Datelike, Days, TimeDelta, Utc};
use domain::ids::PartnerId;
use domain::people::account::UserKind;
use domain::people::weekly_summary::Week;
use reqwest::Method;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{MailServer, Person, ReceivedEmail, Stack, ended, managed::Managed, rows};
use testing::{Process, free_address};

const ADA: &str = "ada@letters.example";
const SUBJECT: &str = "Your week";
const SETTINGS: &str = "/api/users/me/notification-settings";

/// A service whose partner Ada has an account, and a mail server. No summary has been sent yet.
struct Setting {
    stack: Stack,
    mail: MailServer,
    shop: Managed,
    ada: Person,
    partner: Value,
}

async fn set_up() -> Setting {
    let mail = MailServer::start().await;
    let mut stack = Stack::without_services(Clock::system()).await;
    mail.set_in(&mut stack);
    stack.start_services().await;
    let acme = stack.workspace("acme").await;
    let shop = Managed::new(&stack, &acme, "Shop").await;
    let partner = shop.partner(&stack, ADA, "approved").await;
    let ada = stack
        .account_of(ADA, &[PartnerId::new(partner["partner_id"].as_i64().unwrap())])
        .await;
    Setting {
        stack,
        mail,
        shop,
        ada,
        partner,
    }
}

impl Setting {
    /// A commission of 20 % of 50.00 USD.
    async fn sale(&self, transaction_id: &str) {
        let code = format!("code-{transaction_id}");
        self.shop.link(&self.stack, &self.partner, &code).await;
        self.shop.customer(&self.stack, &code, transaction_id).await;
        let sold = self.shop.sale(&self.stack, transaction_id, transaction_id).await;
        sold.ok();
    }

    /// Starts a process that sends e-mails, a week after the events so far.
    fn a_week_later(&mut self) {
        self.stack.clock = Clock::manual(monday_after(Clock::system().now()));
        self.stack.start_delivery();
    }

    async fn partner(&self, email: &str) -> Value {
        self.shop.partner(&self.stack, email, "approved").await
    }

    async fn bonus(&self, partner: &Value, amount_cents: i64, currency: &str) {
        let bonus = json!({ "partner_program_id": partner["id"], "amount_cents": amount_cents,
                            "currency": currency, "note": "Thanks" });
        let given = self.shop.submit(&self.stack, "commissions", bonus).await;
        given.created();
    }

    /// Waits until one summary is sent, and asserts that there is no other.
    async fn sent_once(&self) {
        let sent = "emails WHERE kind = 'weekly_summary' AND state = 'sent'";
        self.stack.reaches(sent, 1).await;
        assert_eq!(self.mail.about(ADA, SUBJECT).len(), 1);
    }

    async fn summary(&self) -> ReceivedEmail {
        self.mail.received(&self.stack, ADA, SUBJECT).await
    }

    async fn settings(&self) -> Value {
        self.ada.get(SETTINGS).await.body["data"].clone()
    }
}

/// Noon of the next Monday.
fn monday_after(now: DateTime<Utc>) -> DateTime<Utc> {
    let today = now.date_naive();
    let days = 7 - u64::from(today.weekday().num_days_from_monday());
    (today + Days::new(days)).and_hms_opt(12, 0, 0).unwrap().and_utc()
}

/// The path of the link that ends summaries.
fn unsubscribe_path(email: &ReceivedEmail) -> String {
    let header = email.header("List-Unsubscribe");
    let link = header.strip_prefix('<').unwrap().strip_suffix('>').unwrap();
    link.strip_prefix("http://127.0.0.1:8080").unwrap().to_owned()
}

#[tokio::test]
async fn a_partner_is_told_once_what_a_week_gave_to_the_cent() {
    let mut set = set_up().await;
    for transaction_id in ["one", "two", "three"] {
        set.sale(transaction_id).await;
    }
    let refund = json!({ "transaction_id": "two", "refund_amount_cents": 1235 });
    let token = Some(set.shop.api_token.as_str());
    set.stack.post("refund", token, refund).await.ok();
    let ids: Vec<i64> = set.stack.values("SELECT id FROM commissions ORDER BY id").await;
    let approve = json!({ "commission_ids": [ids[0], ids[2]] });
    let approved = set.shop.submit(&set.stack, "commissions/approve", approve).await;
    approved.ok();
    let pay = json!({ "commission_ids": [ids[0]] });
    set.shop.submit(&set.stack, "payouts", pay).await.created();
    set.bonus(&set.partner, 777, "EUR").await;
    // Another partner, who has no account.
    set.bonus(&set.partner("ben@letters.example").await, 999, "USD")
        .await;

    set.a_week_later();
    // Another process tries to send the same summaries.
    set.stack.start_delivery();
    let summary = set.summary().await;
    let text = summary.text();
    let told = text.split("Days are those of UTC.").nth(1).unwrap();
    let told = told.split("See your commissions").next().unwrap().trim();
    assert_eq!(
        told,
        "Shop, EUR\n\nApproved: 7.77 EUR, 1 commission\nAdjusted: 7.77 EUR, 1 change\n\n\
         Shop, USD\n\nEarned: 30.00 USD, 3 commissions\nApproved: 20.00 USD, 2 commissions\n\
         Taken back: 2.47 USD, 1 commission\nPaid to you: 10.00 USD, 1 payout"
    );
    assert!(
        !text.contains("one") && !summary.message.contains("ben@"),
        "{text}"
    );
    set.sent_once().await;
    assert_eq!(set.stack.count("weekly_summaries").await, 0);

    // Nothing happens in the following week.
    set.stack.clock.advance(TimeDelta::days(7));
    set.stack.reaches("weekly_summary_weeks", 2).await;
    assert_eq!(set.stack.count("emails WHERE kind = 'weekly_summary'").await, 1);
    assert_eq!(set.mail.about(ADA, SUBJECT).len(), 1);
}

#[tokio::test]
async fn one_click_ends_summaries_without_a_cookie_and_looking_changes_nothing() {
    let mut set = set_up().await;
    set.sale("one").await;
    set.a_week_later();
    let summary = set.summary().await;
    assert_eq!(
        summary.header("List-Unsubscribe-Post"),
        "List-Unsubscribe=One-Click"
    );
    let path = unsubscribe_path(&summary);
    assert!(summary.text().contains(&path), "{}", summary.text());
    let token = path.rsplit('/').next().unwrap();
    assert!(!rows::text_of_all_rows(&set.stack).await.contains(token));

    let page = set.stack.visit(&path).await.ok();
    assert!(page.header("content-type").starts_with("text/html"));
    let html = page.text();
    assert!(
        html.contains("<form method=\"post\">") && !html.contains(ADA),
        "{html}"
    );
    assert_eq!(set.settings().await["weekly_summary"], true);

    for _ in 0..2 {
        let post = set
            .stack
            .request(Method::POST, &path)
            .header("content-type", "application/x-www-form-urlencoded")
            .body("List-Unsubscribe=One-Click");
        set.stack.send(post).await.ok();
        assert_eq!(set.settings().await["weekly_summary"], false);
    }
    assert_eq!(set.settings().await["program_notices"], true);

    // No summary reports the next week.
    set.stack.clock.advance(TimeDelta::days(7));
    set.stack.reaches("weekly_summary_weeks", 2).await;
    assert_eq!(set.stack.count("weekly_summaries").await, 0);
}

#[tokio::test]
async fn tokens_that_are_not_ours_end_nothing_and_tell_nothing() {
    let mut set = set_up().await;
    set.sale("one").await;
    set.a_week_later();
    let path = unsubscribe_path(&set.summary().await);
    let mut altered = path.clone().into_bytes();
    let at = altered.len() - 5;
    altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
    let altered = String::from_utf8(altered).unwrap();
    let mut pages = Vec::new();
    for wrong in [
        altered.as_str(),
        "/unsubscribe/1",
        "/unsubscribe/%00",
        &format!("{path}A"),
    ] {
        for method in [Method::GET, Method::POST] {
            let answer = set.stack.send(set.stack.request(method, wrong)).await;
            pages.push(answer.is(404).body);
        }
    }
    assert!(pages.iter().all(|page| *page == pages[0]), "{pages:?}");
    assert_eq!(set.settings().await["weekly_summary"], true);
}

#[tokio::test]
async fn nothing_is_sent_to_who_opted_out_or_has_not_shown_the_address_to_be_theirs() {
    let mut set = set_up().await;
    set.sale("one").await;
    let change = async |wanted: Value| set.ada.patch(SETTINGS, json!({ "weekly_summary": wanted })).await;
    change(json!(false)).await.ok();
    assert_eq!(set.settings().await["weekly_summary"], false);
    change(json!("no"))
        .await
        .refused(400, "weekly_summary must be a boolean");
    // Cleo's address is not verified.
    let cleo = set.partner("cleo@letters.example").await;
    let cleo_id = set.stack.user(UserKind::Partner, "cleo@letters.example").await;
    let statement = format!(
        "UPDATE users SET verified_at = NULL WHERE id = {cleo_id}; UPDATE partners SET user_id = {cleo_id} WHERE id = {}",
        cleo["partner_id"]
    );
    set.stack.execute(&statement).await;
    set.bonus(&cleo, 999, "USD").await;
    set.a_week_later();
    set.stack.reaches("weekly_summary_weeks", 1).await;
    assert_eq!(set.stack.count("weekly_summaries").await, 0);
    assert_eq!(set.stack.count("emails WHERE kind = 'weekly_summary'").await, 0);
}

/// Wherever the process dies, the next process continues, and no partner gets a summary twice.
#[tokio::test]
async fn a_process_that_dies_while_it_writes_summaries_loses_and_repeats_none() {
    let mut set = set_up().await;
    set.sale("one").await;
    // A separate process uses the system's clock: the events must be in the week before it.
    let week = Week::to_tell(Clock::system().now()).unwrap();
    let statement = format!(
        "ALTER TABLE ledger_entries DISABLE TRIGGER USER; UPDATE ledger_entries SET created_at = '{}'",
        week.start()
    );
    set.stack.execute(&statement).await;
    for point in [
        "delivery.after_week_added_up",
        "delivery.before_summaries_written",
    ] {
        let mut settings = set.stack.environment(free_address());
        settings.push(("WORKER_ROLE", "delivery".to_owned()));
        settings.push(("CRASH_AT", point.to_owned()));
        assert!(!ended(Process::start("worker", &settings)).await.success());
        for (rows, count) in [
            ("weekly_summary_weeks", 1),
            ("weekly_summaries", 1),
            ("emails WHERE kind = 'weekly_summary'", 0),
        ] {
            assert_eq!(set.stack.count(rows).await, count, "{rows} after {point}");
        }
    }
    set.stack.start_delivery();
    set.stack.start_delivery();
    set.summary().await;
    set.sent_once().await;
}
