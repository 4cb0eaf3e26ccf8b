//! Payouts as each partner received them: the partner's own part, less the amount withheld, in every program
//! and currency.

use serde_json::{Value, json};
use test_harness::{Json, Person, Program, Shop, Stack, sell};

/// Ada was paid in two programs and three currencies; one payout paid Bruno together with her.
struct Scene {
    shop: Shop,
    club: Program,
    ada: Person,
    bruno: Person,
    /// Payouts, oldest first: to Ada alone, to both less Ada's debt, in euros, and by the club in yen.
    payouts: [i64; 4],
    /// Ada's commission in the second payout.
    second: i64,
}

fn id(of: &Value) -> i64 {
    of["id"].as_i64().unwrap()
}

impl Scene {
    async fn set() -> Self {
        let shop = Shop::open().await;
        let (stack, program) = (&shop.stack, &shop.program);
        let club = stack.program().await;
        let ada = stack
            .account_of(
                "ada@partner.example",
                &[program.ada.partner_id, club.ada.partner_id],
            )
            .await;
        let bruno = stack
            .account_of("bruno@partner.example", &[program.bruno.partner_id])
            .await;
        stack.customer(program, &program.bruno.code, "user-2").await;
        let (first, second) = (shop.sell("t1", json!({})).await, shop.sell("t2", json!({})).await);
        let euros = shop.sell("t3", json!({ "currency": "EUR" })).await;
        let of_bruno = json!({ "amount_cents": 3_500, "customer_key": "user-2" });
        let of_bruno = shop.sell("t4", of_bruno).await;
        shop.approve(&[first, second, euros, of_bruno]).await;
        let alone = json!({ "commission_ids": [first], "reference": "bank 17" });
        let alone = id(&shop.pay(alone).await);
        shop.refund("t1", 5_000).await;
        let both = id(&shop.pay(json!({ "commission_ids": [second, of_bruno] })).await);
        let in_euros = id(&shop.pay(json!({ "commission_ids": [euros] })).await);
        let of_club = paid_in_yen(stack, &club).await;
        Self {
            club,
            ada,
            bruno,
            payouts: [alone, both, in_euros, of_club],
            second,
            shop,
        }
    }

    async fn get(&self, person: &Person, path: &str) -> Value {
        let path = format!("/api/partner/{path}");
        let answer = self.shop.stack.get(&path, &person.token).await.ok();
        answer.body
    }

    /// Leaves out the time.
    async fn received(&self, person: &Person) -> Value {
        let mut list = self.get(person, "payouts").await["data"].clone();
        for payout in list.as_array_mut().unwrap() {
            let at = payout.as_object_mut().unwrap().remove("createdAt").unwrap();
            assert!(at.is_string(), "{payout}");
        }
        list
    }
}

async fn paid_in_yen(stack: &Stack, club: &Program) -> i64 {
    stack.customer(club, &club.ada.code, "user-1").await;
    let sale = sell(stack, club, "c1", 90_000, json!({ "currency": "JPY" })).await;
    let commission = sale.body["commission_id"].as_i64().unwrap();
    let owner = stack.owner_of(club).await;
    let submit = async |rest: &str| {
        let body = json!({ "commission_ids": [commission] });
        let answer = stack.submit(&club.path(rest), Some(&owner.token), body).await;
        answer.data().clone()
    };
    submit("commissions/approve").await;
    id(&submit("payouts").await)
}

fn part(payout: i64, program: &Program, currency: &str, requested: i64, shortfall: i64) -> Value {
    json!({
        "id": payout, "program_id": program.program_id, "program_name": "Program", "currency": currency,
        "commission_count": 1, "requested_cents": requested, "shortfall_cents": shortfall,
        "amount_cents": requested - shortfall,
    })
}

