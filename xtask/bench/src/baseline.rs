//! The baseline (R): the same calls on the same tables and indexes, with axum, sqlx and one transaction a
//! request. No queue, no batches, and the number of connections with the best result.
//!
//! It does less than the service: no rate limits, windows or attribution models, only `not found` as a
//! refusal, and no separate claim of a transaction_id, because its transaction can rely on the unique index.
//! It combines statements to save round trips, and updates contended rows last.

use std::env;
use std::fmt;

use anyhow::{Context, Result};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest, Sha256};
use sqlx::postgres::PgPoolOptions;
use sqlx::types::Uuid;
use sqlx::{PgConnection, PgPool};
use trials::signature;

use super::payments::SECRET;

/// Uses the database `DATABASE_URL` with `POOL` connections.
pub(super) async fn routes() -> Result<Router> {
    let url = env::var("DATABASE_URL").context("DATABASE_URL is not set")?;
    let pool = env::var("POOL").context("POOL is not set")?.parse()?;
    let pool = PgPoolOptions::new()
        .max_connections(pool)
        .min_connections(pool)
        // Saves a round trip a request.
        .test_before_acquire(false)
        .connect(&url)
        .await?;
    sqlx::raw_sql("CREATE SEQUENCE IF NOT EXISTS baseline_customers")
        .execute(&pool)
        .await?;
    Ok(Router::new()
        .route("/api/v1/track/click", post(click))
        .route("/api/v1/track/lead", post(lead))
        .route("/api/v1/track/sale", post(sale))
        .route("/webhooks/stripe/{program_id}", post(webhook))
        .with_state(pool))
}

/// An error as a status.
struct Refused(StatusCode);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        self.0.into_response()
    }
}

impl<E: fmt::Display> From<E> for Refused {
    fn from(_: E) -> Self {
        Self(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// The fields of a click that the handler uses; others are ignored.
#[derive(Debug, Deserialize)]
pub(super) struct Click {
    pub(super) affiliate_url: String,
    pub(super) page_url: Option<String>,
    pub(super) page_title: Option<String>,
    pub(super) referrer_url: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) screen_resolution: Option<String>,
    pub(super) viewport_size: Option<String>,
    pub(super) language: Option<String>,
    pub(super) timezone: Option<String>,
}

async fn click(State(pool): State<PgPool>, headers: HeaderMap, body: Bytes) -> Result<Response, Refused> {
    let click: Click = serde_json::from_slice(&body).map_err(|_| Refused(StatusCode::BAD_REQUEST))?;
    let (_, code) = click
        .affiliate_url
        .split_once("aff=")
        .ok_or(Refused(StatusCode::BAD_REQUEST))?;
    let agent = headers.get("user-agent").and_then(|agent| agent.to_str().ok());
    let mut transaction = pool.begin().await?;
    let recorded: Option<(i64, i64, i64, String)> = sqlx::query_as(
        "WITH link AS (
             SELECT l.id, l.program_id, l.partner_program_id, n.id AS customer_id,
                    'cust_' || n.id || '_' || (extract(epoch FROM now()) * 1000)::bigint AS click_id
             FROM referral_links l, nextval('baseline_customers') AS n (id)
             WHERE l.short_code = $1 AND l.status = 'active' AND l.partner_program_id IS NOT NULL
         ), customer AS (
             INSERT INTO customers (id, program_id, click_id, first_click_at, first_referral_link_id, touched_link_ids, touched_at)
             SELECT customer_id, program_id, click_id, now(), id, ARRAY[id], ARRAY[now()] FROM link
         ), event AS (
             INSERT INTO click_events (event_id, program_id, referral_link_id, customer_id, click_timestamp, click_id, session_id,
                 page_url, page_title, referrer_url, user_agent, screen_resolution, viewport_size, language, timezone)
             SELECT gen_random_uuid(), program_id, id, customer_id, now(), click_id, $2, $3, $4, $5, $6, $7, $8, $9, $10
             FROM link
         )
         SELECT program_id, id, partner_program_id, click_id FROM link",
    )
    .bind(code)
    .bind(&click.session_id)
    .bind(&click.page_url)
    .bind(&click.page_title)
    .bind(&click.referrer_url)
    .bind(agent)
    .bind(&click.screen_resolution)
    .bind(&click.viewport_size)
    .bind(&click.language)
    .bind(&click.timezone)
    .fetch_optional(&mut *transaction)
    .await?;
    let (program_id, link_id, membership_id, click_id) = recorded.ok_or(Refused(StatusCode::NOT_FOUND))?;
    sqlx::query(
        "WITH day AS (
             INSERT INTO program_days AS d VALUES ($1, (now() AT TIME ZONE 'UTC')::date, '', 1, 0, 0, 0, 0, 0, 0)
             ON CONFLICT (program_id, day, currency) DO UPDATE SET clicks = d.clicks + 1
         ), membership AS (
             UPDATE partner_programs SET clicks = clicks + 1, last_clicked = now() WHERE id = $3
         )
         UPDATE referral_links SET clicks = clicks + 1, last_clicked = now() WHERE id = $2",
    )
    .bind(program_id)
    .bind(link_id)
    .bind(membership_id)
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    let answer = json!({ "success": true, "click_id": click_id, "message": "Click tracked successfully" });
    Ok(json(answer.to_string()))
}

