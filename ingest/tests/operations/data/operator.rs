//! The operator's command line, as its built binary, on the database and streams of a running service.

use messages::envelope;
use messages::subject::Subject;
use reqwest::StatusCode;
use serde_json::{Value, json};
use test_harness::managed::{audit_actions, audit_details};
use test_harness::{
    Edge, Json, PASSWORD, PATIENT, Program, Ran, Stack, Streams, answering_within, ctl, ctl_reading,
    refund_of, sale_of, succeeds,
};
use testing::TestDatabase;

/// What the audit log says of the operator, oldest first.
async fn audited(stack: &Stack) -> Vec<String> {
    audit_actions(stack, "actor = 'operator'").await
}

#[tokio::test]
async fn the_first_owner_of_an_installation_signs_in_with_what_the_operator_made() {
    let stack = Stack::start().await;
    let olive = "user create --email olive@shop.example --name Olive --workspace Shop --generate-password";
    let password = succeeds(&stack, olive).await.fact("password");
    let session = stack.sign_in("olive@shop.example", &password).await.session();
    let me = stack.get("/api/users/me", &session).await;
    let shop = &me.body["workspaces"][0];
    shop.has(json!({ "name": "Shop", "role": "owner" }));
    // A colleague joins the same workspace. The password comes from standard input and is never printed.
    let sam = "user create --email sam@shop.example --name Sam --workspace Shop --role member";
    let made = ctl_reading(&stack, sam, &format!("{PASSWORD}\n")).await;
    assert!(made.ok && !format!("{made:?}").contains(PASSWORD), "{made:?}");
    assert_eq!(made.fact("workspace_id"), shop["id"].to_string());
    stack.sign_in("sam@shop.example", PASSWORD).await.ok();
    assert_eq!(audited(&stack).await, ["user.created", "user.created"]);
    let roles = audit_details(&stack, "user.created").await;
    assert_eq!(roles, [json!({ "role": "owner" }), json!({ "role": "member" })]);
    let stored: String = stack.value("SELECT string_agg(u::text, ' ') FROM users u").await;
    assert!(!stored.contains(&password) && !stored.contains(PASSWORD));
}

#[tokio::test]
async fn an_account_that_cannot_be_made_leaves_nothing_behind() {
    let stack = Stack::start().await;
    stack.workspace("acme").await;
    let create = async |more: &str| ctl(&stack, &format!("user create --name Olive {more}")).await;
    let new = "--generate-password --email OWNER@acme.example --workspace New";
    create(new).await.fails("has an account already");
    for (more, because) in [
        ("--email no-address", "must be an e-mail address"),
        ("--email a@b --workspace-id 999", "there is no workspace 999"),
        ("--email a@b --workspace acme --role king", "owner, admin, member"),
    ] {
        create(&format!("--generate-password {more}"))
            .await
            .fails(because);
    }
    let short = ctl_reading(&stack, "user create --name Olive --email a@b", "short\n").await;
    short.fails("must have 10 to 128 characters");
    stack
        .execute("INSERT INTO workspaces (name) VALUES ('acme')")
        .await;
    let unclear = create("--generate-password --email a@b --workspace acme").await;
    unclear.fails("choose with --workspace-id");
    assert_eq!(stack.count("users").await, 1);
    assert_eq!(stack.count("workspaces").await, 2);
}

#[tokio::test]
async fn somebody_suspended_is_out_at_once_until_they_are_restored() {
    let (stack, acme) = Stack::with_workspace().await;
    let suspended = succeeds(&stack, "user suspend --email owner@ACME.example").await;
    assert_eq!(suspended.fact("sessions_ended"), "1");
    acme.owner.get("/api/users/me").await.is(401);
    let blocked = stack.sign_in("owner@acme.example", PASSWORD).await;
    assert_eq!(blocked.body["error"]["details"]["code"], "ACCOUNT_BLOCKED");
    succeeds(&stack, "user restore --email owner@acme.example").await;
    stack.sign_in("owner@acme.example", PASSWORD).await.ok();
    assert_eq!(audited(&stack).await, ["user.suspended", "user.restored"]);
    ctl(&stack, "user suspend --email nobody@acme.example")
        .await
        .fails("no account has the address");
}

#[tokio::test]
async fn an_operator_replaces_a_forgotten_password_and_every_session_ends() {
    let (stack, acme) = Stack::with_workspace().await;
    let command = "user reset-password --email Owner@acme.example --generate-password";
    let reset = succeeds(&stack, command).await;
    assert_eq!(reset.fact("sessions_ended"), "1");
    acme.owner.get("/api/users/me").await.is(401);
    stack.sign_in("owner@acme.example", PASSWORD).await.is(400);
    let password = reset.fact("password");
    stack.sign_in("owner@acme.example", &password).await.ok();
    assert_eq!(audited(&stack).await, ["user.password_reset"]);
}

