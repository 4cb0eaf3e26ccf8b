//! The differences between stored and due commissions, and the rows that correct them.

use std::collections::HashMap;

use domain::earnings::commission::{CommissionStatus, Policy};
use domain::earnings::ledger::{self, deduct};
use domain::ids::{CommissionId, EventId, ReferralLinkId};
use domain::money::{Cents, Currency, proportion};
use domain::programs::outbound_event::OutboundEventType;
use domain::tracking::sale::{Credit, Earning, Recording};
use messages::notification::NotificationRecord;
use messages::outbound_event::OutboundEvent;
use messages::outbound_event::commission::CommissionReversed;
use messages::sale::NoCommission;
use sqlx::PgConnection;
use storage::StorageResult;
use storage::money::commissions::{self, LockedCommission, NewCommission, RefundedCommission};
use storage::money::duplicate_sales::Recorded;
use storage::money::ledger::NewEntry;
use storage::outbound::outbound_commissions;
use storage::program::links::Owners;
use storage::program::programs::Program;
use storage::reads::cohorts::Counted;
use storage::reads::refund_rollups::{self, RefundDeltas};
use storage::reads::rollups::Deltas;
use storage::tracking::customers::Customer;
use storage::tracking::reassessments::{self, Credited, StoredSale};

use crate::outbound::OutboundEvents;
use crate::steps::StepContext;
use crate::{postings, signals};

/// Stored with a superseded commission, and sent to its partner.
const REASON: &str = "an earlier click or payment became known, and the sale was credited again";

pub struct Corrections<'a> {
    context: &'a StepContext,
    customer: &'a Customer,
    program: &'a Program,
    owners: &'a Owners,
    superseded: Vec<LockedCommission>,
    added: Vec<Added<'a>>,
    /// The ids of `added`, once those commissions are inserted.
    added_ids: Vec<CommissionId>,
    /// Commissions that the same partner is due under another link.
    relinked: Vec<(LockedCommission, ReferralLinkId)>,
    credited: Vec<(&'a StoredSale, Credited<'static>)>,
    deltas: Deltas,
}

/// A commission that is due on a recorded sale and does not exist yet.
struct Added<'a> {
    sale: &'a StoredSale,
    credit: Credit,
    currency: Currency,
    policy: &'a Policy,
}

impl Added<'_> {
    fn is(&self, commission: &LockedCommission) -> bool {
        commission.partner_program_id == self.credit.partner_program_id
            && commission.earned() == self.credit.amount
            && commission.currency == self.currency
    }
}

impl<'a> Corrections<'a> {
    pub fn new(
        context: &'a StepContext,
        customer: &'a Customer,
        program: &'a Program,
        owners: &'a Owners,
    ) -> Self {
        Self {
            context,
            customer,
            program,
            owners,
            superseded: Vec::new(),
            added: Vec::new(),
            added_ids: Vec::new(),
            relinked: Vec::new(),
            credited: Vec::new(),
            deltas: Deltas::default(),
        }
    }

