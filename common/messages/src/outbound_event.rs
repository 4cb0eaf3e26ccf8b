//! Outbound events of a program: the bodies of webhooks and of the event stream. The `data` of each type is a
//! struct of its own.
//!
//! Amounts are integers in the currency's smallest unit, ids are numbers, and times are ISO 8601 in UTC.
//! Receivers have written code for these bodies, so no field is removed or changes its meaning.

pub mod commission;
pub mod lead;
pub mod partner;
pub mod payout;
pub mod processor_event;
pub mod refund;
pub mod sale;
pub mod webhook_endpoint;

use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::ProgramId;
use domain::programs::outbound_event::OutboundEventType;
use serde::Serialize;

use self::commission::{CommissionChanged, CommissionEvent, CommissionPaid, CommissionReversed};
use self::lead::LeadCreated;
use self::partner::PartnerEvent;
use self::payout::{PayoutEvent, PayoutFailed};
use self::processor_event::ProcessorEventNeedsReview;
use self::refund::SaleRefunded;
use self::sale::SaleRecorded;
use self::webhook_endpoint::EndpointDisabled;
use crate::instant::as_instant;

/// One event: its type and its `data`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum OutboundEvent {
    LeadCreated(LeadCreated),
    SaleRecorded(SaleRecorded),
    SaleRefunded(SaleRefunded),
    CommissionCreated(CommissionEvent),
    CommissionApproved(CommissionEvent),
    CommissionAdjusted(CommissionChanged),
    CommissionRejected(CommissionChanged),
    CommissionReversed(CommissionReversed),
    CommissionPaid(CommissionPaid),
    PayoutCreated(PayoutEvent),
    PayoutSettled(PayoutEvent),
    PayoutFailed(PayoutFailed),
    PartnerApplied(PartnerEvent),
    PartnerEnrolled(PartnerEvent),
    PartnerSuspended(PartnerEvent),
    ProcessorEventNeedsReview(ProcessorEventNeedsReview),
    EndpointDisabled(EndpointDisabled),
}

#[derive(Serialize)]
struct Body<'a> {
    r#type: &'static str,
    #[serde(serialize_with = "as_instant")]
    timestamp: DateTime<Utc>,
    data: &'a OutboundEvent,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_test: bool,
}

impl OutboundEvent {
    pub const fn event_type(&self) -> OutboundEventType {
        match self {
            Self::LeadCreated(_) => OutboundEventType::LeadCreated,
            Self::SaleRecorded(_) => OutboundEventType::SaleRecorded,
            Self::SaleRefunded(_) => OutboundEventType::SaleRefunded,
            Self::CommissionCreated(_) => OutboundEventType::CommissionCreated,
            Self::CommissionApproved(_) => OutboundEventType::CommissionApproved,
            Self::CommissionAdjusted(_) => OutboundEventType::CommissionAdjusted,
            Self::CommissionRejected(_) => OutboundEventType::CommissionRejected,
            Self::CommissionReversed(_) => OutboundEventType::CommissionReversed,
            Self::CommissionPaid(_) => OutboundEventType::CommissionPaid,
            Self::PayoutCreated(_) => OutboundEventType::PayoutCreated,
            Self::PayoutSettled(_) => OutboundEventType::PayoutSettled,
            Self::PayoutFailed(_) => OutboundEventType::PayoutFailed,
            Self::PartnerApplied(_) => OutboundEventType::PartnerApplied,
            Self::PartnerEnrolled(_) => OutboundEventType::PartnerEnrolled,
            Self::PartnerSuspended(_) => OutboundEventType::PartnerSuspended,
            Self::ProcessorEventNeedsReview(_) => OutboundEventType::ProcessorEventNeedsReview,
            Self::EndpointDisabled(_) => OutboundEventType::EndpointDisabled,
        }
    }

    pub const fn program_id(&self) -> ProgramId {
        ProgramId::new(match self {
            Self::LeadCreated(lead) => lead.program_id,
            Self::SaleRecorded(sale) => sale.program_id,
            Self::SaleRefunded(refund) => refund.program_id,
            Self::CommissionCreated(commission) | Self::CommissionApproved(commission) => {
                commission.program_id
            }
            Self::CommissionAdjusted(changed) | Self::CommissionRejected(changed) => {
                changed.commission.program_id
            }
            Self::CommissionReversed(reversed) => reversed.commission.program_id,
            Self::CommissionPaid(paid) => paid.commission.program_id,
            Self::PayoutCreated(payout) | Self::PayoutSettled(payout) => payout.program_id,
            Self::PayoutFailed(failed) => failed.payout.program_id,
            Self::PartnerApplied(partner)
            | Self::PartnerEnrolled(partner)
            | Self::PartnerSuspended(partner) => partner.program_id,
            Self::ProcessorEventNeedsReview(event) => event.program_id,
            Self::EndpointDisabled(endpoint) => endpoint.program_id,
        })
    }

