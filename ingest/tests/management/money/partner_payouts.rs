//! Payouts as each partner received them: the partner's own part, less the amount withheld, in every program
//! and currency.

use reqwest::StatusCode;
use serde_json::{Value, json};
use test_harness::{Person, Program, Shop, Stack, sell};

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
        let of_bruno = json!({ "transaction_id": "t4", "amount_cents": 3_500, "customer_key": "user-2" });
        let of_bruno = stack.sold(program, of_bruno).await.body["commission_id"]
            .as_i64()
            .unwrap();
        shop.approve(&[first, second, euros, of_bruno]).await;
        let alone = id(&shop
            .pay(json!({ "commission_ids": [first], "reference": "bank 17" }))
            .await);
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
        let answer = self.shop.stack.get(&path, &person.token).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
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
    let path = format!("/api/advertiser/affiliate-programs/{}", club.program_id);
    let submit = async |rest: &str| {
        let body = json!({ "commission_ids": [commission] });
        let answer = stack
            .submit(&format!("{path}/{rest}"), Some(&owner.token), body)
            .await;
        assert!(answer.status.is_success(), "{answer:?}");
        answer.body["data"].clone()
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
        let received: i64 = of_ada
            .as_array()
            .unwrap()
            .iter()
            .filter(same)
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
    assert_eq!(
        (&detail["amount_cents"], &detail["shortfall_cents"]),
        (&json!(1_000), &json!(1_000))
    );
    let commissions = detail["commissions"].as_array().unwrap();
    assert_eq!(commissions.len(), 1, "{detail}");
    let commission = &commissions[0];
    assert!(commission["createdAt"].is_string(), "{commission}");
    for (name, value) in [
        ("id", json!(scene.second)),
        ("requested_cents", json!(2_000)),
        ("shortfall_cents", json!(1_000)),
        ("amount_cents", json!(1_000)),
        ("note", Value::Null),
    ] {
        assert_eq!(commission[name], value, "{name}");
    }
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
    let list = async |query: String| {
        let answer = shop.get(&format!("payouts?{query}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        answer.body
    };
    let (ada, bruno) = (&shop.program.ada, &shop.program.bruno);
    let of = |membership| format!("partner_program_id={membership}");
    let ids = |page: &Value| -> Vec<i64> { page["data"].as_array().unwrap().iter().map(id).collect() };
    let all = list(String::new()).await;
    assert_eq!(ids(&all), [euros, both, alone]);
    assert!(all["data"][0]["partner_share"].is_null(), "{all}");
    let of_ada = list(of(ada.membership)).await;
    assert_eq!(ids(&of_ada), [euros, both, alone]);
    let of_bruno = list(of(bruno.membership)).await;
    assert_eq!(ids(&of_bruno), [both]);
    let shared = &of_bruno["data"][0];
    assert_eq!(
        (&shared["amount_cents"], &shared["commission_count"]),
        (&json!(1_700), &json!(2))
    );
    let detail = shop.get(&format!("payouts/{both}")).await;
    let parts = &detail.body["data"]["partners"];
    assert_eq!(of_ada["data"][1]["partner_share"], parts[0]);
    assert_eq!(shared["partner_share"], parts[1]);
    assert_eq!(parts[1]["amount_cents"], 700);
    let second = list(format!("{}&pageSize=1&page=2", of(ada.membership))).await;
    assert_eq!(ids(&second), [both]);
    assert_eq!(
        second["meta"]["pagination"],
        json!({ "page": 2, "pageSize": 1, "pageCount": 3, "total": 3, "upTo": euros })
    );
    // The commission was paid, but by another program.
    let elsewhere = list(of(club.ada.membership)).await;
    assert_eq!(
        (ids(&elsewhere).len(), &elsewhere["meta"]["pagination"]["total"]),
        (0, &json!(0))
    );
    shop.get("payouts?partner_program_id=ada")
        .await
        .refused(400, "partner_program_id must be an integer");
}

/// The amount that the payout paid for each commission of a list.
fn got(list: &Value) -> Vec<Value> {
    let commissions = list["data"].as_array().unwrap().iter();
    commissions
        .map(|one| {
            json!([
                one["transaction_id"],
                one["partner"]["name"],
                one["paid_cents"],
                one["shortfall_cents"]
            ])
        })
        .collect()
}

#[tokio::test]
async fn a_payouts_commissions_are_listed_with_what_each_got() {
    let scene = Scene::set().await;
    let [alone, both, _, of_club] = scene.payouts;
    let shop = &scene.shop;
    let of = async |payout: i64, more: &str| {
        let answer = shop.get(&format!("commissions?payout_id={payout}{more}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        answer.body
    };
    let ada = json!(["t2", "ada", 1_000, 1_000]);
    let bruno = json!(["t4", "bruno", 700, 0]);
    let by_name = of(both, "&sort=partner&order=asc").await;
    assert_eq!(got(&by_name), [ada.clone(), bruno]);
    let second = of(both, "&pageSize=1&page=2").await;
    assert_eq!(
        (got(&second), &second["meta"]["pagination"]["total"]),
        (vec![ada], &json!(2))
    );
    // The amounts as they were paid, before the refund.
    let refunded = of(alone, "").await;
    assert_eq!(got(&refunded), [json!(["t1", "ada", 2_000, 0])]);
    assert_eq!(refunded["data"][0]["payable_cents"], 1_000);
    // The payout belongs to another program.
    assert_eq!(got(&of(of_club, "").await), [] as [Value; 0]);
    let file = shop
        .get(&format!("commissions/export.csv?payout_id={both}"))
        .await;
    let text = file.body.as_str().unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.contains(r#","1000","1000""#), "{text}");
    shop.get("commissions?payout_id=x")
        .await
        .refused(400, "payout_id must be an integer");
}

#[tokio::test]
async fn what_was_paid_is_found_whatever_became_of_it() {
    let scene = Scene::set().await;
    let [alone, both, euros, of_club] = scene.payouts;
    let shop = &scene.shop;
    let rejected = &shop.get("commissions?transaction_id=t3").await.body["data"][0]["id"];
    let reject = json!({ "commission_ids": [rejected], "reason": "the partner bought it" });
    let answer = shop.post("commissions/reject", reject).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    shop.sell("t5", json!({})).await;
    for (query, transactions) in [
        ("paid=true", ["t4", "t3", "t2", "t1"].as_slice()),
        ("paid=true&status=refunded", &["t1"]),
        ("paid=true&status=reversed", &["t3"]),
        ("status=paid", &["t4", "t2"]),
        ("paid=false", &["t5"]),
    ] {
        let list = shop.get(&format!("commissions?{query}")).await.body;
        let found: Vec<_> = got(&list).iter().map(|one| one[0].clone()).collect();
        assert_eq!(found, transactions, "{query}");
        assert_eq!(list["meta"]["pagination"]["total"], found.len(), "{query}");
        let file = shop.get(&format!("commissions/export.csv?{query}")).await;
        let lines = file.body.as_str().unwrap().lines().count();
        assert_eq!(lines, found.len() + 1, "{query}: {file:?}");
    }
    let payouts = async |query: &str| -> Vec<Value> {
        let list = scene.get(&scene.ada, &format!("commissions?{query}")).await;
        let commissions = list["data"].as_array().unwrap().iter();
        commissions.map(|one| one["payout_id"].clone()).collect()
    };
    assert_eq!(payouts("paid=true").await, [of_club, euros, both, alone]);
    assert_eq!(payouts("status=paid").await, [of_club, both]);
    assert_eq!(payouts("paid=false").await, [Value::Null]);
    shop.get("commissions?paid=yes")
        .await
        .refused(400, "paid must be true or false");
}
