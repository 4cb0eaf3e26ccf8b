//! Sorting and searching in an advertiser's lists.

use serde_json::{Value, json};
use test_harness::managed::Managed;
use test_harness::{Shop, Stack, rows};

const PROGRAMS: &str = "/api/advertiser/affiliate-programs";

/// One field of each entry of a list.
async fn listed(shop: &Shop, path: &str, field: &str) -> Value {
    let answer = shop.get(path).await;
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    fields(&answer.body["data"], field)
}

fn fields(list: &Value, field: &str) -> Value {
    let entries = list.as_array().unwrap().iter();
    json!(entries.map(|entry| &entry[field]).collect::<Vec<_>>())
}

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
    let (ada, bruno, cleo) = (
        ada.membership.get(),
        bruno.membership.get(),
        cleo.membership.get(),
    );
    for (sorted, memberships) in [
        ("sort=clicks", [bruno, ada, cleo]),
        ("sort=clicks&order=asc", [cleo, ada, bruno]),
        // A partner without clicks comes last in both orders.
        ("sort=last_clicked&order=desc", [bruno, ada, cleo]),
        ("sort=last_clicked&order=asc", [ada, bruno, cleo]),
        // A partner without a balance comes last, the newest first.
        ("sort=owed", [ada, cleo, bruno]),
        ("", [cleo, bruno, ada]),
    ] {
        let found = listed(&shop, &format!("partners?{sorted}"), "id").await;
        assert_eq!(found, json!(memberships), "{sorted}");
    }
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
    let answer = program.put(&stack, &off, json!({ "status": "inactive" })).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    for (query, codes) in [
        (
            "sort=short_code&order=asc",
            json!(["a-summer", "b-summer", "C-winter"]),
        ),
        ("sort=short_code", json!(["C-winter", "b-summer", "a-summer"])),
        (
            "sort=partner&order=asc",
            json!(["b-summer", "C-winter", "a-summer"]),
        ),
        ("search=SUMMER", json!(["b-summer", "a-summer"])),
        ("search=be", json!(["b-summer", "C-winter"])),
        (
            "search=summer&sort=short_code&order=asc&status=active",
            json!(["a-summer"]),
        ),
        ("status=inactive", json!(["b-summer"])),
    ] {
        let list = program.get(&stack, &format!("referral-links?{query}")).await;
        assert_eq!(fields(&list.body["data"], "short_code"), codes, "{query}");
        let total = codes.as_array().unwrap().len();
        assert_eq!(list.body["meta"]["pagination"]["total"], total, "{query}");
    }
    for (query, refusal) in [
        ("status=on", "status must be active or inactive"),
        (
            "sort=name",
            "sort must be one of short_code, partner, clicks, last_clicked",
        ),
        ("search=%20", "search must be 1 to 120 visible characters"),
    ] {
        program
            .get(&stack, &format!("referral-links?{query}"))
            .await
            .refused(400, refusal);
    }
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
    let by_hand = shop
        .post(
            "commissions",
            json!({ "partner_program_id": shop.program.bruno.membership.get(), "amount_cents": 700, "currency": "USD", "note": "bonus" }),
        )
        .await;
    let bonus = by_hand.body["data"]["id"].as_i64().unwrap();
    for (query, ids) in [
        // Sorted by currency first.
        ("sort=amount", vec![yen, great, bonus, small]),
        ("sort=amount&order=asc", vec![yen, small, bonus, great]),
        ("sort=partner&order=asc", vec![yen, great, small, bonus]),
        ("sort=amount&pageSize=1&page=2", vec![great]),
        ("transaction_id=great", vec![great]),
        ("transaction_id=GREAT", vec![]),
        ("", vec![bonus, yen, great, small]),
    ] {
        let found = listed(&shop, &format!("commissions?{query}"), "id").await;
        assert_eq!(found, json!(ids), "{query}");
    }
    shop.get("commissions?sort=status")
        .await
        .refused(400, "sort must be one of partner, amount, hold_until");
    let file = shop.get("commissions/export.csv?transaction_id=great").await;
    assert_eq!(file.status, 200, "{file:?}");
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
    let of_ada = format!("partner_program_id={}&", shop.program.ada.membership);
    let of_bruno = format!("partner_program_id={}&", shop.program.bruno.membership);
    let (of_ada, of_bruno) = (of_ada.as_str(), of_bruno.as_str());
    for (whose, query, ids) in [
        ("", "", vec![euros, both, alone]),
        ("", "sort=date", vec![euros, both, alone]),
        ("", "sort=date&order=asc", vec![alone, both, euros]),
        // Sorted by currency first.
        ("", "sort=amount", vec![euros, both, alone]),
        ("", "sort=amount&order=asc", vec![euros, alone, both]),
        ("", "search=bank", vec![alone]),
        ("", "search=b%C3%A4nk", vec![euros]),
        ("", "search=%25", vec![euros]),
        ("", "currency=USD", vec![both, alone]),
        ("", "currency=USD&search=a&sort=date&order=asc", vec![alone, both]),
        ("", "currency=JPY", vec![]),
        (of_ada, "", vec![euros, both, alone]),
        (of_ada, "sort=date&order=asc", vec![alone, both, euros]),
        (of_ada, "sort=amount", vec![euros, alone, both]),
        (of_ada, "sort=amount&order=asc", vec![euros, both, alone]),
        (of_ada, "search=MAY", vec![both]),
        (of_ada, "currency=EUR", vec![euros]),
        (of_bruno, "currency=USD", vec![both]),
        (of_bruno, "search=bank", vec![]),
    ] {
        let path = format!("payouts?{whose}{query}");
        let list = shop.get(&path).await;
        assert_eq!(fields(&list.body["data"], "id"), json!(ids), "{path}");
        assert_eq!(list.body["meta"]["pagination"]["total"], ids.len(), "{path}");
    }
    for (whose, second) in [("", both), (of_ada, alone)] {
        let page = format!("payouts?{whose}sort=amount&pageSize=1&page=2");
        assert_eq!(listed(&shop, &page, "id").await, json!([second]), "{page}");
    }
    for (query, refusal) in [
        ("sort=reference", "sort must be date or amount"),
        (
            "currency=EURO",
            "currency must be a currency code of three letters",
        ),
        ("search=%20", "search must be 1 to 120 visible characters"),
    ] {
        shop.get(&format!("payouts?{query}")).await.refused(400, refusal);
    }
}

