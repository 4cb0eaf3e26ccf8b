//! Settings of the limits.

use clap::Args;

/// Requests a minute where no other window is named.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Limits, in requests a minute")]
pub struct LimitsConfig {
    /// Clicks, for each client address.
    #[arg(long, env = "CLICK_LIMIT", default_value_t = 60)]
    pub click_limit: u32,
    /// Leads, for each client address.
    #[arg(long, env = "LEAD_LIMIT", default_value_t = 30)]
    pub lead_limit: u32,
    /// Leads without a key an hour, for each client address; those beyond a quarter are flagged
    /// (`many_leads`). Unless set, `LEAD_LIMIT` for sixty minutes.
    #[arg(long, env = "BROWSER_LEAD_LIMIT")]
    pub browser_lead_limit: Option<u32>,
    /// Sales and refunds together, for each program key.
    #[arg(long, env = "SALE_REFUND_LIMIT", default_value_t = 120)]
    pub sale_refund_limit: u32,
    /// Readiness, for each program key.
    #[arg(long, env = "READINESS_LIMIT", default_value_t = 30)]
    pub readiness_limit: u32,
    /// The CLI's routes together, for each program key.
    #[arg(long, env = "CLI_LIMIT", default_value_t = 60)]
    pub cli_limit: u32,
    /// Attempts to sign in, for each client address; a quarter of them for each account. Requests to replace
    /// a password have the same limit, counted apart.
    #[arg(long, env = "SIGN_IN_LIMIT", default_value_t = 20)]
    pub sign_in_limit: u32,
    /// Codes of a second factor an hour, for each account.
    #[arg(long, env = "CODE_LIMIT", default_value_t = 20)]
    pub code_limit: u32,
    /// Management requests, for each user and each management key.
    #[arg(long, env = "MANAGEMENT_LIMIT", default_value_t = 1_200)]
    pub management_limit: u32,
    /// Sessions, management keys and invitations that do not exist, for each client address at each ingest.
    #[arg(long, env = "UNKNOWN_TOKEN_LIMIT", default_value_t = 120)]
    pub unknown_token_limit: u32,
    /// Test events without a key, for each program.
    #[arg(long, env = "KEYLESS_TEST_LIMIT", default_value_t = 600)]
    pub keyless_test_limit: u32,
    /// Test chains an hour, for each program.
    #[arg(long, env = "CHAIN_LIMIT", default_value_t = 10)]
    pub chain_limit: u32,
}

impl LimitsConfig {
    pub fn browser_leads_an_hour(&self) -> u32 {
        let all = self.lead_limit.saturating_mul(60);
        self.browser_lead_limit.unwrap_or(all)
    }
}