#[derive(Debug, Deserialize)]
struct Lead {
    customer_key: String,
    event_name: Option<String>,
}

async fn lead(State(pool): State<PgPool>, headers: HeaderMap, body: Bytes) -> Result<Response, Refused> {
    let lead: Lead = serde_json::from_slice(&body).map_err(|_| Refused(StatusCode::BAD_REQUEST))?;
    let token = token_hash(&headers)?;
    let mut transaction = pool.begin().await?;
    let customer: Option<(i64, i64, String, bool)> = sqlx::query_as(
        "SELECT g.id, c.id, c.click_id, c.signup_date IS NULL
         FROM programs g JOIN customers c ON c.program_id = g.id AND c.customer_key = $1
         WHERE g.api_token_hash = $2 FOR UPDATE OF c",
    )
    .bind(&lead.customer_key)
    .bind(token)
    .fetch_optional(&mut *transaction)
    .await?;
    let (program_id, customer_id, click_id, is_new) = customer.ok_or(Refused(StatusCode::NOT_FOUND))?;
    sqlx::query(
        "INSERT INTO lead_events (event_id, program_id, customer_id, lead_timestamp, click_id, customer_key, event_name)
         VALUES (gen_random_uuid(), $1, $2, now(), $3, $4, $5)",
    )
    .bind(program_id)
    .bind(customer_id)
    .bind(click_id)
    .bind(&lead.customer_key)
    .bind(&lead.event_name)
    .execute(&mut *transaction)
    .await?;
    if is_new {
        sqlx::query(
            "UPDATE customers SET status = 'lead', signup_date = now(),
                 signup_link_id = touched_link_ids[cardinality(touched_link_ids)] WHERE id = $1",
        )
        .bind(customer_id)
        .execute(&mut *transaction)
        .await?;
        sqlx::query(
            "INSERT INTO program_days AS d VALUES ($1, (now() AT TIME ZONE 'UTC')::date, '', 0, 1, 0, 0, 0, 0, 0)
             ON CONFLICT (program_id, day, currency) DO UPDATE SET leads = d.leads + 1",
        )
        .bind(program_id)
        .execute(&mut *transaction)
        .await?;
    }
    transaction.commit().await?;
    Ok(json(r#"{"success":true,"message":"Lead tracked successfully"}"#))
}

#[derive(Debug, Deserialize)]
struct Sale {
    transaction_id: String,
    amount_cents: i64,
    currency: String,
    customer_key: String,
}

/// The partner of a sale, and the policy of its commission.
#[derive(Debug, sqlx::FromRow)]
struct Credit {
    program_id: i64,
    customer_id: i64,
    is_first: bool,
    link_id: i64,
    membership_id: i64,
    partner_id: i64,
    policy_id: i64,
    commission_type: String,
    rate_bps: i32,
}

async fn sale(State(pool): State<PgPool>, headers: HeaderMap, body: Bytes) -> Result<Response, Refused> {
    let sale: Sale = serde_json::from_slice(&body).map_err(|_| Refused(StatusCode::BAD_REQUEST))?;
    let token = token_hash(&headers)?;
    let mut transaction = pool.begin().await?;
    let credit: Option<Credit> = sqlx::query_as(
        "SELECT g.id AS program_id, c.id AS customer_id, c.first_purchase_date IS NULL AS is_first, l.id AS link_id, m.id AS membership_id,
                m.partner_id, p.id AS policy_id, p.commission_type, p.rate_bps
         FROM programs g
         JOIN customers c ON c.program_id = g.id AND c.customer_key = $1
         JOIN referral_links l ON l.id = c.touched_link_ids[cardinality(c.touched_link_ids)]
         JOIN partner_programs m ON m.id = l.partner_program_id AND m.status = 'approved'
         JOIN commission_policies p ON p.program_id = c.program_id AND p.product_id IS NULL
         WHERE g.api_token_hash = $2",
    )
    .bind(&sale.customer_key)
    .bind(token)
    .fetch_optional(&mut *transaction)
    .await?;
    let credit = credit.ok_or(Refused(StatusCode::BAD_REQUEST))?;
    let earned = sale.amount_cents * i64::from(credit.rate_bps) / 10_000;
    let recorded: Option<(i64, Uuid)> = sqlx::query_as(
        "INSERT INTO sale_events (event_id, program_id, customer_id, processor_event_id, amount_cents, currency, sale_type,
             is_recurring, sale_date, referral_link_id)
         VALUES (gen_random_uuid(), $1, $2, $3, $4, $5, 'payment', false, now(), $6)
         ON CONFLICT DO NOTHING RETURNING id, event_id",
    )
    .bind(credit.program_id)
    .bind(credit.customer_id)
    .bind(&sale.transaction_id)
    .bind(sale.amount_cents)
    .bind(&sale.currency)
    .bind(credit.link_id)
    .fetch_optional(&mut *transaction)
    .await?;
    let (sale_id, event_id) = recorded.ok_or(Refused(StatusCode::CONFLICT))?;
    let commission_id = add_commission(&mut transaction, &credit, &sale, (sale_id, event_id), earned).await?;
    if credit.is_first {
        sqlx::query(
            "UPDATE customers SET status = 'conversion', first_purchase_date = now(), first_purchase_link_id = $2
             WHERE id = $1 AND first_purchase_date IS NULL",
        )
        .bind(credit.customer_id)
        .bind(credit.link_id)
        .execute(&mut *transaction)
        .await?;
    }
    add_sale(&mut transaction, &credit, &sale, earned).await?;
    transaction.commit().await?;
    let answer = json!({
        "success": true, "attributed": true, "sale_id": sale_id, "commission_id": commission_id,
        "message": "Sale tracked successfully",
    });
    Ok(json(answer.to_string()))
}

async fn add_commission(
    connection: &mut PgConnection,
    credit: &Credit,
    sale: &Sale,
    (sale_id, event_id): (i64, Uuid),
    earned: i64,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(
        "WITH earned AS (
             INSERT INTO commissions (sale_id, program_id, customer_id, partner_program_id, partner_id, referral_link_id,
                 amount_cents, currency, policy_id, commission_type, rate_bps, hold_until)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, now() + interval '15 days') RETURNING id
         ), entries AS (
             INSERT INTO ledger_entries (entry_group, kind, program_id, partner_program_id, partner_id, commission_id,
                 sale_id, currency, amount_cents, requested_cents)
             SELECT $12, 'accrual', $2, $4, $5, id, $1, $8, $7, $7 FROM earned
         )
         SELECT id FROM earned",
    )
    .bind(sale_id)
    .bind(credit.program_id)
    .bind(credit.customer_id)
    .bind(credit.membership_id)
    .bind(credit.partner_id)
    .bind(credit.link_id)
    .bind(earned)
    .bind(&sale.currency)
    .bind(credit.policy_id)
    .bind(&credit.commission_type)
    .bind(credit.rate_bps)
    .bind(event_id)
    .fetch_one(connection)
    .await
}

