//! Starting points that an entry may name, created before its steps.

use domain::earnings::commission::CommissionType;
use domain::token::ProgramToken;
use domain::tracking::attribution::AttributionModel;
use serde::Deserialize;
use serde_json::json;

use super::names::Names;
use test_harness::{Json, Program, Stack, pay_out, percentage, sale_of};

/// The starting points beside a program of the entry's own with two partners, Ada and Bruno, who get 20 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum Given {
    #[serde(rename = "a program that wants its backend's word")]
    BackendsWord,
    #[serde(rename = "a program that excludes bots")]
    NoBots,
    #[serde(rename = "cookies of 30 days")]
    ShorterCookies,
    #[serde(rename = "a window of 30 days")]
    ShorterWindow,
    /// A key marked at the beginning of 2026, to be rotated by noon of the last day of 2099.
    #[serde(rename = "a marked key")]
    MarkedKey,
    #[serde(rename = "a retired key")]
    RetiredKey,
    #[serde(rename = "a link that is off")]
    LinkOff,
    #[serde(rename = "a link without partner")]
    LinkWithoutPartner,
    #[serde(rename = "a link without program")]
    LinkWithoutProgram,
    /// `jörg & ` and the program's id.
    #[serde(rename = "a link with an odd code")]
    OddCode,
    #[serde(rename = "no commission policy")]
    NoPolicy,
    #[serde(rename = "half of every sale of product pro")]
    ProductPolicy,
    #[serde(rename = "commissions on first payments only")]
    OneTime,
    #[serde(rename = "a fixed commission of 7 dollars")]
    Fixed,
    #[serde(rename = "first-click attribution")]
    FirstClick,
    #[serde(rename = "linear attribution")]
    Linear,
    #[serde(rename = "a domain")]
    Domain,
    #[serde(rename = "a connected processor")]
    Processor,
    /// A click through Ada's link.
    #[serde(rename = "a customer")]
    Customer,
    /// A customer whose lead came from the backend.
    #[serde(rename = "a lead")]
    Lead,
    /// A customer whose lead came from the browser.
    #[serde(rename = "a provisional lead")]
    ProvisionalLead,
    /// A lead's payment of 50 dollars: 10 for Ada.
    #[serde(rename = "a sale")]
    Sale,
    /// A lead's first payment of 50 dollars for a subscription.
    #[serde(rename = "a subscription")]
    Subscription,
    #[serde(rename = "a later click through Bruno")]
    LaterClick,
    #[serde(rename = "a commission that was paid out")]
    PaidOut,
    #[serde(rename = "a first click 75 days ago")]
    OldFirstClick,
    #[serde(rename = "a partner who is gone")]
    PartnerGone,
    #[serde(rename = "a link that lost its membership")]
    MembershipLost,
    #[serde(rename = "a link that left the program")]
    LinkLeft,
    #[serde(rename = "another program")]
    AnotherProgram,
    /// A customer with a lead, in another program.
    #[serde(rename = "another program's customer")]
    AnotherCustomer,
    #[serde(rename = "another program's sale")]
    AnotherSale,
    /// The table stays missing for the rest of the file: requests about a program's health fail.
    #[serde(rename = "a table that is gone")]
    MissingTable,
}

