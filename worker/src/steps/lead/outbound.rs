//! Outbound events of the leads of a batch.

use std::collections::{BTreeSet, HashMap};

use domain::ids::{CustomerId, PartnerId, ProgramId, ReferralLinkId};
use domain::programs::outbound_event::OutboundEventType;
use messages::outbound_event::OutboundEvent;
use messages::outbound_event::lead::LeadCreated;
use sqlx::PgConnection;
use storage::StorageResult;
use storage::program::links;
use storage::program::programs::Program;
use storage::tracking::customers::Customer;
use storage::tracking::leads::NewLead;

use super::link_at;
use crate::outbound::OutboundEvents;

/// Reads nothing if no program wants these events.
pub async fn add_events(
    connection: &mut PgConnection,
    leads: &[NewLead<'_>],
    customers: &HashMap<CustomerId, Customer>,
    programs: &HashMap<ProgramId, Program>,
    events: &mut OutboundEvents<'_>,
) -> StorageResult<()> {
    let wanted_leads: Vec<(&NewLead<'_>, &Customer, ReferralLinkId)> = leads
        .iter()
        .filter(|lead| {
            programs
                .get(&lead.program_id)
                .is_some_and(|program| program.wanted_events.contains(OutboundEventType::LeadCreated))
        })
        .filter_map(|lead| {
            let customer = customers.get(&lead.customer_id)?;
            Some((lead, customer, link_at(&customer.journey, lead.led_at)))
        })
        .collect();
    if wanted_leads.is_empty() {
        return Ok(());
    }
    let ids: BTreeSet<i64> = wanted_leads.iter().map(|(_, _, link)| link.get()).collect();
    let links = links::named(connection, &ids.into_iter().collect::<Vec<_>>()).await?;
    for (lead, customer, link) in wanted_leads {
        let link = links.get(&link);
        let bound = customer.customer_key.clone();
        let event = OutboundEvent::LeadCreated(LeadCreated {
            program_id: lead.program_id.get(),
            customer_key: lead.customer_key.map(str::to_owned).or(bound),
            click_id: lead.click_id.clone(),
            event_name: lead.event_name.map(str::to_owned),
            provisional: lead.provisional,
            partner_id: link.and_then(|link| link.partner_id).map(PartnerId::get),
            referral_link_code: link.map(|link| link.short_code.clone()),
        });
        events.add(Some(lead.customer_id), lead.led_at, &event)?;
    }
    Ok(())
}