#[tokio::test]
async fn a_partner_reads_what_each_payout_gave_them() {
    let scene = Scene::set().await;
    let [alone, both, euros, yen] = scene.payouts;
    let (program, club) = (&scene.shop.program, &scene.club);
    let of_ada = json!([
        part(yen, club, "JPY", 18_000, 0),
        part(euros, program, "EUR", 2_000, 0),
        part(both, program, "USD", 2_000, 1_000),
        part(alone, program, "USD", 2_000, 0),
    ]);
    assert_eq!(scene.received(&scene.ada).await, of_ada);
    assert_eq!(
        scene.received(&scene.bruno).await,
        json!([part(both, program, "USD", 700, 0)])
    );
    // The amounts equal the balances.
    let balances = scene.get(&scene.ada, "balances").await;
    for balance in balances["data"].as_array().unwrap() {
        let same = |payout: &&Value| {
            (&payout["program_id"], &payout["currency"]) == (&balance["program_id"], &balance["currency"])
        };
        let received = of_ada.as_array().unwrap().iter().filter(same);
        let received: i64 = received
            .map(|payout| payout["amount_cents"].as_i64().unwrap())
            .sum();
        assert_eq!(balance["paid_cents"], received, "{balance}");
    }
    let page = scene.get(&scene.ada, "payouts?pageSize=1&page=2").await;
    assert_eq!(id(&page["data"][0]), euros);
    assert_eq!(
        page["meta"]["pagination"],
        json!({ "page": 2, "pageSize": 1, "pageCount": 4, "total": 4, "upTo": yen })
    );
    let earlier = scene.get(&scene.ada, &format!("payouts?upTo={both}")).await;
    assert_eq!(id(&earlier["data"][0]), both);
    assert_eq!(earlier["meta"]["pagination"]["total"], 2);
    scene.shop.stack.verify().await;
}

#[tokio::test]
async fn a_payout_shows_a_partner_their_own_commissions_alone() {
    let scene = Scene::set().await;
    let [alone, both, ..] = scene.payouts;
    let read = async |person: &Person, payout: i64| {
        let path = format!("/api/partner/payouts/{payout}");
        scene.shop.stack.get(&path, &person.token).await
    };
    let detail = read(&scene.ada, both).await.body["data"].clone();
    detail.has(json!({ "amount_cents": 1_000, "shortfall_cents": 1_000 }));
    let commissions = detail["commissions"].as_array().unwrap();
    assert_eq!(commissions.len(), 1, "{detail}");
    let commission = &commissions[0];
    assert!(commission["createdAt"].is_string(), "{commission}");
    commission.has(json!({
        "id": scene.second, "requested_cents": 2_000, "shortfall_cents": 1_000, "amount_cents": 1_000,
        "note": null,
    }));
    let whole = read(&scene.ada, alone).await.body["data"].clone();
    // The reference is between the advertiser and their bank.
    assert!(!whole.to_string().contains("bank 17"), "{whole}");
    let of_bruno = read(&scene.bruno, both).await.body["data"].clone();
    assert_eq!(of_bruno["amount_cents"], 700);
    for (person, payout) in [
        (&scene.bruno, alone),
        (&scene.bruno, scene.payouts[3]),
        (&scene.ada, 999_999),
    ] {
        read(person, payout).await.refused(404, "Payout not found");
    }
}