#[tokio::test]
async fn what_the_runbook_asks_the_database_is_answered() {
    let database = TestDatabase::create().await;
    let questions: Vec<&'static str> = include_str!("../../../../docs/runbook.md")
        .split("```sql\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(questions.len() > 2, "{questions:?}");
    for question in questions {
        let answered = sqlx::query(question).fetch_all(&database.pool).await;
        assert!(answered.is_ok(), "{question}: {answered:?}");
    }
}

#[tokio::test]
async fn a_program_archived_at_the_command_line_takes_nothing_any_more() {
    let (stack, program) = Stack::with_customer().await;
    stack.sold(&program, sale_of("t1", "user-1")).await;
    let id = program.program_id;
    let archive = format!("program archive --yes --program-id {id}");
    let unasked = format!("program archive --program-id {id}");
    ctl(&stack, &unasked).await.fails("--yes");
    let dry = succeeds(&stack, &format!("{unasked} --dry-run")).await;
    dry.says("nothing was changed");
    assert_ne!(dry.fact("status"), "archived");
    assert_eq!(succeeds(&stack, &archive).await.fact("status"), "archived");
    stack
        .eventually("its key is refused", async || {
            stack.sale(&program, sale_of("t1", "user-1")).await.status == StatusCode::UNAUTHORIZED
        })
        .await;
    stack
        .eventually("its links are off", async || {
            stack.click_with(&program.ada.code, json!({})).await.status == StatusCode::GONE
        })
        .await;
    assert_eq!(stack.balances(&program).await, [1_000, 0], "the books stay");
    ctl(&stack, &archive).await.fails("is archived");
    ctl(&stack, "program archive --yes --program-id 999")
        .await
        .fails("there is no program 999");
    let archived = format!("actor = 'operator' AND subject_id = '{id}'");
    assert_eq!(audit_actions(&stack, &archived).await, ["program.archived"]);
}

#[tokio::test]
async fn a_program_and_a_link_made_at_the_command_line_take_clicks_and_sales() {
    let (stack, acme) = Stack::with_workspace().await;
    let id = acme.workspace_id;
    let create = format!("program create --workspace-id {id} --name Shop --slug shop --live");
    let made = succeeds(&stack, &create).await;
    let (program_id, token) = (made.fact("program_id"), made.fact("api_token"));
    let status = stack.get("/api/v1/cli/status", &token).await;
    assert_eq!(status.data()["name"], "Shop");
    let again = ctl(&stack, &create).await;
    again.fails("another program has the slug shop");
    let link = async |more: &str| {
        let line = format!("link create --program-id {program_id} --partner Ada {more}");
        ctl(&stack, &line).await
    };
    let first = link("--code ada --email ada@partner.example").await;
    assert!(first.ok, "{first:?}");
    let second = link("").await;
    let partner = second.fact("partner_id");
    assert_eq!(partner, first.fact("partner_id"), "the same partner");
    for code in ["ada".to_owned(), second.fact("code")] {
        let click_id = stack.click(&code).await;
        assert!(click_id.starts_with("cust_"), "{code}");
    }
    link("--code ada").await.fails("another link has the code ada");
    stack
        .execute_on_links("UPDATE partner_programs SET status = 'suspended'")
        .await;
    link("").await.fails("is not approved");
    stack
        .execute("INSERT INTO partners (workspace_id, name) SELECT workspace_id, name FROM partners")
        .await;
    link("").await.fails("say who is meant with --email");
    let link_created = "referral_link.created";
    assert_eq!(
        audited(&stack).await,
        ["program.created", link_created, link_created]
    );
}

#[tokio::test]
async fn a_key_marked_at_the_command_line_is_announced_until_the_mark_is_taken_back() {
    let (stack, program) = Stack::with_program().await;
    let id = program.program_id;
    let mark = async |more: &str| {
        let line = format!("key mark-rotation --program-id {id} {more}");
        ctl(&stack, &line).await
    };
    mark("--rotate-by 2020-01-01")
        .await
        .fails("must be in the future");
    mark("--rotate-by soon").await.fails("a date such as");
    mark("--clear").await.fails("is not marked");
    let status = || stack.get("/api/v1/cli/status", &program.token);
    assert!(mark("--rotate-by 2099-01-31").await.ok);
    stack
        .eventually("the rotation is announced", async || {
            status().await.body["warnings"][0]["rotate_by"] == "2099-01-31T00:00:00.000Z"
        })
        .await;
    assert!(mark("--clear").await.ok);
    stack
        .eventually("nothing is announced", async || {
            status().await.body["warnings"].is_null()
        })
        .await;
    let audited: Vec<Value> = stack
        .values("SELECT details FROM audit_log WHERE actor = 'operator' ORDER BY id")
        .await;
    let dates = [json!("2099-01-31T00:00:00Z"), Value::Null];
    assert_eq!(audited, dates.map(|date| json!({ "rotate_by": date })));
}

/// A sale that cannot be stored: its claim is dead, its dead letter is kept, and a refund of it is parked.
async fn dead_sale(stack: &Stack, edge: &Edge, program: &Program) {
    stack.customer(program, &program.ada.code, "user-1").await;
    stack
        .execute("ALTER TABLE sale_events ADD CONSTRAINT no_poison CHECK (processor_event_id <> 'poison')")
        .await;
    // The answers come only at the deadline, and the test need not wait for them.
    let sale = edge.in_background(program, "sale", sale_of("poison", "user-1"));
    stack.reaches("transaction_claims WHERE state = 'dead'", 1).await;
    let refund = edge.in_background(program, "refund", refund_of("poison", 2_500));
    stack.reaches("parked_refunds", 1).await;
    sale.abort();
    refund.abort();
}

#[tokio::test]
async fn a_dead_sale_is_recorded_once_it_is_replayed_and_its_parked_refund_with_it() {
    let (stack, edge) = answering_within(PATIENT).await;
    let program = stack.program().await;
    dead_sale(&stack, &edge, &program).await;
    let listed = succeeds(&stack, "dead-letters list").await;
    listed.says("tracking.sales");
    listed.says("no_poison");
    let id: i64 = stack.value("SELECT id FROM dead_letters").await;
    let shown = succeeds(&stack, &format!("dead-letters show {id}")).await;
    shown.says("\"poison\"");
    assert!(shown.fact("reason").contains("no_poison"), "{shown:?}");
    // Still broken: the replay becomes a new dead letter.
    let replay = format!("dead-letters replay {id}");
    ctl(&stack, &replay).await.says("its claim is open again");
    stack.reaches("dead_letters", 2).await;
    ctl(&stack, &replay).await.says("nothing done");
    let state: String = stack.value("SELECT state FROM transaction_claims").await;
    assert_eq!(state, "dead");
    // The cause is repaired.
    stack
        .execute("ALTER TABLE sale_events DROP CONSTRAINT no_poison")
        .await;
    succeeds(&stack, "dead-letters replay --all").await;
    stack.reaches("refunds", 1).await;
    assert_eq!(stack.balance(program.ada.membership).await, 500);
    assert_eq!(stack.count("parked_refunds").await, 0);
    let streams = Streams::of(&stack).await;
    succeeds(&stack, "dead-letters replay --all").await;
    streams.replay(&stack).await;
    assert_eq!(stack.count("sale_events").await, 1);
    assert_eq!(stack.balance(program.ada.membership).await, 500);
    let open = succeeds(&stack, "dead-letters list").await;
    assert_eq!(open.out, "no dead letters\n");
    ctl(&stack, "dead-letters list --all").await.says("(replayed)");
    stack.verify().await;
}

#[tokio::test]
async fn of_two_operators_who_replay_everything_at_once_each_letter_is_one_ones() {
    let (stack, edge) = answering_within(PATIENT).await;
    let program = stack.program().await;
    dead_sale(&stack, &edge, &program).await;
    stack
        .execute("ALTER TABLE sale_events DROP CONSTRAINT no_poison")
        .await;
    let replay = || ctl(&stack, "dead-letters replay --all");
    let both: [Ran; 3] = tokio::join!(replay(), replay(), replay()).into();
    assert!(both.iter().all(|ran| ran.ok), "{both:?}");
    let opened = both
        .iter()
        .filter(|ran| ran.out.contains("its claim is open again"));
    assert_eq!(opened.count(), 1, "{both:?}");
    stack.reaches("refunds", 1).await;
    stack.verify().await;
}

#[tokio::test]
async fn other_records_go_back_on_their_stream_as_they_came() {
    let (stack, edge) = answering_within(PATIENT).await;
    let program = stack.program().await;
    let click_id = stack.click(&program.ada.code).await;
    let streams = Streams::of(&stack).await;
    streams.drained(&stack).await;
    stack
        .execute("ALTER TABLE lead_events ADD CONSTRAINT no_poison CHECK (customer_key <> 'poison')")
        .await;
    let lead = json!({ "click_id": click_id, "customer_key": "poison" });
    let caller = edge.in_background(&program, "lead", lead);
    // A message that cannot be split into records is kept whole.
    streams.publish(Subject::Leads, "not JSON").await;
    let letters = async |count: i64| {
        stack
            .reaches("dead_letters WHERE replayed_at IS NULL", count)
            .await;
    };
    letters(2).await;
    caller.abort();
    stack
        .execute("ALTER TABLE lead_events DROP CONSTRAINT no_poison")
        .await;
    let before = streams.messages(Subject::Leads).await.len();
    let replayed = succeeds(&stack, "dead-letters replay --all").await;
    assert_eq!(replayed.out.matches("published again").count(), 2, "{replayed:?}");
    stack.reaches("lead_events", 1).await;
    let messages = streams.messages(Subject::Leads).await;
    let mut again = messages.get(before..).unwrap().to_vec();
    assert_eq!(again.len(), 2);
    again.sort_by_key(|message| message.starts_with(b"{"));
    assert_eq!(again[0], "not JSON");
    assert_eq!(envelope::decode(&again[1]).unwrap().records.len(), 1);
    // The replayed message is as unreadable as before.
    streams.drained(&stack).await;
    letters(1).await;
    // No consumer would receive it under another prefix.
    stack
        .execute("UPDATE dead_letters SET subject = 'elsewhere.tracking.leads' WHERE replayed_at IS NULL")
        .await;
    let foreign = ctl(&stack, "dead-letters replay --all").await;
    let because = "not of this STREAM_PREFIX";
    assert!(!foreign.ok && foreign.out.contains(because), "{foreign:?}");
    letters(1).await;
    ctl(&stack, "dead-letters replay 999")
        .await
        .fails("there is no such letter");
    stack.verify().await;
}

#[tokio::test]
async fn the_status_of_the_outbox_fails_when_something_waits_too_long() {
    let (mut stack, program) = Stack::with_customer().await;
    stack.sold(&program, sale_of("t1", "user-1")).await;
    Streams::of(&stack).await.drained(&stack).await;
    let fresh = succeeds(&stack, "outbox status").await;
    let claims = fresh
        .out
        .lines()
        .find_map(|line| line.strip_prefix("open claims"));
    assert_eq!(
        claims.and_then(|counts| counts.split_whitespace().next()),
        Some("0")
    );
    stack.stop_workers().await;
    for (table, time) in [
        (
            "transaction_claims (transaction_id, program_id, event_id, payload, claimed_at)",
            "'t2', 1, gen_random_uuid(), '{}'",
        ),
        ("outbox (noun, payload, created_at)", "'notifications', '{}'"),
        (
            "parked_refunds (event_id, program_id, transaction_id, payload, parked_at)",
            "gen_random_uuid(), 1, 't3', '{}'",
        ),
    ] {
        let insert = format!("INSERT INTO {table} VALUES ({time}, now())");
        stack.execute(&insert).await;
        ctl(&stack, "outbox status").await.says("oldest");
        let (name, columns) = table.split_once(" (").unwrap();
        let column = columns.trim_end_matches(')').rsplit(", ").next().unwrap();
        stack
            .execute(&format!(
                "UPDATE {name} SET {column} = now() - interval '61 seconds'
                 WHERE {column} > now() - interval '1 minute' AND payload = '{{}}'"
            ))
            .await;
        assert!(!ctl(&stack, "outbox status").await.ok, "{table}");
        let delete = format!("DELETE FROM {name} WHERE payload = '{{}}'");
        stack.execute(&delete).await;
    }
}

#[tokio::test]
async fn verify_names_every_invariant_and_what_breaks_it() {
    let (stack, program) = Stack::with_customer().await;
    stack.sale(&program, sale_of("t1", "user-1")).await;
    stack.verify().await;
    let fine = succeeds(&stack, "verify").await;
    assert!(fine.out.lines().all(|line| line.starts_with("ok ")), "{fine:?}");
    stack
        .execute("UPDATE partner_program_balances SET balance_cents = balance_cents + 1")
        .await;
    let broken = ctl(&stack, "verify").await;
    broken.fails("invariants are broken");
    let balance = "BROKEN  partner-program balance";
    assert!(broken.out.contains(balance), "{broken:?}");
    stack
        .execute("UPDATE partner_program_balances SET balance_cents = balance_cents - 1")
        .await;
    succeeds(&stack, "migrate").await;
}
