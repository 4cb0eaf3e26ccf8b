//! Recorded sales are judged again when an earlier click, payment or start of a subscription becomes known after them.
//!
//! Phases, a customer at a time: **sales** since the earliest news, locked → **decisions**, anew in the order of their own times
//! ([`domain::reassessment`](common::domain::reassessment)) → **differences**: a commission that is not due any more is
//! superseded, taken back to the cent whether it was paid out or not, and what is due instead is added, with the share that
//! refunds of its sale take.
//!
//! Locks: the caller's customers → sales → commissions → balances. It is rare: most news is in order.

use std::collections::{BTreeMap, HashMap, HashSet};

use chrono::{DateTime, Utc};
use common::domain::commission::{CommissionStatus, Policy};
use common::domain::ids::{CustomerId, EventId, PartnerId, SaleId};
use common::domain::ledger::{self, deduct};
use common::domain::money::{Cents, Currency, proportion};
use common::domain::reassessment::{Reassessment, reassess as decide_anew};
use common::domain::sale::{Credit, Earning, Recording, SaleCustomer};
use common::domain::signal::{PartnerAddresses, Signal, SignalFacts, SignalRules};
use common::messages::notification::{Content, Deduction, NotificationRecord, Recipient};
use common::messages::sale::NoCommission;
use common::messages::subject::Subject;
use common::storage::commissions::{self, LockedCommission, NewCommission, RefundedCommission};
use common::storage::customers::{self, Customer, Milestone};
use common::storage::duplicate_sales::Recorded;
use common::storage::ledger::{self as ledger_entries, NewEntry};
use common::storage::links::{self, Memberships, Owners};
use common::storage::programs::{self, Program};
use common::storage::reassessments::{self, Credited, StoredSale};
use common::storage::rollups::Deltas;
use common::storage::subscriptions::{self, NewSubscription, SubscriptionKey};
use common::storage::{StorageResult, outbox};
use sqlx::PgConnection;

use crate::steps::StepContext;
use crate::steps::refund::json;
use crate::steps::sale::no_commission;

/// Stored with a commission that is superseded, and told to its partner.
const REASON: &str = "an earlier click or payment became known, and the sale was credited again";

/// Customers of whom news arrived late, each with the earliest of its times.
#[derive(Debug, Default)]
pub struct OutOfOrder(BTreeMap<CustomerId, DateTime<Utc>>);

impl OutOfOrder {
    pub fn note(&mut self, customer_id: CustomerId, at: DateTime<Utc>) {
        let since = self.0.entry(customer_id).or_insert(at);
        *since = at.min(*since);
    }

    pub fn customers(&self) -> Vec<i64> {
        self.0.keys().map(|customer_id| customer_id.get()).collect()
    }
}

/// Judges the sales of these customers again, who are locked.
pub async fn reassess(
    connection: &mut PgConnection,
    context: &StepContext,
    customers: &HashMap<CustomerId, Customer>,
    out_of_order: &OutOfOrder,
) -> StorageResult<()> {
    for (customer_id, since) in &out_of_order.0 {
        if let Some(customer) = customers.get(customer_id) {
            reassess_customer(connection, context, customer, *since).await?;
        }
    }
    Ok(())
}

async fn reassess_customer(
    connection: &mut PgConnection,
    context: &StepContext,
    customer: &Customer,
    since: DateTime<Utc>,
) -> StorageResult<()> {
    let sales =
        reassessments::lock_sales_since(connection, customer.program_id, customer.customer_id, since).await?;
    let program = programs::find(connection, &[customer.program_id.get()])
        .await?
        .remove(&customer.program_id);
    let Some(program) = program.filter(|_| !sales.is_empty()) else {
        return Ok(());
    };
    let sale_ids: Vec<i64> = sales.iter().map(|sale| sale.recorded.sale_id.get()).collect();
    let in_force = commissions::lock_of_sales(connection, &sale_ids).await?;
    let owners = owners(connection, customer, &in_force).await?;
    let anew = decisions(connection, customer, &program, &owners, &sales, since).await?;
    let mut corrections = Corrections::new(context, customer, &program, &owners);
    for (sale_id, recording) in &anew.recordings {
        if let Some(sale) = sales.iter().find(|sale| sale.recorded.sale_id == *sale_id) {
            let before: Vec<&LockedCommission> = in_force
                .iter()
                .filter(|commission| commission.sale_id == *sale_id)
                .collect();
            corrections.compare(sale, recording, &before);
        }
    }
    corrections.write(connection).await?;
    save_first_payments(connection, customer, &anew).await?;
    move_first_purchase(connection, customer, &anew, &sales).await
}