impl Given {
    /// The names that the starting point defines; an entry uses at least one of them.
    pub const fn offers(self) -> &'static [&'static str] {
        match self {
            Self::Customer => &["click_id"],
            Self::Lead | Self::ProvisionalLead => &["click_id", "customer_key"],
            Self::Sale => &[
                "transaction_id",
                "sale_id",
                "commission_id",
                "click_id",
                "customer_key",
            ],
            Self::Subscription => &["subscription_id"],
            Self::LinkOff => &["off.code"],
            Self::LinkWithoutPartner => &["orphan.code"],
            Self::LinkWithoutProgram => &["stray.code"],
            Self::OddCode => &["odd.code"],
            Self::AnotherProgram => &["other.token", "other.program.id", "other.ada.code"],
            Self::AnotherCustomer => &["other.click_id", "other.customer_key"],
            Self::AnotherSale => &["other.transaction_id"],
            _ => &[],
        }
    }

    /// Runs for the program `$1` in the transaction that creates it, so that no process sees the program
    /// without it.
    const fn founding(self) -> Option<&'static str> {
        Some(match self {
            Self::BackendsWord => "UPDATE programs SET lead_auth = 'server_required' WHERE id = $1",
            Self::NoBots => "UPDATE programs SET exclude_bots = true WHERE id = $1",
            Self::ShorterCookies => "UPDATE programs SET cookie_window_days = 30 WHERE id = $1",
            Self::ShorterWindow => "UPDATE programs SET attribution_window_days = 30 WHERE id = $1",
            Self::MarkedKey => {
                "UPDATE programs SET key_rotation_marked_at = '2026-01-01T00:00:00Z',
                     key_rotation_rotate_by = '2099-12-31T12:00:00Z' WHERE id = $1"
            }
            Self::RetiredKey => {
                "UPDATE programs SET key_rotation_marked_at = '2026-01-01T00:00:00Z',
                     key_rotation_rotate_by = '2026-01-02T00:00:00Z' WHERE id = $1"
            }
            Self::LinkOff => {
                "INSERT INTO referral_links (short_code, program_id, partner_id, partner_program_id, status)
                 SELECT 'off-' || program_id, program_id, partner_id, id, 'inactive'
                 FROM partner_programs WHERE program_id = $1 ORDER BY id LIMIT 1"
            }
            Self::LinkWithoutPartner => {
                "INSERT INTO referral_links (short_code, program_id, partner_program_id)
                 SELECT 'orphan-' || program_id, program_id, id
                 FROM partner_programs WHERE program_id = $1 ORDER BY id LIMIT 1"
            }
            Self::LinkWithoutProgram => {
                "INSERT INTO referral_links (short_code, partner_id, partner_program_id)
                 SELECT 'stray-' || program_id, partner_id, id
                 FROM partner_programs WHERE program_id = $1 ORDER BY id LIMIT 1"
            }
            Self::OddCode => {
                "INSERT INTO referral_links (short_code, program_id, partner_id, partner_program_id)
                 SELECT 'jörg & ' || program_id, program_id, partner_id, id
                 FROM partner_programs WHERE program_id = $1 ORDER BY id LIMIT 1"
            }
            Self::NoPolicy => "DELETE FROM commission_policies WHERE program_id = $1",
            Self::ProductPolicy => {
                "INSERT INTO commission_policies (program_id, product_id, effective_from, commission_type, rate_bps)
                 VALUES ($1, 'pro', '2000-01-01', 'cps_lifetime', 5000)"
            }
            Self::OneTime => {
                "UPDATE commission_policies SET commission_type = 'cps_one_time', default_duration_months = 0
                 WHERE program_id = $1"
            }
            Self::Fixed => {
                "UPDATE commission_policies SET rate_bps = NULL, fixed_cents = 700, currency = 'USD' WHERE program_id = $1"
            }
            Self::FirstClick => "UPDATE programs SET attribution_model = 'first_click' WHERE id = $1",
            Self::Linear => "UPDATE programs SET attribution_model = 'linear' WHERE id = $1",
            Self::Domain => "UPDATE programs SET domain = 'shop.example', dns_verified = true WHERE id = $1",
            Self::Processor => {
                "INSERT INTO processor_connections (program_id, account_id, status, charges_enabled)
                 VALUES ($1, 'acct', 'connected', true)"
            }
            _ => return None,
        })
    }

    /// Runs for the program `$1` after the starting points that precede it in the list.
    const fn afterwards(self) -> Option<&'static str> {
        Some(match self {
            Self::OldFirstClick => {
                "UPDATE customers SET first_click_at = now() - interval '75 days',
                     touched_at = ARRAY[now() - interval '75 days'] WHERE program_id = $1"
            }
            Self::PartnerGone => {
                "DELETE FROM partners WHERE id = (SELECT min(partner_id) FROM partner_programs WHERE program_id = $1)"
            }
            Self::MembershipLost => {
                "WITH forgotten AS (UPDATE partner_programs SET clicks = 0 WHERE program_id = $1)
                 UPDATE referral_links SET partner_program_id = NULL WHERE program_id = $1"
            }
            Self::LinkLeft => "UPDATE referral_links SET program_id = NULL WHERE program_id = $1",
            _ => return None,
        })
    }
}

/// Creates an entry's program and starting points; returns the ids of its programs.
pub async fn prepare(stack: &Stack, given: &[Given], names: &mut Names) -> Vec<i64> {
    let program = found(stack, given).await;
    name_program(stack, &program, "", names).await;
    let mut programs = vec![program.program_id.get()];
    for given in given {
        let other = match given {
            Given::AnotherProgram | Given::AnotherCustomer | Given::AnotherSale => {
                Some(found(stack, &[]).await)
            }
            _ => None,
        };
        if let Some(other) = &other {
            programs.push(other.program_id.get());
            name_program(stack, other, "other.", names).await;
        }
        match (given, &other) {
            (Given::Customer, _) => customer(stack, &program, "", names).await,
            (Given::Lead, _) => lead(stack, &program, "", names).await,
            (Given::ProvisionalLead, _) => provisional_lead(stack, &program, names).await,
            (Given::Sale, _) => sale(stack, &program, "", names).await,
            (Given::Subscription, _) => subscription(stack, &program, names).await,
            (Given::LaterClick, _) => later_click(stack, &program, names).await,
            (Given::AnotherCustomer, Some(other)) => lead(stack, other, "other.", names).await,
            (Given::AnotherSale, Some(other)) => sale(stack, other, "other.", names).await,
            (Given::PaidOut, _) => pay_out(stack, &program, &transaction_id(&program)).await,
            (Given::MissingTable, _) => {
                stack
                    .execute("ALTER TABLE IF EXISTS processor_connections RENAME TO gone")
                    .await;
            }
            _ => {}
        }
        if let Some(statement) = given.afterwards() {
            let statement = sqlx::query(statement).bind(program.program_id.get());
            statement.execute(stack.pool()).await.unwrap();
        }
    }
    programs
}