    pub fn compare(&mut self, sale: &'a StoredSale, due_now: &'a Recording, in_force: &[&LockedCommission]) {
        let due: Vec<Added<'_>> = match &due_now.earning {
            Earning::Commissions {
                credits,
                currency,
                policy,
            } => credits
                .iter()
                .map(|credit| Added {
                    sale,
                    credit: *credit,
                    currency: *currency,
                    policy,
                })
                .collect(),
            Earning::Nothing(_) | Earning::PartnerMissing => Vec::new(),
        };
        let not_due = in_force
            .iter()
            .filter(|commission| !due.iter().any(|added| added.is(commission)));
        self.superseded
            .extend(not_due.map(|commission| (*commission).clone()));
        self.relinked.extend(in_force.iter().filter_map(|commission| {
            let link = due
                .iter()
                .find(|added| added.is(commission))?
                .credit
                .referral_link_id;
            (link != commission.referral_link_id).then(|| ((*commission).clone(), link))
        }));
        let missing = due
            .into_iter()
            .filter(|added| !in_force.iter().any(|commission| added.is(commission)));
        self.added.extend(missing);
        let credited = Credited {
            sale_id: sale.recorded.sale_id,
            referral_link_id: due_now.credited_links.last().copied(),
            no_commission_reason: NoCommission::of(&due_now.earning).map(NoCommission::as_str),
        };
        if credited.referral_link_id != sale.referral_link_id
            || credited.no_commission_reason != sale.no_commission_reason.as_deref()
        {
            self.credited.push((sale, credited));
        }
    }

    /// Whether any commission is no longer due.
    pub fn supersede_any(&self) -> bool {
        !self.superseded.is_empty()
    }

    /// Writes the corrections. Returns the entries, which the caller posts.
    pub async fn write(
        mut self,
        connection: &mut PgConnection,
        events: &mut OutboundEvents<'_>,
    ) -> StorageResult<Vec<NewEntry>> {
        let mut entries = self.take_back(connection).await?;
        entries.extend(self.add(connection).await?);
        self.relink(connection).await?;
        let credited: Vec<Credited<'_>> = self
            .credited
            .iter()
            .map(|(_, credited)| credited.clone())
            .collect();
        let moved: Vec<_> = credited
            .iter()
            .map(|sale| (sale.sale_id, sale.referral_link_id))
            .collect();
        refund_rollups::move_sales(connection, &moved).await?;
        reassessments::save_credits(connection, &credited).await?;
        for (sale, credited) in &self.credited {
            self.deltas
                .moved_sale(&recorded(self.customer, sale), credited.referral_link_id);
        }
        self.deltas.append(connection).await?;
        postings::notify(connection, &self.notifications()).await?;
        self.add_events(connection, events).await?;
        if !entries.is_empty() {
            tracing::info!(
                program_id = %self.customer.program_id,
                superseded = self.superseded.len(),
                added = self.added.len(),
                "recorded sales credited again"
            );
        }
        Ok(entries)
    }

    async fn take_back(&mut self, connection: &mut PgConnection) -> StorageResult<Vec<NewEntry>> {
        let ids: Vec<_> = self
            .superseded
            .iter()
            .map(|commission| commission.commission_id)
            .collect();
        refund_rollups::forget_commissions(connection, &ids).await?;
        reassessments::supersede(connection, &ids, REASON).await?;
        let mut entries = Vec::new();
        for commission in &self.superseded {
            self.deltas.superseded(commission);
            let entry_group = EventId::new(self.context.clock.mint());
            let reversal = taken_back(remaining(commission));
            entries.push(postings::of_stored(commission, entry_group, reversal));
        }
        Ok(entries)
    }

    async fn relink(&mut self, connection: &mut PgConnection) -> StorageResult<()> {
        let relinked: Vec<(CommissionId, ReferralLinkId)> = self
            .relinked
            .iter()
            .map(|(commission, link)| (commission.commission_id, *link))
            .collect();
        refund_rollups::move_commissions(connection, &relinked).await?;
        reassessments::relink(connection, &relinked).await?;
        for (commission, link) in &self.relinked {
            self.deltas.moved_commission(commission, *link);
        }
        Ok(())
    }

    async fn add(&mut self, connection: &mut PgConnection) -> StorageResult<Vec<NewEntry>> {
        let new: Vec<NewCommission<'_>> = self.added.iter().map(|added| self.commission(added)).collect();
        let ids = commissions::insert(connection, &new).await?;
        let (mut entries, mut refunded) = (Vec::new(), Vec::new());
        for ((added, new), commission_id) in self.added.iter().zip(&new).zip(ids.iter().copied()) {
            self.deltas.commission(new);
            self.added_ids.push(commission_id);
            let entry_group = EventId::new(self.context.clock.mint());
            let entry = |entry| postings::of_new(new, commission_id, entry_group, entry);
            entries.push(entry(ledger::accrual(added.credit.amount)));
            if let Some((share, status)) = refunded_share(added) {
                entries.push(entry(taken_back(share)));
                refunded.push(RefundedCommission {
                    commission_id,
                    deducted: share,
                    status,
                    refund_reason: None,
                });
            }
        }
        commissions::save_refunded(connection, &refunded).await?;
        count_shares(connection, &new, &ids, &refunded).await?;
        Ok(entries)
    }

    /// Adds the events of superseded commissions, then those of added ones.
    async fn add_events(
        &self,
        connection: &mut PgConnection,
        events: &mut OutboundEvents<'_>,
    ) -> StorageResult<()> {
        let (now, wanted) = (self.context.clock.now(), self.program.wanted_events);
        if wanted.contains(OutboundEventType::CommissionReversed) {
            let taken: HashMap<i64, Cents> = self
                .superseded
                .iter()
                .map(|commission| (commission.commission_id.get(), remaining(commission)))
                .collect();
            let ids: Vec<i64> = taken.keys().copied().collect();
            for found in outbound_commissions::find(connection, &ids).await? {
                let reversed = taken.get(&found.commission.commission_id).copied();
                let event = OutboundEvent::CommissionReversed(CommissionReversed {
                    reversed_cents: reversed.unwrap_or_default().get(),
                    reason: Some(REASON.to_owned()),
                    commission: found.commission,
                });
                events.add(found.customer_id, now, &event)?;
            }
        }
        if wanted.contains(OutboundEventType::CommissionCreated) {
            let ids: Vec<i64> = self.added_ids.iter().map(|id| id.get()).collect();
            for found in outbound_commissions::find(connection, &ids).await? {
                let event = OutboundEvent::CommissionCreated(found.commission);
                events.add(found.customer_id, now, &event)?;
            }
        }
        Ok(())
    }

    fn commission(&self, added: &Added<'a>) -> NewCommission<'a> {
        let sold_at = added.sale.recorded.at;
        NewCommission {
            sale_id: added.sale.recorded.sale_id,
            program_id: self.customer.program_id,
            customer_id: self.customer.customer_id,
            credit: added.credit,
            currency: added.currency,
            policy: added.policy,
            signals: signals::of_sale(
                &self.context.signal_rules,
                self.customer,
                &self.owners.addresses,
                added.credit.partner_id,
                sold_at,
            ),
            hold_until: self.program.hold.until(sold_at),
            created_at: sold_at,
        }
    }

    fn notifications(&self) -> Vec<NotificationRecord> {
        let of = |commission| {
            let (status, reason) = (CommissionStatus::Reversed, Some(REASON.to_owned()));
            let deducted = remaining(commission);
            postings::deduction_notifications(commission, status, deducted, reason, &self.context.clock)
        };
        self.superseded.iter().flat_map(of).collect()
    }
}