#[tokio::test]
async fn a_partner_sorts_and_filters_what_they_received() {
    let shop = Shop::open().await;
    let ada = &[shop.program.ada.partner_id];
    let person = shop.stack.account_of("ada@partner.example", ada).await;
    let [alone, both, euros] = three_payouts(&shop).await;
    let get = async |query: &str| {
        let path = format!("/api/partner/payouts?{query}");
        shop.stack.get(&path, &person.token).await
    };
    let here = format!("program_id={}", shop.program.program_id);
    for (query, ids) in [
        ("sort=date&order=asc", vec![alone, both, euros]),
        ("sort=amount", vec![euros, alone, both]),
        ("sort=amount&order=asc", vec![euros, both, alone]),
        ("currency=USD", vec![both, alone]),
        (here.as_str(), vec![euros, both, alone]),
        ("program_id=0", vec![]),
        // A partner cannot search the reference.
        ("search=bank", vec![euros, both, alone]),
    ] {
        let list = get(query).await;
        assert_eq!(fields(&list.body["data"], "id"), json!(ids), "{query}");
    }
    get("sort=program")
        .await
        .refused(400, "sort must be date or amount");
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
    for (query, names) in [
        (
            "sort=name&order=asc",
            json!(["Ähren", "ants", "Shoes & more", "Zebra shoes"]),
        ),
        (
            "sort=name",
            json!(["Zebra shoes", "Shoes & more", "ants", "Ähren"]),
        ),
        ("search=%C3%A4HR", json!(["Ähren"])),
        ("search=SHOES", json!(["Shoes & more", "Zebra shoes"])),
        ("search=shoes&status=live", json!([])),
        ("search=%25", json!([])),
        ("", json!(["Ähren", "Shoes & more", "ants", "Zebra shoes"])),
    ] {
        let list = stack.get(&format!("{PROGRAMS}?{query}"), &acme.owner.token).await;
        assert_eq!(fields(&list.body["data"], "name"), names, "{query}");
        assert_eq!(list.body["data"][0]["unpaid"], Value::Null);
    }
    stack
        .get(&format!("{PROGRAMS}?status=archived"), &acme.owner.token)
        .await
        .refused(400, "status must be draft or live");
    stack
        .execute("UPDATE programs SET status = 'archived', archived_at = now() WHERE name <> 'ants'")
        .await;
    for (query, names) in [
        (
            "sort=name&order=asc",
            json!(["Ähren", "Shoes & more", "Zebra shoes"]),
        ),
        ("search=SHOES", json!(["Shoes & more", "Zebra shoes"])),
        ("search=ants", json!([])),
    ] {
        let path = format!("{PROGRAMS}?archived=true&{query}");
        let list = stack.get(&path, &acme.owner.token).await;
        assert_eq!(fields(&list.body["data"], "name"), names, "{query}");
    }
}