/// Who may earn: partners who are approved, and those who earned by these sales before they were suspended.
async fn owners(
    connection: &mut PgConnection,
    customer: &Customer,
    in_force: &[LockedCommission],
) -> StorageResult<Owners> {
    let clicked: HashSet<i64> = customer
        .journey
        .touches()
        .iter()
        .chain([&customer.journey.first()])
        .map(|touch| touch.referral_link_id.get())
        .collect();
    let clicked: Vec<i64> = clicked.into_iter().collect();
    let mut owners = links::owners(connection, &clicked, Memberships::Approved).await?;
    let all = links::owners(connection, &clicked, Memberships::All).await?;
    let earned: HashSet<_> = in_force
        .iter()
        .map(|commission| commission.partner_program_id)
        .collect();
    owners.links.extend(all.links.into_iter().filter(|(_, owner)| {
        owner
            .membership
            .is_some_and(|membership| earned.contains(&membership.partner_program_id))
    }));
    owners.addresses.extend(all.addresses);
    Ok(owners)
}

async fn decisions(
    connection: &mut PgConnection,
    customer: &Customer,
    program: &Program,
    owners: &Owners,
    sales: &[StoredSale],
    since: DateTime<Utc>,
) -> StorageResult<Reassessment> {
    let named: HashSet<SubscriptionKey> = sales
        .iter()
        .filter_map(|sale| sale.recorded.sale.subscription_id.as_ref())
        .map(|id| (customer.program_id, id.to_string()))
        .collect();
    let known = subscriptions::find(connection, &named.into_iter().collect::<Vec<_>>()).await?;
    let before = sales
        .iter()
        .filter_map(|sale| {
            let id = sale.recorded.sale.subscription_id.clone()?;
            let known = known.get(&(customer.program_id, id.to_string()))?;
            Some((id, known.before(since)))
        })
        .collect();
    let first_payment_at = customer.first_purchase.map(|first| first.at);
    let customer = SaleCustomer {
        customer_id: customer.customer_id,
        program_id: customer.program_id,
        journey: customer.journey.clone(),
        first_payment_at: first_payment_at.filter(|first| *first < since),
    };
    let recorded = sales.iter().map(|sale| sale.recorded.clone()).collect();
    Ok(decide_anew(
        customer,
        &program.terms,
        before,
        &owners.links,
        recorded,
    ))
}

/// What the books say otherwise than they should, of one customer.
struct Corrections<'a> {
    context: &'a StepContext,
    customer: &'a Customer,
    program: &'a Program,
    owners: &'a Owners,
    superseded: Vec<LockedCommission>,
    added: Vec<Added<'a>>,
    credited: Vec<(&'a StoredSale, Credited<'static>)>,
    deltas: Deltas,
}

/// A commission that is due on a recorded sale and is not there.
struct Added<'a> {
    sale: &'a StoredSale,
    credit: Credit,
    currency: Currency,
    policy: &'a Policy,
}

impl Added<'_> {
    fn is(&self, commission: &LockedCommission) -> bool {
        commission.partner_program_id == self.credit.partner_program_id
            && commission.amount == self.credit.amount
            && commission.currency == self.currency
    }
}

