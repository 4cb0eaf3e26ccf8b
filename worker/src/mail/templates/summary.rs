//! A partner's weekly summary.

use chrono::{Datelike, NaiveDate};
use domain::money::{Amount, Currency};
use domain::people::weekly_summary::{Figure, WeekLine};

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

/// The address for replies that all lines share; else replies go to the installation's address.
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
    let amount = Amount {
        cents: figure.cents,
        currency,
    };
    // With a minus sign instead of a hyphen.
    let amount = amount.to_string().replace('-', "−");
    format!("{amount}, {} {noun}{plural}", figure.count)
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
    use domain::money::Cents;

    use super::*;

    #[test]
    fn an_amount_has_its_currencys_decimals() {
        let figure = Figure {
            count: 2,
            cents: Cents::new(-987_654),
        };
        for (currency, text) in [
            ("USD", "−9876.54 USD, 2 changes"),
            ("JPY", "−987654 JPY, 2 changes"),
            ("KWD", "−987.654 KWD, 2 changes"),
        ] {
            assert_eq!(shown(figure, Currency::parse(currency).unwrap(), "change"), text);
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