/// Updates the rows that every sale updates.
async fn add_sale(
    connection: &mut PgConnection,
    credit: &Credit,
    sale: &Sale,
    earned: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "WITH day AS (
             INSERT INTO program_days AS d VALUES ($1, (now() AT TIME ZONE 'UTC')::date, $4, 0, 0, 0, 0, 1, $5, $6)
             ON CONFLICT (program_id, day, currency) DO UPDATE SET sales = d.sales + 1,
                 revenue_cents = d.revenue_cents + excluded.revenue_cents,
                 commission_cents = d.commission_cents + excluded.commission_cents
         ), of_membership AS (
             INSERT INTO partner_program_balances AS b VALUES ($2, $4, $6)
             ON CONFLICT (partner_program_id, currency) DO UPDATE SET balance_cents = b.balance_cents + excluded.balance_cents
         )
         INSERT INTO partner_balances AS b VALUES ($3, $4, $6)
         ON CONFLICT (partner_id, currency) DO UPDATE SET balance_cents = b.balance_cents + excluded.balance_cents",
    )
    .bind(credit.program_id)
    .bind(credit.membership_id)
    .bind(credit.partner_id)
    .bind(&sale.currency)
    .bind(sale.amount_cents)
    .bind(earned)
    .execute(connection)
    .await?;
    Ok(())
}