impl<'a> Corrections<'a> {
    fn new(
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
            credited: Vec::new(),
            deltas: Deltas::default(),
        }
    }

    fn compare(&mut self, sale: &'a StoredSale, anew: &'a Recording, in_force: &[&LockedCommission]) {
        let due: Vec<Added<'_>> = match &anew.earning {
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
        let missing = due
            .into_iter()
            .filter(|added| !in_force.iter().any(|commission| added.is(commission)));
        self.added.extend(missing);
        let credited = Credited {
            sale_id: sale.recorded.sale_id,
            referral_link_id: anew.credited_links.last().copied(),
            no_commission_reason: no_commission(anew).map(NoCommission::as_str),
        };
        if credited.referral_link_id != sale.referral_link_id
            || credited.no_commission_reason != sale.no_commission_reason.as_deref()
        {
            self.credited.push((sale, credited));
        }
    }

    async fn write(mut self, connection: &mut PgConnection) -> StorageResult<()> {
        let mut entries = self.take_back(connection).await?;
        entries.extend(self.add(connection).await?);
        let credited: Vec<Credited<'_>> = self
            .credited
            .iter()
            .map(|(_, credited)| credited.clone())
            .collect();
        reassessments::save_credits(connection, &credited).await?;
        for (sale, credited) in &self.credited {
            self.deltas
                .moved_sale(&recorded(self.customer, sale), credited.referral_link_id);
        }
        self.deltas.append(connection).await?;
        ledger_entries::post(connection, &entries).await?;
        let notifications = self.notifications();
        let payloads = notifications
            .iter()
            .map(json)
            .collect::<StorageResult<Vec<String>>>()?;
        outbox::add(connection, Subject::Notifications.noun(), &payloads).await?;
        if !entries.is_empty() {
            tracing::info!(
                program_id = %self.customer.program_id,
                superseded = self.superseded.len(),
                added = self.added.len(),
                "recorded sales credited again"
            );
        }
        Ok(())
    }

    async fn take_back(&mut self, connection: &mut PgConnection) -> StorageResult<Vec<NewEntry>> {
        let ids: Vec<_> = self
            .superseded
            .iter()
            .map(|commission| commission.commission_id)
            .collect();
        reassessments::supersede(connection, &ids, REASON).await?;
        let mut entries = Vec::new();
        for commission in &self.superseded {
            self.deltas.superseded(commission);
            let entry_group = EventId::new(self.context.clock.mint());
            entries.extend(taken_back(remaining(commission)).map(|entry| NewEntry {
                entry_group,
                entry,
                program_id: commission.program_id,
                partner_program_id: commission.partner_program_id,
                partner_id: commission.partner_id,
                commission_id: commission.commission_id,
                sale_id: commission.sale_id,
                currency: commission.currency,
            }));
        }
        Ok(entries)
    }

    async fn add(&mut self, connection: &mut PgConnection) -> StorageResult<Vec<NewEntry>> {
        let new: Vec<NewCommission<'_>> = self.added.iter().map(|added| self.commission(added)).collect();
        let ids = commissions::insert(connection, &new).await?;
        let (mut entries, mut refunded) = (Vec::new(), Vec::new());
        for ((added, new), commission_id) in self.added.iter().zip(&new).zip(ids) {
            self.deltas.commission(new);
            let entry_group = EventId::new(self.context.clock.mint());
            let entry = |entry| NewEntry {
                entry_group,
                entry,
                program_id: new.program_id,
                partner_program_id: added.credit.partner_program_id,
                partner_id: added.credit.partner_id,
                commission_id,
                sale_id: new.sale_id,
                currency: added.currency,
            };
            entries.extend(ledger::accrual(added.credit.amount).map(entry));
            if let Some((share, status)) = refunded_share(added) {
                entries.extend(taken_back(share).map(entry));
                refunded.push(RefundedCommission {
                    commission_id,
                    deducted: share,
                    status,
                    refund_reason: None,
                });
            }
        }
        commissions::save_refunded(connection, &refunded).await?;
        Ok(entries)
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
            signals: signals(
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

    /// For each partner who lost a commission; and for the advertiser, when it was paid out.
    fn notifications(&self) -> Vec<NotificationRecord> {
        let notification = |recipient, content| NotificationRecord {
            event_id: EventId::new(self.context.clock.mint()),
            program_id: self.customer.program_id,
            recipient,
            content,
        };
        self.superseded
            .iter()
            .flat_map(|commission| {
                let deduction = Deduction {
                    sale_id: commission.sale_id,
                    commission_id: commission.commission_id,
                    status: CommissionStatus::Reversed,
                    deducted: remaining(commission),
                    currency: commission.currency,
                    refund_reason: Some(REASON.to_owned()),
                };
                let to_partner = notification(
                    Recipient::Partner(commission.partner_id),
                    Content::CommissionDeducted(deduction.clone()),
                );
                let to_advertiser = commission
                    .paid_out
                    .then(|| notification(Recipient::Advertiser, Content::PaidCommissionDeducted(deduction)));
                std::iter::once(to_partner).chain(to_advertiser)
            })
            .collect()
    }
}

fn remaining(commission: &LockedCommission) -> Cents {
    commission.amount.saturating_sub(commission.deducted)
}

/// All of it, unlike a refund's share, which a balance of zero ends: where the order of time leads, the partner was never due it.
fn taken_back(amount: Cents) -> [ledger::Entry; 2] {
    ledger::reversal(&deduct(Cents::ZERO, amount, true))
}

/// What refunds of the sale so far take from a commission that is added now.
fn refunded_share(added: &Added<'_>) -> Option<(Cents, CommissionStatus)> {
    let (sale_amount, refunded) = (added.sale.recorded.sale.amount.get(), added.sale.refunded.get());
    let status = if refunded == sale_amount {
        CommissionStatus::Reversed
    } else {
        CommissionStatus::Refunded
    };
    (refunded > 0).then(|| (proportion(added.credit.amount, refunded, sale_amount), status))
}

/// The sale as the rollups count it now.
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

async fn save_first_payments(
    connection: &mut PgConnection,
    customer: &Customer,
    anew: &Reassessment,
) -> StorageResult<()> {
    let first_payments: Vec<NewSubscription> = anew
        .first_payments
        .iter()
        .map(|(id, (first_sale_id, first))| NewSubscription {
            key: (customer.program_id, id.to_string()),
            customer_id: customer.customer_id,
            first_sale_id: *first_sale_id,
            first: first.clone(),
        })
        .collect();
    subscriptions::save(connection, &first_payments).await
}

/// The conversion counts under the link that the customer's first sale credits now.
async fn move_first_purchase(
    connection: &mut PgConnection,
    customer: &Customer,
    anew: &Reassessment,
    sales: &[StoredSale],
) -> StorageResult<()> {
    let Some(known) = customer.first_purchase else {
        return Ok(());
    };
    let is_first = |sale_id: SaleId| {
        sales
            .iter()
            .any(|sale| sale.recorded.sale_id == sale_id && sale.recorded.at == known.at)
    };
    // They are in the order of their times.
    let Some((_, recording)) = anew.recordings.iter().find(|(sale_id, _)| is_first(*sale_id)) else {
        return Ok(());
    };
    let link = recording.credited_links.last().copied();
    if link == known.referral_link_id {
        return Ok(());
    }
    let moved = Milestone {
        at: known.at,
        referral_link_id: link,
    };
    let mut deltas = Deltas::default();
    deltas.no_conversion(customer.program_id, known);
    deltas.conversion(customer.program_id, moved);
    deltas.append(connection).await?;
    let mut customer = customer.clone();
    customer.first_purchase = Some(moved);
    customers::save(connection, &[&customer]).await
}

/// What is odd about a sale, as far as this partner earns by it.
pub fn signals(
    rules: &SignalRules,
    customer: &Customer,
    addresses: &PartnerAddresses,
    partner_id: PartnerId,
    sold_at: DateTime<Utc>,
) -> Vec<Signal> {
    rules.judge(&SignalFacts {
        customer_key: customer.customer_key.as_deref(),
        email_hash: customer.email_hash.as_deref(),
        key_contested: customer.key_contested,
        partner_addresses: addresses.get(&partner_id).map(Vec::as_slice).unwrap_or_default(),
        first_click_at: customer.journey.first().clicked_at,
        sold_at,
    })
}
