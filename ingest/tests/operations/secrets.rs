//! A secret is shown once, in the answer that creates it. It is in no log at `trace`, in no column, in no
//! error and in no later answer.

use std::fmt::Write;

use reqwest::{Method, StatusCode};
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::managed::PROGRAMS;
use test_harness::{
    Answer, LoggedServices, PASSWORD, Person, Stack, Workspace, rows::text_of_all_rows, sale_of,
};

const KEYS: &str = "/api/advertiser/api-keys";
const INVITATIONS: &str = "/api/advertiser/invitations";
/// A secret that users send.
const NEW_PASSWORD: &str = "a new one entirely, and long";
const WRONG_PASSWORD: &str = "almost the right password";
const CUSTOMERS_ADDRESS: &str = "jane.doe@customer.example";
/// A token of an unknown form: it is refused, and must not be repeated.
const JUNK: &str = "junk-that-may-be-a-key-of-another-service";

/// The secrets that must not be found, each with its name.
#[derive(Default)]
struct Secrets(Vec<(&'static str, String)>);

impl Secrets {
    fn add(&mut self, what: &'static str, secret: &str) {
        self.0.push((what, secret.to_owned()));
    }

    /// Takes a secret from the answer that creates it.
    fn take(&mut self, what: &'static str, answer: &Answer, pointer: &str) -> String {
        assert!(answer.status.is_success(), "{what}: {:?}", answer.body);
        let secret = answer.body.pointer(pointer).and_then(Value::as_str).unwrap();
        self.add(what, secret);
        secret.to_owned()
    }

    /// Takes the token at the end of a one-time link.
    fn take_link(&mut self, what: &'static str, answer: &Answer) -> String {
        assert!(answer.status.is_success(), "{what}: {:?}", answer.body);
        let link = answer.body["data"]["invitation_url"].as_str().unwrap();
        let token = link.rsplit('#').next().unwrap();
        self.add(what, token);
        token.to_owned()
    }

    /// The secrets that a text contains, whole or as a part that no mask shows, as text or as hexadecimal
    /// bytes.
    fn found_in(&self, text: &str) -> Vec<&'static str> {
        let lower = text.to_lowercase();
        self.0
            .iter()
            .filter(|(_, secret)| {
                let part = inner(secret);
                text.contains(part) || lower.contains(&hexadecimal(part))
            })
            .map(|(what, _)| *what)
            .collect()
    }
}

/// The part that masks hide. They show the first eight digits of a token, after its prefix, and the last
/// four.
fn inner(secret: &str) -> &str {
    if secret.len() > 40 {
        &secret[16..secret.len() - 8]
    } else {
        secret
    }
}

fn hexadecimal(text: &str) -> String {
    text.bytes().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

/// Creates a secret of every kind. Returns the path of a program too. A new kind of secret is to be added.
async fn make_all(stack: &Stack, acme: &Workspace) -> (Secrets, String) {
    let mut secrets = Secrets::default();
    let email = "owner@acme.example";
    secrets.add("the password", PASSWORD);
    secrets.add("the new password", NEW_PASSWORD);
    secrets.add("a wrong password", WRONG_PASSWORD);
    secrets.add("junk", JUNK);
    secrets.add("a session from before", &acme.owner.token);

    let body = json!({ "currentPassword": PASSWORD, "password": NEW_PASSWORD, "passwordConfirmation": NEW_PASSWORD });
    let changed = acme.owner.submit("/api/auth/change-password", body).await;
    let session = secrets.take("the session of a changed password", &changed, "/jwt");
    let owner = acme.owner.in_session(session);
    let signed_in = stack.sign_in(email, NEW_PASSWORD).await;
    secrets.take("the session of a sign-in", &signed_in, "/jwt");

    let made = owner.submit(PROGRAMS, json!({ "name": "Acme" })).await;
    secrets.take("a new program's token", &made, "/data/api_token");
    let program = format!("{PROGRAMS}/{}", made.id());
    let regenerated = format!("{program}/regenerate-api-token");
    let regenerated = owner.submit(&regenerated, json!({})).await;
    secrets.take("a program's next token", &regenerated, "/data/api_token");

    let key = owner.submit(KEYS, json!({ "name": "Backend" })).await;
    secrets.take("a management key", &key, "/data/key");
    of_a_command_line(stack, &mut secrets, &owner).await;
    of_a_processor(&mut secrets, &owner, &program).await;
    of_a_webhook_endpoint(&mut secrets, &owner, &program).await;
    invite_all(stack, &mut secrets, &owner, &program).await;
    (secrets, program)
}

async fn of_a_command_line(stack: &Stack, secrets: &mut Secrets, owner: &Person) {
    let begun = stack.submit("/api/v1/cli/auth/start", None, json!({})).await;
    let state = secrets.take("the state of a command line's login", &begun, "/state");
    let user_code = secrets.take("the user code of a command line's login", &begun, "/user_code");
    let confirm = json!({ "user_code": user_code });
    owner.submit("/api/auth/cli/confirm", confirm).await;
    let poll = json!({ "state": state });
    let polled = stack.submit("/api/v1/cli/auth/poll", None, poll).await;
    let token = secrets.take("the session of a command line", &polled, "/token");
    let init = json!({ "name": "Acme", "commission_type": "percent", "commission_rate": 20 });
    let made = stack.submit("/api/v1/cli/init", Some(&token), init).await;
    secrets.take("the token of a command line's program", &made, "/api_key");
}

async fn of_a_processor(secrets: &mut Secrets, owner: &Person, program: &str) {
    let (old, new) = ("whsec_of_before_0123456789", "whsec_of_today_0123456789");
    secrets.add("a webhook secret", old);
    secrets.add("the webhook secret after it", new);
    let path = format!("{program}/processor-connection");
    let connection = json!({ "account_id": "acct_1", "webhook_secret": old });
    owner.put(&path, connection).await.ok();
    let rotated = json!({ "webhook_secret": new });
    owner.submit(&format!("{path}/rotate-secret"), rotated).await.ok();
}

async fn of_a_webhook_endpoint(secrets: &mut Secrets, owner: &Person, program: &str) {
    let path = format!("{program}/webhook-endpoints");
    let endpoint = json!({ "url": "https://hooks.acme.example/", "event_types": ["sale.recorded"] });
    let made = owner.submit(&path, endpoint).await;
    let signs = "what an endpoint's webhooks are signed with";
    secrets.take(signs, &made, "/data/secret");
    let rotate = format!("{path}/{}/rotate-secret", made.id());
    let rotated = owner.submit(&rotate, json!({})).await;
    secrets.take("what they are signed with after that", &rotated, "/data/secret");
}

async fn invite_all(stack: &Stack, secrets: &mut Secrets, owner: &Person, program: &str) {
    let body = json!({ "email": "max@acme.example", "role": "member" });
    let invited = owner.submit(INVITATIONS, body).await;
    let token = secrets.take_link("a member's invitation", &invited);
    let body = json!({ "token": token, "name": "Max", "password": NEW_PASSWORD });
    let accepted = stack.submit("/api/auth/invitations/accept", None, body).await;
    secrets.take("the session of an acceptance", &accepted, "/jwt");

    let partners = format!("{program}/partners");
    let body = json!({ "name": "Ada", "email": "ada@acme.example" });
    let added = owner.submit(&partners, body).await;
    secrets.take_link("a partner's invitation", &added);
    let path = format!("{partners}/{}/invitation", added.id());
    let renewed = owner.submit(&path, json!({})).await;
    secrets.take_link("a partner's next invitation", &renewed);
}

/// Uses every secret in its place, in wrong places, and slightly changed; and reads every object that was
/// created.
async fn use_everywhere(stack: &Stack, secrets: &Secrets, program: &str) -> Vec<Answer> {
    let wrong = stack.sign_in("owner@acme.example", WRONG_PASSWORD).await.is(400);
    let mut answers = vec![wrong, stack.sign_in(JUNK, JUNK).await];
    let [connection, partners, endpoints] =
        ["processor-connection", "partners", "webhook-endpoints"].map(|below| format!("{program}/{below}"));
    for (_, secret) in &secrets.0 {
        let altered = format!("{}0", &secret[..secret.len() - 1]);
        for token in [secret, &altered] {
            for path in [
                "/api/users/me",
                PROGRAMS,
                program,
                &connection,
                &partners,
                &endpoints,
                KEYS,
                INVITATIONS,
                "/api/advertiser/members",
                "/api/advertiser/audit-log",
                "/api/v1/programs/me/readiness",
                "/api/v1/cli/status",
                "/api/v1/cli/programs",
            ] {
                answers.push(stack.get(path, token).await);
            }
            let lead =
                json!({ "customer_key": "user-1", "click_id": "cust_1_1", "email": CUSTOMERS_ADDRESS });
            // In an unreadable body, and in an unknown field.
            let unreadable = format!("{{{token}");
            let inspected = json!({ "token": token });
            answers.extend([
                stack.post("lead", Some(token), lead).await,
                stack.post("sale", Some(token), sale_of("t1", "user-1")).await,
                stack.post_raw("sale", Some(token), unreadable).await,
                stack
                    .submit(KEYS, Some(token), json!({ "name": "", token: token }))
                    .await,
                stack
                    .submit("/api/auth/invitations/inspect", None, inspected)
                    .await,
            ]);
            let cookie = format!("__Host-session={token}");
            let request = stack.request(Method::GET, "/api/users/me");
            answers.push(stack.send(request.header("cookie", cookie)).await);
        }
    }
    answers
}

#[tokio::test]
async fn a_secret_is_shown_once_and_stands_in_no_log_no_column_and_no_other_answer() {
    let mut stack = Stack::without_services(Clock::system()).await;
    stack.set("CLI_LIMIT", "1000000");
    stack.set("READINESS_LIMIT", "1000000");
    let services = LoggedServices::start(&mut stack).await;
    let program = stack.program().await;
    let acme = stack.workspace("acme").await;
    // A recorded lead, whose address passes through the whole pipeline.
    let click_id = stack.click(&program.ada.code).await;
    let lead = json!({ "click_id": click_id, "customer_key": "jane", "email": CUSTOMERS_ADDRESS });
    let recorded = stack.post("lead", Some(&program.token), lead).await;
    assert_eq!(recorded.status, StatusCode::OK, "{:?}", recorded.body);

    let (mut secrets, made) = make_all(&stack, &acme).await;
    secrets.add("a program's token from before", &program.token);
    // Verifies that the search finds a secret that is there.
    for (what, secret) in &secrets.0 {
        let in_hexadecimal = hexadecimal(secret).to_uppercase();
        for text in [format!("a {secret} b"), in_hexadecimal] {
            assert!(secrets.found_in(&text).contains(what), "{what}");
        }
    }
    let answers = use_everywhere(&stack, &secrets, &made).await;
    // Some calls must succeed, or the test would prove nothing.
    assert!(answers.iter().any(|answer| answer.status == StatusCode::OK));
    for answer in &answers {
        let text = format!("{:?} {}", answer.headers, answer.body);
        assert_eq!(secrets.found_in(&text), [""; 0], "{} {text}", answer.status);
    }

    secrets.add("a customer's address", CUSTOMERS_ADDRESS);
    let rows = text_of_all_rows(&stack).await;
    assert!(rows.contains("owner@acme.example") && rows.contains("$argon2id$"));
    assert_eq!(secrets.found_in(&rows), [""; 0], "in a column");

    for email in ["owner@acme.example", "acme.example"] {
        secrets.add("an address", email);
    }
    let logs = services.end();
    let is_whole = logs.contains("TRACE") && logs.contains("ingest is ready");
    assert!(is_whole, "{logs}");
    let lines: Vec<_> = logs
        .lines()
        .filter(|line| !secrets.found_in(line).is_empty())
        .collect();
    assert!(lines.is_empty(), "in a log: {:#?}", &lines[..lines.len().min(20)]);
}
