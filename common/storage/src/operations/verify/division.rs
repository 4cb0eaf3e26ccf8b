//! How checks are divided: by the key of their rows, or by day and program.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Division {
    Sales,
    Commissions,
    /// Rows of the ledger.
    Movements,
    Memberships,
    Payouts,
    Links,
    Customers,
    Claims,
    /// Days of rollups, program by program.
    Days,
    /// Not divided, but small: its size grows with partners and subscriptions, not with events.
    One,
    /// Work that is unfinished at this moment. Other alerts report it while it lasts.
    Moment,
    /// Not divided, and as large as all clicks.
    Whole,
}

/// How to walk over the rows of a division in ascending key order. Bounds are texts: keys of a slice are
/// greater than `$1` and at most `$2`. For days see [`NEXT_DAYS`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk {
    /// Part of the name under which the position is stored.
    pub name: &'static str,
    pub rows: &'static str,
    /// A bound less than every key.
    pub start: &'static str,
    table: &'static str,
    key: &'static str,
    /// Maximum number of keys in a slice.
    step: u32,
    /// New rows have greater keys than older rows, and the table has `created_at`.
    pub grows: bool,
}

impl Walk {
    const fn over(table: &'static str, rows: &'static str, step: u32) -> Self {
        Self {
            name: table,
            rows,
            start: "-1",
            table,
            key: "id",
            step,
            grows: false,
        }
    }

    const fn growing(self) -> Self {
        Self { grows: true, ..self }
    }

    /// Whether this walk is over days, which have no table of their own.
    pub const fn is_of_days(&self) -> bool {
        self.rows.is_empty()
    }

    /// SQL for the last key of the slice that begins after `$1`; NULL at the end. `settled` leaves out recent
    /// rows: an earlier transaction may still commit a row with a lesser key.
    pub fn next(&self, settled: bool) -> String {
        let Self { table, key, step, .. } = self;
        if self.is_of_days() {
            let over = if settled { "AND until <= today" } else { "" };
            return NEXT_DAYS.replace("{over}", over);
        }
        let condition = if settled && self.grows {
            "AND created_at < now() - interval '10 minutes'"
        } else {
            ""
        };
        let kind = if self.start.is_empty() { "text" } else { "bigint" };
        format!(
            "SELECT max(key)::text FROM (SELECT {key} AS key FROM {table} WHERE {key} > $1::{kind} {condition} ORDER BY {key} LIMIT {step}) k"
        )
    }

    /// SQL for the key after which the rows since `$1` begin. Binary search works because ids ascend with
    /// time. An hour is added because that order is approximate.
    pub fn since(&self) -> String {
        if self.is_of_days() {
            return "SELECT format('%s %s 9223372036854775807', $1::timestamptz::date, $1::timestamptz::date)".to_owned();
        }
        let Self { table, key, .. } = self;
        format!(
            "WITH RECURSIVE search (low, high) AS (
                 SELECT min({key}) - 2, max({key}) FROM {table}
                 UNION ALL
                 SELECT CASE WHEN older THEN middle ELSE low END, CASE WHEN older THEN high ELSE middle END
                 FROM search
                 CROSS JOIN LATERAL (SELECT (low + high) / 2 AS middle) m
                 CROSS JOIN LATERAL (SELECT coalesce((SELECT created_at FROM {table} WHERE {key} > middle ORDER BY {key} LIMIT 1)
                                                     < $1::timestamptz - interval '1 hour', false) AS older) o
                 WHERE high - low > 1
             )
             SELECT coalesce(min(high), -1)::text FROM search"
        )
    }
}

/// One key of days is a whole slice: the first day, the day before which it ends, and the program. All
/// programs of a range of days precede the next range. The first range is everything before the first day of
/// the rollups. Each next range is one day with the following days that have no rollups. The last range is
/// everything after today. Clocks differ, and no row may be left out.
const NEXT_DAYS: &str = "
    WITH last AS (
        SELECT split_part($1, ' ', 1)::date AS since, split_part($1, ' ', 2)::date AS until, split_part($1, ' ', 3)::bigint AS program_id,
               (now() AT TIME ZONE 'UTC')::date AS today
    ), days AS (
        SELECT until AS since, today,
               CASE WHEN until = '-infinity' THEN (SELECT least(min(day), today) FROM program_days)
                    WHEN until > today THEN 'infinity'
                    ELSE coalesce((SELECT min(day) FROM program_days WHERE day > last.until), greatest(until + 1, today)) END AS until
        FROM last
    )
    SELECT coalesce((SELECT format('%s %s %s', since, until, (SELECT min(id) FROM programs WHERE id > program_id))
                     FROM last WHERE EXISTS (SELECT 1 FROM programs WHERE id > program_id)),
                    (SELECT format('%s %s %s', since, until, (SELECT min(id) FROM programs))
                     FROM days WHERE since < until {over} AND EXISTS (SELECT 1 FROM programs)))";