#[tokio::test]
async fn a_partner_sorts_and_filters_their_own_links_and_commissions() {
    let shop = Shop::open().await;
    let ada = &shop.program.ada;
    let person = shop
        .stack
        .account_of("ada@partner.example", &[ada.partner_id])
        .await;
    let get = async |path: &str, field: &str| {
        let answer = shop
            .stack
            .get(&format!("/api/partner/{path}"), &person.token)
            .await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        fields(&answer.body["data"], field)
    };
    let made = shop
        .post(
            "referral-links",
            json!({ "partner_program_id": ada.membership.get(), "short_code": "zz-late" }),
        )
        .await;
    assert_eq!(made.status, 201, "{made:?}");
    rows::counted(&shop.stack, ada.link, 1).await;
    let code = ada.code.as_str();
    for (query, codes) in [
        ("", json!(["zz-late", code])),
        ("sort=clicks", json!([code, "zz-late"])),
        ("sort=last_clicked&order=asc", json!([code, "zz-late"])),
        ("sort=short_code", json!(["zz-late", code])),
        ("sort=short_code&order=asc", json!([code, "zz-late"])),
        ("search=ZZ", json!(["zz-late"])),
        ("program_id=0", json!([])),
    ] {
        let path = format!("referral-links?{query}");
        assert_eq!(get(&path, "short_code").await, codes, "{query}");
    }
    let small = shop.sell("small", json!({ "amount_cents": 1_000 })).await;
    let great = shop.sell("great", json!({ "amount_cents": 30_000 })).await;
    let middle = shop.sell("middle", json!({ "amount_cents": 2_000 })).await;
    shop.approve(&[small]).await;
    for (query, ids) in [
        ("", vec![middle, great, small]),
        ("sort=amount", vec![great, middle, small]),
        ("sort=amount&order=asc", vec![small, middle, great]),
        ("status=approved", vec![small]),
        ("program_id=0", vec![]),
    ] {
        let path = format!("commissions?{query}");
        assert_eq!(get(&path, "id").await, json!(ids), "{query}");
    }
    for (path, refusal) in [
        (
            "referral-links?sort=partner",
            "sort must be one of short_code, clicks, last_clicked",
        ),
        ("commissions?sort=partner", "sort must be amount or hold_until"),
    ] {
        shop.stack
            .get(&format!("/api/partner/{path}"), &person.token)
            .await
            .refused(400, refusal);
    }
}
