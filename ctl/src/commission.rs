//! `ctl commission`: changes commissions by hand, and adds them, as an advertiser does in the dashboard.

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use domain::earnings::adjustment::Change;
use domain::ids::{EventId, PartnerProgramId, ProgramId};
use domain::money::{AmountCents, Cents, Currency};
use domain::text::RefundReason;
use runtime::clock::Clock;
use serde_json::json;
use sqlx::{PgConnection, PgPool};
use storage::money::adjustments::{AddedCommission, NewAdjustment};
use storage::money::by_hand;
use storage::program::partners;

use crate::consent::Consent;
use crate::{output, program};

#[derive(Debug, Subcommand)]
pub enum Commission {
    /// Reduce commissions to zero; what was paid becomes a debt
    Reject(Reject),
    /// Raise or lower a commission
    Adjust(Adjust),
    /// Add a commission without a sale: a bonus, or what a sale should have earned
    Add(Add),
}

#[derive(Debug, Args)]
pub struct Reject {
    /// The commissions' program
    #[arg(long, value_name = "ID")]
    program_id: i64,
    /// Why; the partners read it
    #[arg(long, value_parser = RefundReason::parse)]
    reason: RefundReason,
    /// All of them or none
    #[arg(required = true, value_name = "COMMISSION_ID")]
    ids: Vec<i64>,
    #[command(flatten)]
    consent: Consent,
}

#[derive(Debug, Args)]
pub struct Adjust {
    /// The commission's program
    #[arg(long, value_name = "ID")]
    program_id: i64,
    /// What is added; taken away when negative
    #[arg(long, allow_negative_numbers = true, value_parser = change)]
    amount_cents: Cents,
    /// Why; the partner reads it
    #[arg(long, value_parser = RefundReason::parse)]
    reason: RefundReason,
    /// Which one
    #[arg(value_name = "COMMISSION_ID")]
    id: i64,
    #[command(flatten)]
    consent: Consent,
}

#[derive(Debug, Args)]
pub struct Add {
    /// Where the partner is a member
    #[arg(long, value_name = "ID")]
    program_id: i64,
    /// The partner, as a member of the program
    #[arg(long, value_name = "ID")]
    partner_program_id: i64,
    /// How much
    #[arg(long, value_parser = amount)]
    amount_cents: AmountCents,
    /// Three letters
    #[arg(long, value_parser = currency)]
    currency: Currency,
    /// What it is for; the partner reads it
    #[arg(long, value_parser = RefundReason::parse)]
    note: RefundReason,
    #[command(flatten)]
    consent: Consent,
}

fn cents(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| "must be an integer".to_owned())
}

fn amount(text: &str) -> Result<AmountCents, String> {
    AmountCents::try_from(cents(text)?).map_err(|error| error.to_string())
}

fn change(text: &str) -> Result<Cents, String> {
    let signed = cents(text)?;
    let size = signed.checked_abs().and_then(AmountCents::new);
    size.map(|_| Cents::new(signed))
        .ok_or_else(|| format!("must be from -{0} to {0}, not 0", AmountCents::MAX.get()))
}

fn currency(text: &str) -> Result<Currency, String> {
    Currency::parse(text).ok_or_else(|| "must be a currency code of three letters".to_owned())
}

impl Commission {
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        let (consent, question) = match &self {
            Self::Reject(reject) => (reject.consent, "Reject these commissions?"),
            Self::Adjust(adjust) => (adjust.consent, "Adjust this commission?"),
            Self::Add(add) => (add.consent, "Add this commission?"),
        };
        consent
            .change(pool, question, async |connection| self.act(connection).await)
            .await
    }

    /// Makes the change in the caller's transaction. Returns one line for each commission.
    async fn act(&self, connection: &mut PgConnection) -> anyhow::Result<Vec<String>> {
        let clock = Clock::system();
        match self {
            Self::Reject(reject) => {
                let program_id = ProgramId::new(reject.program_id);
                let new = adjustment(program_id, Change::Reject, &reject.reason, &clock);
                let lines = changed(connection, &reject.ids, &new, &clock).await?;
                let done = ("commission.rejected", json!({ "commission_ids": reject.ids }));
                program::append_to_audit_log(connection, program_id, None, done, new.now).await?;
                Ok(lines)
            }
            Self::Adjust(adjust) => {
                let program_id = ProgramId::new(adjust.program_id);
                let by = adjust.amount_cents;
                let new = adjustment(program_id, Change::By(by), &adjust.reason, &clock);
                let lines = changed(connection, &[adjust.id], &new, &clock).await?;
                let done = ("commission.adjusted", json!({ "amount_cents": by.get() }));
                program::append_to_audit_log(connection, program_id, Some(adjust.id), done, new.now).await?;
                Ok(lines)
            }
            Self::Add(add) => add.act(connection, &clock).await,
        }
    }
}

impl Add {
    async fn act(&self, connection: &mut PgConnection, clock: &Clock) -> anyhow::Result<Vec<String>> {
        let program_id = ProgramId::new(self.program_id);
        let partner_program_id = PartnerProgramId::new(self.partner_program_id);
        let partner = partners::find(connection, program_id, partner_program_id)
            .await?
            .and_then(|member| member.partner)
            .with_context(|| format!("program {program_id} has no member {partner_program_id}"))?;
        let new = AddedCommission {
            event_id: EventId::new(clock.mint()),
            program_id,
            partner_program_id,
            partner_id: partner.partner_id,
            amount: self.amount_cents,
            currency: self.currency,
            note: self.note.as_str(),
            for_sale: None,
            idempotency_key: None,
            request_hash: None,
            now: clock.now(),
        };
        let id = by_hand::add(connection, &new, || EventId::new(clock.mint()))
            .await?
            .get();
        let details = json!({
            "partner_program_id": self.partner_program_id, "amount_cents": self.amount_cents.get(),
            "currency": self.currency.to_string(),
        });
        let done = ("commission.added", details);
        program::append_to_audit_log(connection, program_id, Some(id), done, new.now).await?;
        let (cents, currency) = (self.amount_cents.get(), self.currency);
        let name = output::plain(&partner.name);
        Ok(vec![format!(
            "commission {id}: {cents} cents {currency} for {name}"
        )])
    }
}

fn adjustment<'a>(
    program_id: ProgramId,
    change: Change,
    reason: &'a RefundReason,
    clock: &Clock,
) -> NewAdjustment<'a> {
    NewAdjustment {
        event_id: EventId::new(clock.mint()),
        program_id,
        change,
        reason: reason.as_str(),
        now: clock.now(),
    }
}

async fn changed(
    connection: &mut PgConnection,
    ids: &[i64],
    new: &NewAdjustment<'_>,
    clock: &Clock,
) -> anyhow::Result<Vec<String>> {
    match by_hand::change(connection, ids, new, || EventId::new(clock.mint())).await? {
        Ok(changed) => Ok(changed
            .iter()
            .map(|(commission, adjusted)| {
                let (id, currency) = (commission.commission_id, commission.currency);
                let left = commission.state.left().saturating_add(adjusted.by).get();
                format!(
                    "commission {id}: {left} cents {currency} left, {}",
                    adjusted.status.as_str()
                )
            })
            .collect()),
        Err(refused) => {
            let reasons: Vec<_> = refused
                .iter()
                .map(|(id, reason)| format!("{id} ({reason})"))
                .collect();
            bail!("nothing was changed; these cannot be: {}", reasons.join(", "))
        }
    }
}