#[derive(Debug, Deserialize)]
struct Event {
    id: String,
    r#type: String,
    created: i64,
}

/// Verifies the event and stores it once, in one statement. Does not process it.
async fn webhook(
    State(pool): State<PgPool>,
    Path(program_id): Path<i64>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refused> {
    let payload = std::str::from_utf8(&body).map_err(|_| Refused(StatusCode::BAD_REQUEST))?;
    verify(&headers, payload)?;
    let event: Event = serde_json::from_str(payload).map_err(|_| Refused(StatusCode::BAD_REQUEST))?;
    sqlx::query(
        "INSERT INTO processor_events (event_id, program_id, processor_event_id, kind, account_id, occurred_at,
             received_at, sale_pending, payload)
         SELECT gen_random_uuid(), $1, $2, $3, 'acct_' || id, to_timestamp($4), now(), true, $5
         FROM programs WHERE id = $1
         ON CONFLICT DO NOTHING",
    )
    .bind(program_id)
    .bind(&event.id)
    .bind(&event.r#type)
    .bind(event.created)
    .bind(payload)
    .execute(&pool)
    .await?;
    Ok(json(r#"{"received":true}"#))
}

fn verify(headers: &HeaderMap, body: &str) -> Result<(), Refused> {
    let refused = || Refused(StatusCode::BAD_REQUEST);
    let header = headers
        .get("stripe-signature")
        .and_then(|value| value.to_str().ok());
    let header = header.ok_or_else(refused)?;
    let signed_at = header.strip_prefix("t=").and_then(|rest| rest.split(',').next());
    let signed_at = signed_at.and_then(|seconds| seconds.parse().ok());
    // A plain comparison: the secret is public, so its timing reveals nothing.
    if signed_at.is_some_and(|signed_at| signature(SECRET, signed_at, body) == header) {
        Ok(())
    } else {
        Err(refused())
    }
}

fn token_hash(headers: &HeaderMap) -> Result<Vec<u8>, Refused> {
    let token = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .ok_or(Refused(StatusCode::UNAUTHORIZED))?;
    Ok(Sha256::digest(token).to_vec())
}

pub(super) fn json(body: impl IntoResponse) -> Response {
    ([(CONTENT_TYPE, "application/json")], body).into_response()
}
