//! Members of a program in the form that outbound events report.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use crate::outbound::outbound_events;
use crate::program::partners::{self, ProgramPartner};
use domain::ids::{EventId, PartnerProgramId, ProgramId};
use domain::programs::outbound_event::WantedEvents;
use domain::programs::partner::MembershipStatus;
use messages::outbound_event::OutboundEvent;
use messages::outbound_event::partner::PartnerEvent;

/// The event with the partner's current status. `None` once the partner's record is removed.
pub fn event(program_id: ProgramId, member: &ProgramPartner) -> Option<OutboundEvent> {
    let partner = member.partner.as_ref()?;
    let event = PartnerEvent {
        program_id: program_id.get(),
        partner_program_id: member.partner_program_id.get(),
        partner_id: partner.partner_id.get(),
        partner_name: partner.name.clone(),
        status: member.status.as_str().to_owned(),
    };
    Some(match member.status {
        MembershipStatus::Pending => OutboundEvent::PartnerApplied(event),
        MembershipStatus::Approved => OutboundEvent::PartnerEnrolled(event),
        MembershipStatus::Suspended => OutboundEvent::PartnerSuspended(event),
    })
}

/// Writes the event that a partner has joined, if the program wants it.
pub async fn joined(
    connection: &mut PgConnection,
    program_id: ProgramId,
    partner_program_id: PartnerProgramId,
    now: DateTime<Utc>,
    new_event_id: impl Fn() -> EventId,
) -> StorageResult<()> {
    let bits = fetch_scalar!(
        &mut *connection,
        "SELECT wanted_events FROM programs WHERE id = $1",
        program_id.get()
    );
    let wanted = WantedEvents::from_bits(bits);
    if wanted.is_none() {
        return Ok(());
    }
    let member = partners::find(connection, program_id, partner_program_id).await?;
    let event = member.and_then(|member| event(program_id, &member));
    let event = event.filter(|event| wanted.contains(event.event_type()));
    outbound_events::add_without_customer(connection, now, new_event_id, event).await
}