#[tokio::test]
async fn an_advertiser_lists_the_payouts_of_one_partner_with_their_part() {
    let scene = Scene::set().await;
    let [alone, both, euros, _] = scene.payouts;
    let (shop, club) = (&scene.shop, &scene.club);
    let (ada, bruno) = (&shop.program.ada, &shop.program.bruno);
    let of = |membership| format!("partner_program_id={membership}");
    let (of_ada, of_bruno) = (of(ada.membership), of(bruno.membership));
    let expected = json!({
        "": [euros, both, alone],
        (of_ada.as_str()): [euros, both, alone],
        (of_bruno.as_str()): [both],
        // The commission was paid, but by another program.
        (of(club.ada.membership)): [],
    });
    shop.lists("payouts", "id", expected).await;
    assert_eq!(shop.read("payouts").await[0]["partner_share"], Value::Null);
    let parts = shop.read(&format!("payouts/{both}")).await["partners"].clone();
    let shared = shop.read(&format!("payouts?{of_bruno}")).await[0].clone();
    shared.has(json!({ "amount_cents": 1_700, "commission_count": 2, "partner_share": parts[1] }));
    assert_eq!(parts[1]["amount_cents"], 700);
    let second = shop.get(&format!("payouts?{of_ada}&pageSize=1&page=2")).await;
    second.data()[0].has(json!({ "id": both, "partner_share": parts[0] }));
    assert_eq!(
        second.body["meta"]["pagination"],
        json!({ "page": 2, "pageSize": 1, "pageCount": 3, "total": 3, "upTo": euros })
    );
    let refusals = json!({
        "partner_program_id=ada": "partner_program_id must be an integer",
    });
    shop.refuses("payouts", refusals).await;
}

/// The amount that the payout paid for each commission of a list.
fn got(list: &Value) -> Value {
    list.columns(["transaction_id", "paid_cents", "shortfall_cents"])
}

#[tokio::test]
async fn a_payouts_commissions_are_listed_with_what_each_got() {
    let scene = Scene::set().await;
    let [alone, both, _, of_club] = scene.payouts;
    let shop = &scene.shop;
    let of = async |payout: i64, more: &str| shop.get(&format!("commissions?payout_id={payout}{more}")).await;
    let (ada, bruno) = (json!(["t2", 1_000, 1_000]), json!(["t4", 700, 0]));
    let by_name = of(both, "&sort=partner&order=asc").await;
    assert_eq!(got(by_name.data()), json!([ada, bruno]));
    let second = of(both, "&pageSize=1&page=2").await;
    assert_eq!((got(second.data()), second.total()), (json!([ada]), &json!(2)));
    // The amounts as they were paid, before the refund.
    let refunded = of(alone, "").await;
    assert_eq!(got(refunded.data()), json!([["t1", 2_000, 0]]));
    assert_eq!(refunded.data()[0]["payable_cents"], 1_000);
    // The payout belongs to another program.
    assert_eq!(*of(of_club, "").await.data(), json!([]));
    let file = shop
        .get(&format!("commissions/export.csv?payout_id={both}"))
        .await;
    let text = file.text();
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.contains(r#","1000","1000""#), "{text}");
    let refusals = json!({ "payout_id=x": "payout_id must be an integer" });
    shop.refuses("commissions", refusals).await;
}

#[tokio::test]
async fn what_was_paid_is_found_whatever_became_of_it() {
    let scene = Scene::set().await;
    let [alone, both, euros, of_club] = scene.payouts;
    let shop = &scene.shop;
    let rejected = shop.read("commissions?transaction_id=t3").await[0]["id"].clone();
    shop.reject(&[rejected.as_i64().unwrap()]).await.ok();
    shop.sell("t5", json!({})).await;
    let found = json!({
        "paid=true": ["t4", "t3", "t2", "t1"],
        "paid=true&status=refunded": ["t1"],
        "paid=true&status=reversed": ["t3"],
        "status=paid": ["t4", "t2"],
        "paid=false": ["t5"],
    });
    shop.lists("commissions", "transaction_id", found.clone()).await;
    for (query, found) in found.as_object().unwrap() {
        let file = shop.get(&format!("commissions/export.csv?{query}")).await;
        let found = found.as_array().unwrap().len();
        assert_eq!(file.text().lines().count(), found + 1, "{query}: {file:?}");
    }
    let (stack, token) = (&shop.stack, &scene.ada.token);
    let expected = json!({
        "paid=true": [of_club, euros, both, alone],
        "status=paid": [of_club, both],
        "paid=false": [null],
    });
    stack
        .lists(token, "/api/partner/commissions", "payout_id", expected)
        .await;
    shop.refuses("commissions", json!({ "paid=yes": "paid must be true or false" }))
        .await;
}
