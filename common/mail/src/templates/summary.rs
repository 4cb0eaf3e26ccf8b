//! A partner's week.

use std::cmp::Ordering;

use chrono::{Datelike, NaiveDate};
use domain::money::{Cents, Currency};
use domain::weekly_summary::{Figure, WeekLine};

use super::page::{Page, unlinked};

pub fn page(first_day: NaiveDate, last_day: NaiveDate, lines: &[WeekLine], commissions_link: String) -> Page {
    let mut page = Page::new(format!("Your week: {}", range(first_day, last_day)))
        .paragraph("This is what your partner programs gave. Days are those of UTC.");
    let mut last_logo = None;
    for line in lines {
        let program = unlinked(&line.program);
        let logo = line.identity.logo_url.as_deref();
        if logo != last_logo {
            page = page.logo(&program, logo);
            last_logo = logo;
        }
        page = page.heading(&format!("{program}, {}", line.currency));
        for (name, figure, noun) in [
            ("Earned", line.earned, "commission"),
            ("Approved", line.approved, "commission"),
            ("Adjusted", line.adjusted, "change"),
            ("Taken back", line.reversed, "commission"),
            ("Paid to you", line.paid, "payout"),
        ] {
            if !figure.is_nothing() {
                page = page.fact(name, shown(figure, line.currency, noun));
            }
        }
    }
    page.reply_to(answered_by(lines))
        .button("See your commissions", commissions_link)
}

/// Whom an answer reaches: the one address that all lines name. Of several programs, nobody is meant.
fn answered_by(lines: &[WeekLine]) -> Option<&str> {
    let address = lines.first()?.identity.reply_to.as_deref()?;
    let all = lines
        .iter()
        .all(|line| line.identity.reply_to.as_deref() == Some(address));
    all.then_some(address)
}

/// `45.00 USD, 3 commissions`
fn shown(figure: Figure, currency: Currency, noun: &str) -> String {
    let plural = if figure.count == 1 { "" } else { "s" };
    format!(
        "{} {currency}, {} {noun}{plural}",
        amount(figure.cents),
        figure.count
    )
}

/// Exact: no float holds every sum of cents.
fn amount(cents: Cents) -> String {
    let sign = match cents.get().cmp(&0) {
        Ordering::Less => "−",
        Ordering::Equal | Ordering::Greater => "",
    };
    let cents = cents.get().unsigned_abs();
    format!("{sign}{}.{:02}", cents / 100, cents % 100)
}

/// `23 February to 1 March 2026`
fn range(first_day: NaiveDate, last_day: NaiveDate) -> String {
    let first = if first_day.year() == last_day.year() {
        first_day.format("%-d %B")
    } else {
        first_day.format("%-d %B %Y")
    };
    format!("{first} to {}", last_day.format("%-d %B %Y"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact() {
        for (cents, text) in [
            (0, "0.00"),
            (5, "0.05"),
            (-1_205, "−12.05"),
            (9_007_199_254_740_993, "90071992547409.93"),
            (i64::MIN, "−92233720368547758.08"),
        ] {
            assert_eq!(amount(Cents::new(cents)), text);
        }
    }

    #[test]
    fn a_year_is_said_twice_only_where_there_are_two() {
        let day = |text: &str| text.parse().unwrap();
        assert_eq!(
            range(day("2026-02-23"), day("2026-03-01")),
            "23 February to 1 March 2026"
        );
        assert_eq!(
            range(day("2026-12-28"), day("2027-01-03")),
            "28 December 2026 to 3 January 2027"
        );
    }
}