    /// The body that is stored, signed and sent.
    pub fn body(&self, occurred_at: DateTime<Utc>) -> serde_json::Result<String> {
        self.json(occurred_at, false)
    }

    /// The body of a test event.
    pub fn test_body(&self, now: DateTime<Utc>) -> serde_json::Result<String> {
        self.json(now, true)
    }

    fn json(&self, timestamp: DateTime<Utc>, is_test: bool) -> serde_json::Result<String> {
        serde_json::to_string(&Body {
            r#type: self.event_type().as_str(),
            timestamp,
            data: self,
            is_test,
        })
    }

    /// An example of this type, for the API description and for test events.
    pub fn example(event_type: OutboundEventType, program_id: ProgramId) -> Self {
        let program_id = program_id.get();
        match event_type {
            OutboundEventType::LeadCreated => Self::LeadCreated(LeadCreated::example(program_id)),
            OutboundEventType::SaleRecorded => Self::SaleRecorded(SaleRecorded::example(program_id)),
            OutboundEventType::SaleRefunded => Self::SaleRefunded(SaleRefunded::example(program_id)),
            OutboundEventType::CommissionCreated => {
                Self::CommissionCreated(CommissionEvent::example(program_id, "pending"))
            }
            OutboundEventType::CommissionApproved => {
                Self::CommissionApproved(CommissionEvent::example(program_id, "approved"))
            }
            OutboundEventType::CommissionAdjusted => {
                Self::CommissionAdjusted(CommissionChanged::adjusted_example(program_id))
            }
            OutboundEventType::CommissionRejected => {
                Self::CommissionRejected(CommissionChanged::rejected_example(program_id))
            }
            OutboundEventType::CommissionReversed => {
                Self::CommissionReversed(CommissionReversed::example(program_id))
            }
            OutboundEventType::CommissionPaid => Self::CommissionPaid(CommissionPaid::example(program_id)),
            OutboundEventType::PayoutCreated => Self::PayoutCreated(PayoutEvent::example(program_id)),
            OutboundEventType::PayoutSettled => Self::PayoutSettled(PayoutEvent::example(program_id)),
            OutboundEventType::PayoutFailed => Self::PayoutFailed(PayoutFailed::example(program_id)),
            OutboundEventType::PartnerApplied => {
                Self::PartnerApplied(PartnerEvent::example(program_id, "pending"))
            }
            OutboundEventType::PartnerEnrolled => {
                Self::PartnerEnrolled(PartnerEvent::example(program_id, "approved"))
            }
            OutboundEventType::PartnerSuspended => {
                Self::PartnerSuspended(PartnerEvent::example(program_id, "suspended"))
            }
            OutboundEventType::ProcessorEventNeedsReview => {
                Self::ProcessorEventNeedsReview(ProcessorEventNeedsReview::example(program_id))
            }
            OutboundEventType::EndpointDisabled => {
                Self::EndpointDisabled(EndpointDisabled::example(program_id))
            }
        }
    }
}

/// The time in examples.
pub fn example_time() -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::days(20_000)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_body_says_what_happened_when_and_to_which_program() {
        for event_type in OutboundEventType::ALL {
            let event = OutboundEvent::example(event_type, ProgramId::new(7));
            assert_eq!(event.event_type(), event_type);
            assert_eq!(event.program_id(), ProgramId::new(7), "{event_type:?}");
            let body: Value = serde_json::from_str(&event.body(example_time()).unwrap()).unwrap();
            assert_eq!(body["type"], event_type.as_str());
            assert_eq!(body["timestamp"], "2024-10-04T00:00:00.000Z");
            assert_eq!(body["data"]["program_id"], 7, "{event_type:?}");
            assert_eq!(body.as_object().unwrap().len(), 3, "{event_type:?}");
            let test: Value = serde_json::from_str(&event.test_body(example_time()).unwrap()).unwrap();
            assert_eq!((&test["is_test"], &test["data"]), (&json!(true), &body["data"]));
        }
    }
}
