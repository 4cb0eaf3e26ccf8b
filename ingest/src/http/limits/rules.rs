//! One rule for each limit: what it counts, the limit, the window, and how many requests it has rejected.

use runtime::metrics::{Counter, LIMITED};

use super::config::LimitsConfig;
use super::window::Window;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Budget {
    Click,
    Lead,
    SaleAndRefund,
    Readiness,
    Cli,
}

impl Budget {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Click => "click",
            Self::Lead => "lead",
            Self::SaleAndRefund => "sale_refund",
            Self::Readiness => "readiness",
            Self::Cli => "cli",
        }
    }

    /// Backends are counted by key, browsers by address.
    pub const fn is_by_key(self) -> bool {
        matches!(self, Self::SaleAndRefund | Self::Readiness | Self::Cli)
    }
}

#[derive(Debug, Clone)]
pub struct Rule {
    pub name: &'static str,
    pub limit: u32,
    pub window: Window,
    pub rejected: Counter,
}

impl Rule {
    /// How many requests of a caller an ingest counts before it shares them. For limits by the minute: a
    /// sixteenth of the limit, at most eight, so that a visitor's first clicks cost Redis nothing. For limits
    /// by the hour: each request, because memory may drop a caller many times within an hour.
    pub fn shared_after(&self) -> u64 {
        match self.window {
            Window::Minute => u64::from(self.limit / 16).clamp(1, 8),
            Window::Hour => 1,
        }
    }

    fn a_minute(limit: u32, name: &'static str) -> Self {
        Self {
            name,
            limit,
            window: Window::Minute,
            rejected: LIMITED.with([name]),
        }
    }

    fn an_hour(limit: u32, name: &'static str) -> Self {
        Self {
            window: Window::Hour,
            ..Self::a_minute(limit, name)
        }
    }
}

#[derive(Debug, Clone)]
pub struct Rules {
    clicks: Rule,
    leads: Rule,
    sales_and_refunds: Rule,
    readiness: Rule,
    cli: Rule,
    pub browser_leads: Rule,
    pub sign_ins: Rule,
    pub account_sign_ins: Rule,
    pub codes: Rule,
    pub management: Rule,
    pub unknown_tokens: Rule,
    pub keyless_tests: Rule,
    pub chains: Rule,
}

impl Rules {
    pub fn new(limits: &LimitsConfig) -> Self {
        let of = |budget: Budget, limit| Rule::a_minute(limit, budget.name());
        Self {
            clicks: of(Budget::Click, limits.click_limit),
            leads: of(Budget::Lead, limits.lead_limit),
            sales_and_refunds: of(Budget::SaleAndRefund, limits.sale_refund_limit),
            readiness: of(Budget::Readiness, limits.readiness_limit),
            cli: of(Budget::Cli, limits.cli_limit),
            browser_leads: Rule::an_hour(limits.browser_leads_an_hour(), "browser_lead"),
            sign_ins: Rule::a_minute(limits.sign_in_limit, "sign_in"),
            account_sign_ins: Rule::a_minute(limits.sign_in_limit.div_ceil(4), "sign_in"),
            codes: Rule::an_hour(limits.code_limit, "sign_in"),
            management: Rule::a_minute(limits.management_limit, "management"),
            unknown_tokens: Rule::a_minute(limits.unknown_token_limit, "unknown_token"),
            keyless_tests: Rule::a_minute(limits.keyless_test_limit, "keyless_test"),
            chains: Rule::an_hour(limits.chain_limit, "chain"),
        }
    }

    pub const fn of(&self, budget: Budget) -> &Rule {
        match budget {
            Budget::Click => &self.clicks,
            Budget::Lead => &self.leads,
            Budget::SaleAndRefund => &self.sales_and_refunds,
            Budget::Readiness => &self.readiness,
            Budget::Cli => &self.cli,
        }
    }
}
