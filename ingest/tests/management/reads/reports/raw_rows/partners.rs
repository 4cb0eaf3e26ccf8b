//! The same numbers for one partner: as the advertiser reads them, and across all programs as the partner
//! reads them.

use std::collections::BTreeSet;

use chrono::NaiveDate;
use domain::ids::PartnerId;
use serde_json::{Value, json};

use super::{Cut, Figures, Owned, raw, report};
use test_harness::{Person, Stack};

/// Each partner has one link in a program.
pub async fn as_the_advertiser_reads_them(stack: &Stack, owned: &Owned, cut: &Cut<'_>, figures: &Figures) {
    let program = &owned.program;
    let range = format!("dateFrom={}&dateTo={}", cut.first, cut.last);
    let path = program.path(&format!("report?{range}&partner_program_id="));
    for partner in [&program.ada, &program.bruno] {
        let of_link = Cut {
            link: Some(partner.link.get()),
            ..*cut
        };
        let path = format!("{path}{}", partner.membership);
        let answer = stack.get(&path, &owned.owner.token).await.ok();
        assert_eq!(answer.body["data"], report(&of_link, figures), "{path}");
    }
    for (named, status, message) in [
        ("999999999", 404, "Partner not found"),
        ("ada", 400, "partner_program_id must be an integer"),
    ] {
        let answer = stack.get(&format!("{path}{named}"), &owned.owner.token).await;
        answer.refused(status, message);
    }
}

/// A program's figures, and the partner's link there.
type OfProgram<'a> = (&'a Figures, i64);

/// Currencies are never added up; programs are.
fn expected(programs: &[OfProgram<'_>], first: NaiveDate, last: NaiveDate) -> Value {
    let cut = |currency, link| Cut {
        first,
        last,
        currency,
        link: Some(link),
    };
    let count = |wanted| -> i64 {
        let counts = programs
            .iter()
            .map(|(figures, link)| cut("", *link).count(figures, wanted));
        counts.sum()
    };
    let mut currencies = BTreeSet::new();
    for (figures, link) in programs {
        let there = figures.keys().filter(|(_, day, currency, its)| {
            its == link && !currency.is_empty() && (first..=last).contains(day)
        });
        currencies.extend(there.map(|(_, _, currency, _)| currency.as_str()));
    }
    let earned = currencies.into_iter().map(|currency| {
        let cents = |wanted| -> i64 {
            let cents = programs
                .iter()
                .map(|(figures, link)| cut(currency, *link).cents(figures, wanted));
            cents.sum()
        };
        let taken = cents("deducted") + cents("changed");
        json!({
            "currency": currency, "sales": cents("sales"), "commission_cents": cents("commission"),
            "commission_taken_back_cents": taken, "net_commission_cents": cents("commission") - taken,
        })
    });
    json!({
        "clicks": count("clicks"), "leads": count("leads"), "conversions": count("conversions"),
        "sales": count("sales"), "currencies": earned.collect::<Vec<_>>(),
    })
}

fn expected_report(programs: &[OfProgram<'_>], cut: &Cut<'_>) -> Value {
    let days = cut.first.iter_days().take_while(|day| *day <= cut.last);
    let days: Vec<Value> = days
        .map(|day| {
            let mut of_day = expected(programs, day, day);
            of_day["date"] = day.to_string().into();
            of_day
        })
        .collect();
    json!({
        "range": { "first": cut.first.to_string(), "last": cut.last.to_string() },
        "days": days, "total": expected(programs, cut.first, cut.last),
    })
}

async fn own(person: &Person, query: &str) -> Value {
    let answer = person.get(&format!("/api/partner/report?{query}")).await;
    answer.data().clone()
}

/// Bruno takes part in every program, Ada in the first alone.
pub async fn as_partners_read_them(stack: &Stack, market: &[Owned], cut: &Cut<'_>) {
    let everywhere: Vec<PartnerId> = market
        .iter()
        .map(|owned| owned.program.bruno.partner_id)
        .collect();
    let bruno = stack.account_of("bruno@partner.example", &everywhere).await;
    let first = &market[0].program;
    let ada = stack
        .account_of("ada@partner.example", &[first.ada.partner_id])
        .await;
    let mut figures = Vec::new();
    for owned in market {
        figures.push(raw(stack, &owned.program).await);
    }
    let links = market.iter().map(|owned| owned.program.bruno.link.get());
    let programs: Vec<OfProgram<'_>> = figures.iter().zip(links).collect();
    let range = format!("dateFrom={}&dateTo={}", cut.first, cut.last);
    let all = expected_report(&programs, cut);
    let currencies = all["total"]["currencies"].as_array().unwrap();
    assert!(currencies.len() > 2, "{currencies:?}");
    assert_eq!(own(&bruno, &range).await, all);
    for (owned, program) in market.iter().zip(&programs) {
        let query = format!("{range}&program_id={}", owned.program.program_id);
        let of_program = expected_report(&[*program], cut);
        assert_eq!(own(&bruno, &query).await, of_program, "{query}");
    }
    let of_ada = [(&figures[0], first.ada.link.get())];
    assert_eq!(own(&ada, &range).await, expected_report(&of_ada, cut));
    let path = "/api/partner/report";
    let others = format!("{path}?program_id={}", market[1].program.program_id);
    ada.get(&others).await.refused(404, "Program not found");
    let refusals = json!({
        "program_id=x": "program_id must be an integer",
        "dateFrom=2026-02-02&dateTo=2026-02-01": "dateFrom must not be after dateTo",
    });
    stack.refuses(&ada.token, path, refusals).await;
}
