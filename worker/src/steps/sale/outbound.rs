//! Outbound events of the sales of a batch, and of their commissions.

use std::collections::{BTreeSet, HashMap};

use domain::earnings::commission::CommissionStatus;
use domain::ids::{CommissionId, EventId, PartnerId, ReferralLinkId, SaleId};
use domain::programs::outbound_event::OutboundEventType;
use domain::text::{ProductId, SubscriptionId};
use domain::tracking::sale::{Credit, Earning, Recording};
use messages::outbound_event::OutboundEvent;
use messages::outbound_event::commission::CommissionEvent;
use messages::outbound_event::sale::SaleRecorded;
use messages::sale::{NoCommission, SaleOutcome, SaleRecord};
use sqlx::PgConnection;
use storage::StorageResult;
use storage::program::links::{self, NamedLink};
use storage::program::programs::Program;
use storage::tracking::customers::Customer;

use super::batch::SaleBatch;
use super::rows::RecordedSale;
use crate::outbound::OutboundEvents;

struct WantedSale<'a> {
    record: &'a SaleRecord,
    recording: &'a Recording,
    sale_id: SaleId,
    /// In the order of the credits.
    commission_ids: &'a [CommissionId],
    program: &'a Program,
    customer: &'a Customer,
}

/// Adds the events, each sale before its commissions. Reads nothing if no program wants them.
pub async fn add_events(
    connection: &mut PgConnection,
    kept: &[(&SaleRecord, &Recording)],
    recorded: &HashMap<EventId, RecordedSale>,
    batch: &SaleBatch,
    events: &mut OutboundEvents<'_>,
) -> StorageResult<()> {
    let sales: Vec<WantedSale<'_>> = kept
        .iter()
        .filter_map(|(record, recording)| WantedSale::of(record, recording, recorded, batch))
        .collect();
    if sales.is_empty() {
        return Ok(());
    }
    let credited: BTreeSet<i64> = sales
        .iter()
        .flat_map(|sale| &sale.recording.credited_links)
        .map(|link| link.get())
        .collect();
    let links = links::named(connection, &credited.into_iter().collect::<Vec<_>>()).await?;
    for sale in sales {
        sale.add_events(&links, events)?;
    }
    Ok(())
}

impl<'a> WantedSale<'a> {
    fn of(
        record: &'a SaleRecord,
        recording: &'a Recording,
        recorded: &'a HashMap<EventId, RecordedSale>,
        batch: &'a SaleBatch,
    ) -> Option<Self> {
        let program = batch.program(record.program_id)?;
        let wanted = program.wanted_events;
        if !wanted.contains(OutboundEventType::SaleRecorded)
            && !wanted.contains(OutboundEventType::CommissionCreated)
        {
            return None;
        }
        let SaleOutcome::Recorded {
            sale_id,
            commission_ids,
            ..
        } = &recorded.get(&record.event_id)?.outcome
        else {
            return None;
        };
        Some(Self {
            record,
            recording,
            sale_id: *sale_id,
            commission_ids,
            program,
            customer: batch.customer(record.event_id)?,
        })
    }

    fn add_events(
        &self,
        links: &HashMap<ReferralLinkId, NamedLink>,
        events: &mut OutboundEvents<'_>,
    ) -> StorageResult<()> {
        let wanted = self.program.wanted_events;
        let customer_id = Some(self.customer.customer_id);
        let sold_at = self.record.sold_at;
        if wanted.contains(OutboundEventType::SaleRecorded) {
            let event = OutboundEvent::SaleRecorded(self.recorded(links));
            events.add(customer_id, sold_at, &event)?;
        }
        if wanted.contains(OutboundEventType::CommissionCreated)
            && let Earning::Commissions {
                credits, currency, ..
            } = &self.recording.earning
        {
            for (credit, commission_id) in credits.iter().zip(self.commission_ids) {
                let commission = self.commission(credit, *commission_id, currency.as_str(), links);
                let event = OutboundEvent::CommissionCreated(commission);
                events.add(customer_id, sold_at, &event)?;
            }
        }
        Ok(())
    }

    /// The customer's bound key, or else the key that this sale names.
    fn customer_key(&self) -> Option<String> {
        let named = self.record.sale.customer_key.as_ref();
        let bound = self.customer.customer_key.clone();
        bound.or_else(|| named.map(ToString::to_string))
    }

    fn recorded(&self, links: &HashMap<ReferralLinkId, NamedLink>) -> SaleRecorded {
        let sale = &self.record.sale;
        let link = self
            .recording
            .credited_links
            .last()
            .and_then(|link| links.get(link));
        SaleRecorded {
            program_id: self.record.program_id.get(),
            sale_id: self.sale_id.get(),
            transaction_id: sale.transaction_id.to_string(),
            customer_key: self.customer_key(),
            click_id: self.customer.click_id.clone(),
            amount_cents: sale.amount.get(),
            commissionable_cents: sale.commissionable.map(|_| sale.commissionable_amount().get()),
            currency: sale.currency.as_str().to_owned(),
            is_recurring: sale.is_recurring,
            subscription_id: sale.subscription_id.as_ref().map(SubscriptionId::to_string),
            product_id: sale.product_id.as_ref().map(ProductId::to_string),
            partner_id: link.and_then(|link| link.partner_id).map(PartnerId::get),
            referral_link_code: link.map(|link| link.short_code.clone()),
            commission_ids: self.commission_ids.iter().map(|id| id.get()).collect(),
            no_commission_reason: NoCommission::of(&self.recording.earning)
                .map(|reason| reason.as_str().to_owned()),
        }
    }

    fn commission(
        &self,
        credit: &Credit,
        commission_id: CommissionId,
        currency: &str,
        links: &HashMap<ReferralLinkId, NamedLink>,
    ) -> CommissionEvent {
        let link = links.get(&credit.referral_link_id);
        CommissionEvent {
            program_id: self.record.program_id.get(),
            commission_id: commission_id.get(),
            sale_id: Some(self.sale_id.get()),
            transaction_id: Some(self.record.sale.transaction_id.to_string()),
            customer_key: self.customer_key(),
            click_id: Some(self.customer.click_id.clone()),
            partner_id: credit.partner_id.get(),
            partner_program_id: credit.partner_program_id.get(),
            referral_link_code: link.map(|link| link.short_code.clone()),
            amount_cents: credit.amount.get(),
            deducted_cents: 0,
            currency: currency.to_owned(),
            status: CommissionStatus::Pending.as_str().to_owned(),
            hold_until: self.program.hold.until(self.record.sold_at),
        }
    }
}
