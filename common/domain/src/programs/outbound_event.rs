//! The types of outbound events, and the set of types that a program wants.

crate::text_enum! {
    /// The type of an event in a program. [`WantedEvents`] stores the order, so new types come last.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum OutboundEventType {
        LeadCreated = "lead.created",
        SaleRecorded = "sale.recorded",
        SaleRefunded = "sale.refunded",
        CommissionCreated = "commission.created",
        CommissionApproved = "commission.approved",
        CommissionAdjusted = "commission.adjusted",
        CommissionRejected = "commission.rejected",
        CommissionReversed = "commission.reversed",
        CommissionPaid = "commission.paid",
        PayoutCreated = "payout.created",
        PayoutSettled = "payout.settled",
        PayoutFailed = "payout.failed",
        PartnerApplied = "partner.applied",
        PartnerEnrolled = "partner.enrolled",
        PartnerSuspended = "partner.suspended",
        ProcessorEventNeedsReview = "processor_event.needs_review",
        EndpointDisabled = "endpoint.disabled",
    }
}

impl OutboundEventType {
    pub const fn bit(self) -> i32 {
        1 << self as i32
    }
}

/// The types of outbound events that a program wants. Worker steps write only these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
pub struct WantedEvents(i32);

impl WantedEvents {
    /// A reader of the event stream also wants clicks. Clicks are not written one by one.
    const STREAM: i32 = 1 << 30;
    pub const NONE: Self = Self(0);

    pub const fn from_bits(bits: i32) -> Self {
        Self(bits)
    }

    /// The stored form.
    pub const fn bits(self) -> i32 {
        self.0
    }

    #[must_use]
    pub const fn with(self, event_type: OutboundEventType) -> Self {
        Self(self.0 | event_type.bit())
    }

    /// All types, for a reader of the event stream.
    #[must_use]
    pub fn with_stream(self) -> Self {
        let all = OutboundEventType::ALL.into_iter().fold(self, Self::with);
        Self(all.0 | Self::STREAM)
    }

    pub const fn contains(self, event_type: OutboundEventType) -> bool {
        self.0 & event_type.bit() != 0
    }

    pub const fn has_stream(self) -> bool {
        self.0 & Self::STREAM != 0
    }

    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<OutboundEventType> for WantedEvents {
    fn from_iter<T: IntoIterator<Item = OutboundEventType>>(types: T) -> Self {
        types.into_iter().fold(Self::NONE, Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_is_read_back() {
        for event_type in OutboundEventType::ALL {
            let wanted = WantedEvents::from_bits(WantedEvents::NONE.with(event_type).bits());
            for other in OutboundEventType::ALL {
                assert_eq!(wanted.contains(other), other == event_type, "{other:?}");
            }
            assert!(!wanted.has_stream());
        }
        assert!(WantedEvents::NONE.with_stream().has_stream());
        assert!(
            OutboundEventType::ALL
                .into_iter()
                .all(|event_type| WantedEvents::NONE.with_stream().contains(event_type))
        );
    }
}
