//! Sorting and searching in an advertiser's lists.

use serde_json::json;
use test_harness::managed::{Managed, PROGRAMS};
use test_harness::{Partner, Shop, Stack, rows};

#[tokio::test]
async fn partners_are_sorted_by_what_their_table_shows() {
    let shop = Shop::open().await;
    let (ada, bruno) = (&shop.program.ada, &shop.program.bruno);
    shop.stack.customer(&shop.program, &bruno.code, "user-2").await;
    shop.stack.click(&bruno.code).await;
    shop.stack.click(&bruno.code).await;
    shop.sell("t1", json!({})).await;
    let cleo = shop.stack.partner(shop.program.program_id, "Cleo").await;
    rows::counted(&shop.stack, bruno.link, 3).await;
    rows::counted(&shop.stack, ada.link, 1).await;
    let (ada, bruno, cleo) = (ada.membership, bruno.membership, cleo.membership);
    let expected = json!({
        "sort=clicks": [bruno, ada, cleo],
        "sort=clicks&order=asc": [cleo, ada, bruno],
        // A partner without clicks comes last in both orders.
        "sort=last_clicked&order=desc": [bruno, ada, cleo],
        "sort=last_clicked&order=asc": [ada, bruno, cleo],
        // A partner without a balance comes last, the newest first.
        "sort=owed": [ada, cleo, bruno],
        "": [cleo, bruno, ada],
    });
    shop.lists("partners", "id", expected).await;
}

#[tokio::test]
async fn links_are_sorted_and_found_by_code_and_partner() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let mut codes = Vec::new();
    for (email, name, code) in [
        ("zoe@letters.example", "zoe", "a-summer"),
        ("ben@letters.example", "Ben", "C-winter"),
        ("ben@letters.example", "Ben", "b-summer"),
    ] {
        let body = json!({ "name": name, "email": email, "status": "approved" });
        program.submit(&stack, "partners", body).await;
        let partners = program.get(&stack, &format!("partners?search={name}")).await;
        let made = program.link(&stack, &partners.body["data"][0], code).await;
        codes.push(made["id"].clone());
    }
    let off = format!("referral-links/{}", codes[2]);
    program
        .put(&stack, &off, json!({ "status": "inactive" }))
        .await
        .ok();
    let (path, token) = (program.path("referral-links"), &acme.owner.token);
    let expected = json!({
        "sort=short_code&order=asc": ["a-summer", "b-summer", "C-winter"],
        "sort=short_code": ["C-winter", "b-summer", "a-summer"],
        "sort=partner&order=asc": ["b-summer", "C-winter", "a-summer"],
        "search=SUMMER": ["b-summer", "a-summer"],
        "search=be": ["b-summer", "C-winter"],
        "search=summer&sort=short_code&order=asc&status=active": ["a-summer"],
        "status=inactive": ["b-summer"],
    });
    stack.lists(token, &path, "short_code", expected).await;
    let refusals = json!({
        "status=on": "status must be active or inactive",
        "sort=name": "sort must be one of short_code, partner, clicks, last_clicked",
        "search=%20": "search must be 1 to 120 visible characters",
    });
    stack.refuses(token, &path, refusals).await;
}

#[tokio::test]
async fn commissions_are_sorted_and_found_by_transaction() {
    let shop = Shop::open().await;
    let of_usd = |amount: i64| json!({ "amount_cents": amount });
    let small = shop.sell("small", of_usd(1_000)).await;
    let great = shop.sell("great", of_usd(30_000)).await;
    let yen = shop
        .sell("yen", json!({ "currency": "JPY", "amount_cents": 500_000 }))
        .await;
    let by_hand = json!({ "partner_program_id": shop.program.bruno.membership, "amount_cents": 700 });
    let bonus = shop.add_commission(by_hand).await.data()["id"].clone();
    let expected = json!({
        // Sorted by currency first.
        "sort=amount": [yen, great, bonus, small],
        "sort=amount&order=asc": [yen, small, bonus, great],
        "sort=partner&order=asc": [yen, great, small, bonus],
        "sort=amount&pageSize=1&page=2": [great],
        "transaction_id=great": [great],
        "transaction_id=GREAT": [],
        "": [bonus, yen, great, small],
    });
    shop.lists("commissions", "id", expected).await;
    let refusals = json!({
        "sort=status": "sort must be one of partner, amount, hold_until",
    });
    shop.refuses("commissions", refusals).await;
    shop.get("commissions/export.csv?transaction_id=great").await.ok();
}

