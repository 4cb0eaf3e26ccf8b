//! A case: two programs with their terms, and the steps that happen to them. Visitors, keys and transactions
//! are few, so that calls collide.

/// Milliseconds.
pub const HOUR: i64 = 3_600_000;
pub const DAY: i64 = 24 * HOUR;
/// Hundredths of a percent.
pub const PRO: i64 = 777;

#[derive(Debug, Clone)]
pub struct Case {
    pub programs: [Terms; 2],
    pub steps: Vec<Step>,
}

/// The terms of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    pub attribution: Attribution,
    pub due: Due,
    pub rate: Rate,
    /// Whether the product `pro` earns [`PRO`] of every sale.
    pub pro: bool,
    pub window_days: i64,
    /// `lead_auth: server_required`.
    pub backends_word: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Attribution {
    LastClick,
    FirstClick,
    Linear,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Due {
    Always,
    FirstPayment,
    Months(u32),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// Hundredths of a percent.
    Percent(i64),
    Fixed(i64, &'static str),
}

/// The links of every program, in the order of their creation. The first three take clicks.
pub const LINKS: [&str; 5] = ["ada", "bruno", "ada-too", "off", "orphan"];
/// The owner of each link: an index into [`PARTNERS`].
pub const OWNERS: [usize; 3] = [0, 1, 0];
pub const PARTNERS: [&str; 2] = ["ada", "bruno"];
/// Stands for a code that no link has.
pub const NO_LINK: usize = LINKS.len();

#[derive(Debug, Clone)]
pub enum Step {
    Call(Call<Visitor>),
    /// Calls at once, each from a caller of its own.
    Burst(Vec<Call<Visitor>>),
    /// Repeats an earlier call, given by its number.
    Again(usize),
    /// Delivers a message of an earlier call again.
    Redeliver(usize),
    /// The advertiser approves and pays the commissions of this sale, or of another one, if none of them has
    /// been paid or refunded.
    PayOut(usize),
    /// The advertiser changes the commissions of this sale, or of another one, by hand.
    ByHand(usize, ByHand),
    /// The clock advances by so many milliseconds.
    Wait(i64),
    /// The clock advances to exactly the end of a visitor's attribution window, if the end is in the future.
    EndOfWindow(Visitor),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ByHand {
    /// All commissions of the sale.
    Reject,
    /// The sale's first commission, by so many cents.
    Adjust(i64),
}

/// A call; `V` identifies its click_ids.
#[derive(Debug, Clone, PartialEq)]
pub struct Call<V> {
    pub who: Who,
    /// How far the clock of the edge that takes the call is behind, in milliseconds.
    pub late: i64,
    pub what: What<V>,
}

/// The `Authorization` header.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Who {
    Nobody,
    EmptyToken,
    UnknownToken,
    Program(usize),
}

#[derive(Debug, Clone, PartialEq)]
pub enum What<V> {
    Click {
        program: usize,
        link: usize,
        existing: Option<V>,
    },
    Lead {
        click: Option<V>,
        key: Option<usize>,
    },
    Sale(Sale<V>),
    Refund(Refund),
    /// A click, lead or sale in test mode that names this program or none.
    Test {
        kind: TestKind,
        named: Option<usize>,
    },
    /// One of the [`super::refusals`], by its index.
    Refused(usize),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Sale<V> {
    pub transaction: usize,
    pub amount: i64,
    /// The part of the amount that earns; `None`: all of it.
    pub commissionable: Option<i64>,
    pub click: Option<V>,
    pub key: Option<usize>,
    pub currency: Option<&'static str>,
    pub product: Option<&'static str>,
    pub subscription: Option<usize>,
    pub is_recurring: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Refund {
    pub transaction: usize,
    pub amount: Option<i64>,
    pub refund_id: Option<usize>,
    pub reason: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TestKind {
    /// A click on a link of a program.
    Click {
        program: usize,
        link: usize,
    },
    Lead,
    /// A sale with a transaction_id that a real sale may have, or with none.
    Sale {
        transaction: Option<usize>,
    },
}

/// A visitor who has clicked, counted in the order of the clicks; or a well-formed click_id of no visitor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Visitor {
    Known(usize),
    Forged,
}

impl<V> Call<V> {
    /// The same call with other names for click_ids.
    pub fn quoting<W>(&self, quoted: impl Fn(&V) -> W) -> Call<W> {
        let what = match &self.what {
            What::Click {
                program,
                link,
                existing,
            } => What::Click {
                program: *program,
                link: *link,
                existing: existing.as_ref().map(quoted),
            },
            What::Lead { click, key } => What::Lead {
                click: click.as_ref().map(quoted),
                key: *key,
            },
            What::Sale(sale) => What::Sale(Sale {
                transaction: sale.transaction,
                amount: sale.amount,
                commissionable: sale.commissionable,
                click: sale.click.as_ref().map(quoted),
                key: sale.key,
                currency: sale.currency,
                product: sale.product,
                subscription: sale.subscription,
                is_recurring: sale.is_recurring,
            }),
            What::Refund(refund) => What::Refund(refund.clone()),
            What::Test { kind, named } => What::Test {
                kind: *kind,
                named: *named,
            },
            What::Refused(place) => What::Refused(*place),
        };
        Call {
            who: self.who,
            late: self.late,
            what,
        }
    }
}
