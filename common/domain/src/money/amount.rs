//! Amounts in the form that people read.

use std::fmt;

use super::{Cents, Currency};

/// Currencies of ISO 4217 without decimals, and below them those with three.
const WITHOUT_DECIMALS: &str = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF";
const WITH_THREE: &str = "BHD IQD JOD KWD LYD OMR TND";

impl Currency {
    /// Digits after the decimal point. Amounts are stored in the currency's smallest unit.
    pub fn decimals(&self) -> usize {
        let is_in = |codes: &str| codes.split(' ').any(|code| code == self.as_str());
        if is_in(WITHOUT_DECIMALS) {
            0
        } else if is_in(WITH_THREE) {
            3
        } else {
            2
        }
    }
}

/// `12.34 USD`, `500 JPY`; with a sign on request, `+12.34 USD`. The text is exact, because no float is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    pub cents: Cents,
    pub currency: Currency,
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cents = self.cents.get();
        if cents < 0 {
            f.write_str("-")?;
        } else if f.sign_plus() {
            f.write_str("+")?;
        }
        let decimals = self.currency.decimals();
        let digits = format!("{:0least$}", cents.unsigned_abs(), least = decimals + 1);
        let (units, rest) = digits.split_at(digits.len() - decimals);
        f.write_str(units)?;
        if !rest.is_empty() {
            write!(f, ".{rest}")?;
        }
        write!(f, " {}", self.currency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(cents: i64, currency: &str) -> Amount {
        Amount {
            cents: Cents::new(cents),
            currency: Currency::parse(currency).unwrap(),
        }
    }

    #[test]
    fn amounts_have_the_decimals_of_their_currency_and_are_exact() {
        for (cents, currency, text) in [
            (0, "USD", "0.00 USD"),
            (5, "USD", "0.05 USD"),
            (-1_205, "EUR", "-12.05 EUR"),
            (9_007_199_254_740_993, "USD", "90071992547409.93 USD"),
            (i64::MIN, "USD", "-92233720368547758.08 USD"),
            (0, "JPY", "0 JPY"),
            (987_654_321, "JPY", "987654321 JPY"),
            (-7, "KRW", "-7 KRW"),
            (7, "KWD", "0.007 KWD"),
            (12_345, "TND", "12.345 TND"),
        ] {
            assert_eq!(amount(cents, currency).to_string(), text);
        }
        assert_eq!(format!("{:+}", amount(500, "USD")), "+5.00 USD");
        assert_eq!(format!("{:+}", amount(-500, "USD")), "-5.00 USD");
    }
}