/// Pays these commissions, and returns the payout.
async fn paid(shop: &Shop, commissions: &[i64], reference: &str) -> i64 {
    shop.approve(commissions).await;
    let body = json!({ "commission_ids": commissions, "reference": reference });
    shop.pay(body).await["id"].as_i64().unwrap()
}

/// Three payouts: one to Ada, one to Ada and Bruno with a larger total but less for her, and one in euros.
async fn three_payouts(shop: &Shop) -> [i64; 3] {
    let bruno = &shop.program.bruno;
    shop.stack.customer(&shop.program, &bruno.code, "user-2").await;
    let first = shop.sell("t1", json!({})).await;
    let small = shop.sell("t2", json!({ "amount_cents": 2_000 })).await;
    let of_bruno = json!({ "amount_cents": 35_000, "customer_key": "user-2" });
    let of_bruno = shop.sell("t3", of_bruno).await;
    let euros = json!({ "amount_cents": 1_000, "currency": "EUR" });
    let euros = shop.sell("t4", euros).await;
    [
        paid(shop, &[first], "Bank 17").await,
        paid(shop, &[small, of_bruno], "May").await,
        paid(shop, &[euros], "BÄNK, 50 %").await,
    ]
}

#[tokio::test]
async fn payouts_are_sorted_and_found_by_reference_and_currency() {
    let shop = Shop::open().await;
    let [alone, both, euros] = three_payouts(&shop).await;
    let of = |partner: &Partner, query: &str| format!("partner_program_id={}&{query}", partner.membership);
    let (ada, bruno) = (&shop.program.ada, &shop.program.bruno);
    let expected = json!({
        "": [euros, both, alone],
        "sort=date": [euros, both, alone],
        "sort=date&order=asc": [alone, both, euros],
        // Sorted by currency first.
        "sort=amount": [euros, both, alone],
        "sort=amount&order=asc": [euros, alone, both],
        "sort=amount&pageSize=1&page=2": [both],
        "search=bank": [alone],
        "search=b%C3%A4nk": [euros],
        "search=%25": [euros],
        "currency=USD": [both, alone],
        "currency=USD&search=a&sort=date&order=asc": [alone, both],
        "currency=JPY": [],
        (of(ada, "")): [euros, both, alone],
        (of(ada, "sort=date&order=asc")): [alone, both, euros],
        (of(ada, "sort=amount")): [euros, alone, both],
        (of(ada, "sort=amount&order=asc")): [euros, both, alone],
        (of(ada, "sort=amount&pageSize=1&page=2")): [alone],
        (of(ada, "search=MAY")): [both],
        (of(ada, "currency=EUR")): [euros],
        (of(bruno, "currency=USD")): [both],
        (of(bruno, "search=bank")): [],
    });
    shop.lists("payouts", "id", expected).await;
    let refusals = json!({
        "sort=reference": "sort must be date or amount",
        "currency=EURO": "currency must be a currency code of three letters",
        "search=%20": "search must be 1 to 120 visible characters",
    });
    shop.refuses("payouts", refusals).await;
}

#[tokio::test]
async fn a_partner_sorts_and_filters_what_they_received() {
    let shop = Shop::open().await;
    let ada = &[shop.program.ada.partner_id];
    let person = shop.stack.account_of("ada@partner.example", ada).await;
    let [alone, both, euros] = three_payouts(&shop).await;
    let (token, path) = (&person.token, "/api/partner/payouts");
    let expected = json!({
        "sort=date&order=asc": [alone, both, euros],
        "sort=amount": [euros, alone, both],
        "sort=amount&order=asc": [euros, both, alone],
        "currency=USD": [both, alone],
        (format!("program_id={}", shop.program.program_id)): [euros, both, alone],
        "program_id=0": [],
        // A partner cannot search the reference.
        "search=bank": [euros, both, alone],
    });
    shop.stack.lists(token, path, "id", expected).await;
    let wrong = json!({ "sort=program": "sort must be date or amount" });
    shop.stack.refuses(token, path, wrong).await;
}