/// Counts the share that earlier refunds take from added commissions, on the day of its posting: today.
async fn count_shares(
    connection: &mut PgConnection,
    new: &[NewCommission<'_>],
    ids: &[CommissionId],
    refunded: &[RefundedCommission<'_>],
) -> StorageResult<()> {
    if refunded.is_empty() {
        return Ok(());
    }
    let shares: HashMap<CommissionId, Cents> = refunded
        .iter()
        .map(|commission| (commission.commission_id, commission.deducted))
        .collect();
    let day = refund_rollups::posting_day(connection).await?;
    let mut deltas = RefundDeltas::default();
    for (new, id) in new.iter().zip(ids) {
        let counted = Counted { day, ..new.counted() };
        deltas.deduction(counted, shares.get(id).copied().unwrap_or_default());
    }
    deltas.append(connection).await
}

fn remaining(commission: &LockedCommission) -> Cents {
    commission.amount.saturating_sub(commission.deducted)
}

/// Takes back the whole amount, even below a balance of zero. A refund's share is different: here the partner
/// was never due the amount.
fn taken_back(amount: Cents) -> ledger::Entry {
    ledger::reversal(&deduct(Cents::ZERO, amount, true))
}

fn refunded_share(added: &Added<'_>) -> Option<(Cents, CommissionStatus)> {
    let (sale_amount, refunded) = (added.sale.recorded.sale.amount.get(), added.sale.refunded.get());
    let status = if refunded == sale_amount {
        CommissionStatus::Reversed
    } else {
        CommissionStatus::Refunded
    };
    (refunded > 0).then(|| (proportion(added.credit.amount, refunded, sale_amount), status))
}

fn recorded(customer: &Customer, sale: &StoredSale) -> Recorded {
    Recorded {
        sale_id: sale.recorded.sale_id,
        program_id: customer.program_id,
        customer_id: customer.customer_id,
        transaction_id: sale.recorded.sale.transaction_id.to_string(),
        amount: sale.recorded.sale.amount,
        currency: sale.recorded.sale.currency,
        referral_link_id: sale.referral_link_id,
        sold_at: sale.recorded.at,
    }
}