async fn found(stack: &Stack, given: &[Given]) -> Program {
    let statements: Vec<&str> = given.iter().filter_map(|given| given.founding()).collect();
    stack
        .program_founded(
            AttributionModel::LastClick,
            CommissionType::CpsLifetime,
            percentage(2_000),
            &statements,
        )
        .await
}

async fn name_program(stack: &Stack, program: &Program, prefix: &str, names: &mut Names) {
    let id = program.program_id.get();
    let workspace = stack.workspace_of(program).await;
    let mut name = |name: &str, value: serde_json::Value| names.insert(&format!("{prefix}{name}"), value);
    name("token", json!(program.token));
    let management_key = program.token.replacen("aff_", "affk_", 1);
    name("management_key", json!(management_key));
    let unknown = ProgramToken::generate(rand::random());
    name("unknown_token", json!(unknown.expose()));
    name("program.id", json!(id));
    name("program.id_text", json!(id.to_string()));
    name("workspace.id", json!(workspace));
    for link in ["off", "orphan", "stray"] {
        name(&format!("{link}.code"), json!(format!("{link}-{id}")));
    }
    name("odd.code", json!(format!("jörg & {id}")));
    for (who, partner) in [("ada", &program.ada), ("bruno", &program.bruno)] {
        name(&format!("{who}.id"), json!(partner.partner_id));
        name(&format!("{who}.membership"), json!(partner.membership));
        name(&format!("{who}.link"), json!(partner.link));
        name(&format!("{who}.code"), json!(partner.code));
    }
}

async fn customer(stack: &Stack, program: &Program, prefix: &str, names: &mut Names) {
    let click_id = stack.click(&program.ada.code).await;
    names.insert(&format!("{prefix}click_id"), click_id);
}

/// The same key in every program.
const CUSTOMER_KEY: &str = "user-1";

async fn lead(stack: &Stack, program: &Program, prefix: &str, names: &mut Names) {
    let click_id = stack.customer(program, &program.ada.code, CUSTOMER_KEY).await;
    names.insert(&format!("{prefix}click_id"), click_id);
    names.insert(&format!("{prefix}customer_key"), CUSTOMER_KEY);
}

async fn provisional_lead(stack: &Stack, program: &Program, names: &mut Names) {
    let click_id = stack.click(&program.ada.code).await;
    let body = json!({ "click_id": click_id, "customer_key": CUSTOMER_KEY });
    stack.post("lead", None, body).await.ok();
    names.insert("click_id", click_id);
    names.insert("customer_key", CUSTOMER_KEY);
}

async fn subscription(stack: &Stack, program: &Program, names: &mut Names) {
    lead(stack, program, "", names).await;
    let subscription_id = format!("subscription-{}", program.program_id);
    let subscription = json!({ "sale_type": "subscription", "subscription_id": subscription_id });
    let body = sale_of(&transaction_id(program), CUSTOMER_KEY).with(subscription);
    stack.sold(program, body).await;
    names.insert("subscription_id", subscription_id);
}

/// A later click of the customer created before.
async fn later_click(stack: &Stack, program: &Program, names: &Names) {
    let existing = names.fill("<click_id>").unwrap();
    let answer = stack
        .click_with(&program.bruno.code, json!({ "existing_click_id": existing }))
        .await;
    assert_eq!(answer.body["click_id"], existing, "{answer:?}");
}

fn transaction_id(program: &Program) -> String {
    format!("order-{}", program.program_id)
}

async fn sale(stack: &Stack, program: &Program, prefix: &str, names: &mut Names) {
    lead(stack, program, prefix, names).await;
    let transaction_id = transaction_id(program);
    let sale = sale_of(&transaction_id, CUSTOMER_KEY);
    let answer = stack.sold(program, sale).await;
    names.insert(&format!("{prefix}transaction_id"), transaction_id);
    for id in ["sale_id", "commission_id"] {
        names.insert(&format!("{prefix}{id}"), answer.body[id].clone());
    }
}