#[tokio::test]
async fn programs_are_sorted_and_found_by_name() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    for name in ["Zebra shoes", "ants", "Shoes & more", "Ähren"] {
        Managed::new(&stack, &acme, name).await;
    }
    let rival = stack.workspace("rival").await;
    Managed::new(&stack, &rival, "Rival shoes").await;
    let token = &acme.owner.token;
    let expected = json!({
        "sort=name&order=asc": ["Ähren", "ants", "Shoes & more", "Zebra shoes"],
        "sort=name": ["Zebra shoes", "Shoes & more", "ants", "Ähren"],
        "search=%C3%A4HR": ["Ähren"],
        "search=SHOES": ["Shoes & more", "Zebra shoes"],
        "search=shoes&status=live": [],
        "search=%25": [],
        "": ["Ähren", "Shoes & more", "ants", "Zebra shoes"],
    });
    stack.lists(token, PROGRAMS, "name", expected).await;
    let all = stack.get(PROGRAMS, token).await.column("unpaid");
    assert_eq!(all, json!([null, null, null, null]));
    let wrong = json!({ "status=archived": "status must be draft or live" });
    stack.refuses(token, PROGRAMS, wrong).await;
    let statement = "UPDATE programs SET status = 'archived', archived_at = now() WHERE name <> 'ants'";
    stack.execute(statement).await;
    let expected = json!({
        "archived=true&sort=name&order=asc": ["Ähren", "Shoes & more", "Zebra shoes"],
        "archived=true&search=SHOES": ["Shoes & more", "Zebra shoes"],
        "archived=true&search=ants": [],
    });
    stack.lists(token, PROGRAMS, "name", expected).await;
}

#[tokio::test]
async fn a_partner_sorts_and_filters_their_own_links_and_commissions() {
    let shop = Shop::open().await;
    let (stack, ada) = (&shop.stack, &shop.program.ada);
    let person = stack.account_of("ada@partner.example", &[ada.partner_id]).await;
    let token = &person.token;
    let late = json!({ "partner_program_id": ada.membership, "short_code": "zz-late" });
    shop.post("referral-links", late).await.created();
    rows::counted(stack, ada.link, 1).await;
    let (links, code) = ("/api/partner/referral-links", ada.code.as_str());
    let expected = json!({
        "": ["zz-late", code],
        "sort=clicks": [code, "zz-late"],
        "sort=last_clicked&order=asc": [code, "zz-late"],
        "sort=short_code": ["zz-late", code],
        "sort=short_code&order=asc": [code, "zz-late"],
        "search=ZZ": ["zz-late"],
        "program_id=0": [],
    });
    stack.lists(token, links, "short_code", expected).await;
    let wrong = json!({ "sort=partner": "sort must be one of short_code, clicks, last_clicked" });
    stack.refuses(token, links, wrong).await;
    let small = shop.sell("small", json!({ "amount_cents": 1_000 })).await;
    let great = shop.sell("great", json!({ "amount_cents": 30_000 })).await;
    let middle = shop.sell("middle", json!({ "amount_cents": 2_000 })).await;
    shop.approve(&[small]).await;
    let commissions = "/api/partner/commissions";
    let expected = json!({
        "": [middle, great, small],
        "sort=amount": [great, middle, small],
        "sort=amount&order=asc": [small, middle, great],
        "status=approved": [small],
        "program_id=0": [],
    });
    stack.lists(token, commissions, "id", expected).await;
    let wrong = json!({ "sort=partner": "sort must be amount or hold_until" });
    stack.refuses(token, commissions, wrong).await;
}