const SALES: &str = "(SELECT * FROM sale_events WHERE id > $1::bigint AND id <= $2::bigint)";
const REFUNDED: &str = "(SELECT * FROM sale_events WHERE id IN (SELECT sale_id FROM refunds WHERE id > $1::bigint AND id <= $2::bigint))";
const COMMISSIONS: &str = "(SELECT * FROM commissions WHERE id > $1::bigint AND id <= $2::bigint)";
const MOVED: &str = "(SELECT * FROM commissions WHERE id IN (SELECT commission_id FROM ledger_entries WHERE id > $1::bigint AND id <= $2::bigint))";
const MOVEMENTS: &str = "(SELECT * FROM ledger_entries WHERE id > $1::bigint AND id <= $2::bigint)";
const MEMBERSHIPS: &str = "(SELECT * FROM partner_programs WHERE id > $1::bigint AND id <= $2::bigint)";
const PAYOUTS: &str = "(SELECT * FROM payouts WHERE id > $1::bigint AND id <= $2::bigint)";
const LINKS: &str = "(SELECT * FROM referral_links WHERE id > $1::bigint AND id <= $2::bigint)";
const CUSTOMERS: &str = "(SELECT * FROM customers WHERE id > $1::bigint AND id <= $2::bigint)";
const CLAIMS: &str = "(SELECT * FROM transaction_claims WHERE transaction_id > $1 AND transaction_id <= $2)";

/// Few keys, because each has many rows: a membership has as many ledger entries as its partner has ever
/// earned, and a payout as many as it pays.
const LARGE: u32 = 20;
const SMALL: u32 = 10_000;

impl Division {
    /// The table that a check reads when it has no slice.
    pub(super) const fn table(self) -> &'static str {
        match self {
            Self::Sales => "sale_events",
            Self::Commissions => "commissions",
            Self::Movements => "ledger_entries",
            Self::Memberships => "partner_programs",
            Self::Payouts => "payouts",
            Self::Links => "referral_links",
            Self::Customers => "customers",
            Self::Claims => "transaction_claims",
            Self::Days | Self::One | Self::Moment | Self::Whole => "",
        }
    }

    /// The first walk reaches every row. The other walks reach rows that were changed later: a refund may
    /// change a sale of long ago.
    pub(super) const fn walks(self) -> &'static [Walk] {
        match self {
            Self::Sales => {
                const {
                    &[
                        Walk::over("sale_events", SALES, SMALL).growing(),
                        Walk::over("refunds", REFUNDED, SMALL).growing(),
                    ]
                }
            }
            Self::Commissions => {
                const {
                    &[
                        Walk::over("commissions", COMMISSIONS, SMALL).growing(),
                        Walk::over("ledger_entries", MOVED, SMALL).growing(),
                    ]
                }
            }
            Self::Movements => const { &[Walk::over("ledger_entries", MOVEMENTS, SMALL).growing()] },
            Self::Memberships => const { &[Walk::over("partner_programs", MEMBERSHIPS, LARGE)] },
            Self::Payouts => const { &[Walk::over("payouts", PAYOUTS, LARGE)] },
            Self::Links => const { &[Walk::over("referral_links", LINKS, SMALL)] },
            Self::Customers => const { &[Walk::over("customers", CUSTOMERS, SMALL)] },
            Self::Claims => {
                const {
                    &[Walk {
                        start: "",
                        key: "transaction_id",
                        ..Walk::over("transaction_claims", CLAIMS, SMALL)
                    }]
                }
            }
            Self::Days => {
                const {
                    &[Walk {
                        start: "-infinity -infinity 9223372036854775807",
                        ..Walk::over("days", "", 1).growing()
                    }]
                }
            }
            Self::One | Self::Moment | Self::Whole => &[],
        }
    }

    /// Whether the division is verified continuously. Customers and claims are left out: they are as many as
    /// visitors and sales, and change in any order. The checks of sales and leads cover the changes that
    /// sales and leads make to them.
    pub(super) const fn is_continuous(self) -> bool {
        !matches!(self, Self::Customers | Self::Claims | Self::Moment | Self::Whole)
    }

    /// Whether a run can be limited to rows stored since a day.
    pub(super) const fn has_since(self) -> bool {
        !matches!(self, Self::Customers | Self::Claims | Self::Whole)
    }
}
