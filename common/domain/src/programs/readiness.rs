//! The readiness of a program: five gates, the first gate that is not passed, and the resulting state.

use chrono::{DateTime, Utc};
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    pub name: String,
    pub domain: Option<String>,
    pub has_policy: bool,
    /// A payment processor's account is connected.
    pub processor_connected: bool,
    /// A test event was received at some time.
    pub has_test_events: bool,
    /// The times of the latest real events.
    pub last_event_at: LastEvents,
    /// The first time at which a test chain reached its partner.
    pub chain_verified_at: Option<DateTime<Utc>>,
}

/// The time of the latest real event of each type, in UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LastEvents {
    pub click: Option<DateTime<Utc>>,
    pub lead: Option<DateTime<Utc>>,
    pub sale: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadinessState {
    /// The advertiser is not known yet.
    Draft,
    /// Some of the set-up is missing.
    Configuring,
    /// The set-up is complete, but nothing has proven that it works.
    Ready,
    /// A test chain reached its partner.
    IntegrationVerified,
    /// A real sale was recorded.
    LiveVerified,
}

/// The gates, in the recommended order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    Profile,
    Economics,
    Payout,
    Tracking,
    Live,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateStatus {
    Pass,
    Fail,
    /// Nothing is left to set up, but no event has proven yet that it works.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NextAction {
    CompleteProgramProfile,
    SetCommissionPolicy,
    SurfaceStripeConnectUrl,
    InstallTrackerOrSendEvents,
    RunSyntheticSaleChain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateReport {
    pub status: GateStatus,
    /// What the advertiser must do to pass the gate; `None` if there is nothing to do.
    pub next_action: Option<NextAction>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gates {
    pub profile: GateReport,
    pub economics: GateReport,
    pub payout: GateReport,
    pub tracking: GateReport,
    pub live: GateReport,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readiness {
    pub state: ReadinessState,
    pub blocker: Option<Gate>,
    pub gates: Gates,
}

pub fn assess(facts: &Facts) -> Readiness {
    let gates = Gates {
        profile: passes_if(has_profile(facts), NextAction::CompleteProgramProfile),
        economics: passes_if(facts.has_policy, NextAction::SetCommissionPolicy),
        payout: passes_if(facts.processor_connected, NextAction::SurfaceStripeConnectUrl),
        tracking: passes_if(was_heard_of(facts), NextAction::InstallTrackerOrSendEvents),
        live: live(facts),
    };
    let blocker = gates
        .in_order()
        .into_iter()
        .find(|(_, report)| report.status != GateStatus::Pass)
        .map(|(gate, _)| gate);
    let state = match blocker {
        Some(Gate::Profile) => ReadinessState::Draft,
        Some(Gate::Economics | Gate::Payout | Gate::Tracking) => ReadinessState::Configuring,
        Some(Gate::Live) if facts.chain_verified_at.is_some() => ReadinessState::IntegrationVerified,
        Some(Gate::Live) => ReadinessState::Ready,
        None => ReadinessState::LiveVerified,
    };
    Readiness {
        state,
        blocker,
        gates,
    }
}

impl Gates {
    fn in_order(&self) -> [(Gate, GateReport); 5] {
        [
            (Gate::Profile, self.profile),
            (Gate::Economics, self.economics),
            (Gate::Payout, self.payout),
            (Gate::Tracking, self.tracking),
            (Gate::Live, self.live),
        ]
    }
}

fn passes_if(open: bool, next_action: NextAction) -> GateReport {
    if open {
        GateReport {
            status: GateStatus::Pass,
            next_action: None,
        }
    } else {
        GateReport {
            status: GateStatus::Fail,
            next_action: Some(next_action),
        }
    }
}

fn has_profile(facts: &Facts) -> bool {
    let is_given = |text: &str| !text.trim().is_empty();
    is_given(&facts.name) && facts.domain.as_deref().is_some_and(is_given)
}

fn was_heard_of(facts: &Facts) -> bool {
    let LastEvents { click, lead, sale } = facts.last_event_at;
    facts.has_test_events || facts.chain_verified_at.is_some() || click.or(lead).or(sale).is_some()
}

/// Only a real sale passes this gate. After an attributed chain, the advertiser can only wait.
fn live(facts: &Facts) -> GateReport {
    if facts.last_event_at.sale.is_none() && facts.chain_verified_at.is_some() {
        return GateReport {
            status: GateStatus::Unknown,
            next_action: None,
        };
    }
    passes_if(
        facts.last_event_at.sale.is_some(),
        NextAction::RunSyntheticSaleChain,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Option<DateTime<Utc>> {
        DateTime::from_timestamp(second, 0)
    }

    fn nothing() -> Facts {
        Facts {
            name: "Program".to_owned(),
            domain: None,
            has_policy: false,
            processor_connected: false,
            has_test_events: false,
            last_event_at: LastEvents::default(),
            chain_verified_at: None,
        }
    }

    #[test]
    fn each_step_of_the_set_up_moves_the_blocker_to_the_next_gate() {
        use ReadinessState::{Configuring, Draft, IntegrationVerified, LiveVerified, Ready};
        type Step = (fn(&mut Facts), ReadinessState, Option<Gate>);
        let steps: [Step; 7] = [
            (|_| (), Draft, Some(Gate::Profile)),
            (
                |facts| facts.domain = Some("shop.example".to_owned()),
                Configuring,
                Some(Gate::Economics),
            ),
            (|facts| facts.has_policy = true, Configuring, Some(Gate::Payout)),
            (
                |facts| facts.processor_connected = true,
                Configuring,
                Some(Gate::Tracking),
            ),
            (|facts| facts.has_test_events = true, Ready, Some(Gate::Live)),
            (
                |facts| facts.chain_verified_at = at(1),
                IntegrationVerified,
                Some(Gate::Live),
            ),
            (|facts| facts.last_event_at.sale = at(2), LiveVerified, None),
        ];
        let mut facts = nothing();
        for (step, state, blocker) in steps {
            step(&mut facts);
            let readiness = assess(&facts);
            assert_eq!((readiness.state, readiness.blocker), (state, blocker));
        }
    }

    #[test]
    fn a_shut_gate_says_what_opens_it_and_an_open_one_says_nothing() {
        let shut = assess(&nothing()).gates;
        let actions = shut.in_order().map(|(_, report)| report.next_action);
        assert_eq!(
            actions,
            [
                NextAction::CompleteProgramProfile,
                NextAction::SetCommissionPolicy,
                NextAction::SurfaceStripeConnectUrl,
                NextAction::InstallTrackerOrSendEvents,
                NextAction::RunSyntheticSaleChain,
            ]
            .map(Some)
        );
        let proven = Facts {
            chain_verified_at: at(1),
            ..nothing()
        };
        let gates = assess(&proven).gates;
        assert_eq!(gates.tracking.status, GateStatus::Pass);
        assert_eq!(gates.live.status, GateStatus::Unknown);
        assert_eq!(gates.live.next_action, None);
    }

    #[test]
    fn blank_text_is_no_profile() {
        for (name, domain) in [
            (" ", Some("shop.example")),
            ("Program", Some(" ")),
            ("Program", None),
        ] {
            let facts = Facts {
                name: name.to_owned(),
                domain: domain.map(str::to_owned),
                ..nothing()
            };
            assert_eq!(assess(&facts).gates.profile.status, GateStatus::Fail);
        }
    }

    #[test]
    fn any_event_shows_that_tracking_is_installed() {
        let events: [fn(&mut LastEvents); 3] = [
            |events| events.click = at(1),
            |events| events.lead = at(1),
            |events| events.sale = at(1),
        ];
        for happens in events {
            let mut facts = nothing();
            happens(&mut facts.last_event_at);
            assert_eq!(assess(&facts).gates.tracking.status, GateStatus::Pass);
        }
    }
}
