//! A sale: a reported payment, and the decision which partners earn what.
//!
//! The checks run in this order, and the first refusal ends them: archived program, customer, attribution,
//! relationship, window, partner, commission. A refusal up to the window stores nothing; after the window the
//! sale is stored.
//!
//! A sale is decided as of its payment time, whenever it is processed: with the clicks up to that time and
//! the payments before it.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::earnings::commission::{
    Due, NothingDue, PaymentHistory, Policy, SelfReferrals, due, policy_in_force,
};
use crate::ids::{CustomerId, PartnerId, PartnerProgramId, ProgramId, ReferralLinkId};
use crate::money::{AmountCents, Cents, CommissionableCents, Currency, split_evenly};
use crate::processors::processor::ProcessorId;
use crate::text::{CustomerKey, ProductId, SubscriptionId, TransactionId};
use crate::tracking::attribution::{
    AttributionModel, AttributionWindow, Journey, WindowVerdict, distinct_in_order,
};
use crate::tracking::click_id::ClickId;

/// A sale as the caller reported it, valid in form.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sale {
    pub transaction_id: TransactionId,
    pub amount: AmountCents,
    /// The commissionable part, if it is not the whole amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commissionable: Option<CommissionableCents>,
    pub currency: Currency,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customer_key: Option<CustomerKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub click_id: Option<ClickId>,
    /// The processor's customer. It identifies the payer if neither `customer_key` nor `click_id` does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor_customer: Option<ProcessorId>,
    pub sale_type: SaleType,
    pub is_recurring: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription_id: Option<SubscriptionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription_interval: Option<SubscriptionInterval>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product_id: Option<ProductId>,
    /// A JSON object or array, stored as sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_items: Option<Box<RawValue>>,
}

impl Sale {
    /// The amount that percentages apply to. Revenue and refunds use the whole amount.
    pub fn commissionable_amount(&self) -> Cents {
        let whole = self.amount.get();
        let part = self.commissionable.map_or(whole, CommissionableCents::get);
        Cents::new(part.min(whole))
    }
}

crate::text_enum! {
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SaleType {
        #[default]
        Payment = "payment",
        Subscription = "subscription",
    }

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SubscriptionInterval {
        Monthly = "monthly",
        Quarterly = "quarterly",
        Annual = "annual",
    }
}

#[derive(Debug, Clone)]
pub struct ProgramTerms {
    pub attribution_model: AttributionModel,
    pub attribution_window: AttributionWindow,
    pub policies: Vec<Policy>,
    pub self_referrals: SelfReferrals,
}

#[derive(Debug, Clone)]
pub struct SaleCustomer {
    pub customer_id: CustomerId,
    pub program_id: ProgramId,
    /// All clicks. The decision ignores clicks after the sale.
    pub journey: Journey,
    /// The earliest payment made before this sale, in any order of arrival.
    pub first_payment_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subscription {
    /// The earliest known payment.
    pub first: Option<FirstPayment>,
    /// The start of a subscription that began without a payment, by a trial or a full discount.
    pub started_at: Option<DateTime<Utc>>,
    /// The end of the subscription at the processor.
    pub ended_at: Option<DateTime<Utc>>,
}

/// The first payment of a subscription. Its renewals depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstPayment {
    pub at: DateTime<Utc>,
    /// The click that starts the attribution window of every renewal.
    pub first_click_at: DateTime<Utc>,
    pub credited_links: Vec<ReferralLinkId>,
}

impl Subscription {
    /// The subscription without a first payment at this moment or later.
    #[must_use]
    pub fn before(&self, at: DateTime<Utc>) -> Self {
        Self {
            first: self.first.clone().filter(|first| first.at < at),
            ..self.clone()
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkOwner {
    pub program_id: Option<ProgramId>,
    pub membership: Option<Membership>,
}

/// A partner-program record. The partner's account may no longer exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Membership {
    pub partner_program_id: PartnerProgramId,
    pub partner_id: Option<PartnerId>,
}

#[derive(Debug, Clone, Copy)]
pub struct SaleFacts<'a> {
    pub program_id: ProgramId,
    pub terms: &'a ProgramTerms,
    /// An archived program accepts only sales that were paid and claimed before this time.
    pub archived_at: Option<DateTime<Utc>>,
    pub claimed_at: DateTime<Utc>,
    pub customer: Option<&'a SaleCustomer>,
    /// The subscription that the sale names, as it was before the sale.
    pub subscription: Option<&'a Subscription>,
    pub links: &'a HashMap<ReferralLinkId, LinkOwner>,
    /// Partners who are the customer themselves, according to their addresses.
    pub buying_partners: &'a HashSet<PartnerId>,
}

/// Why a sale is not stored. Its transaction_id becomes free again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SaleRefusal {
    ProgramArchived,
    CustomerNotFound,
    NoAttribution,
    NoRelationship,
    /// The payment was made before the customer's first click. The API answers with
    /// [`SaleRefusal::NoAttribution`].
    BeforeFirstClick,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SaleDecision {
    Refuse(SaleRefusal),
    /// A success for the caller, but neither a sale nor a commission is stored.
    WindowExpired {
        click_age_days: i64,
        window_days: u16,
    },
    Record(Recording),
}

/// A stored sale and its earnings.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// The credited links in the model's order. Renewals of the subscription will credit the same links.
    pub credited_links: Vec<ReferralLinkId>,
    pub earning: Earning,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Earning {
    /// One commission for each credit. The answer names the last one.
    Commissions {
        credits: Vec<Credit>,
        currency: Currency,
        policy: Policy,
    },
    Nothing(NothingDue),
    /// The membership has no partner to pay. The sale is stored, and the caller gets an error.
    PartnerMissing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credit {
    pub referral_link_id: ReferralLinkId,
    pub partner_program_id: PartnerProgramId,
    pub partner_id: PartnerId,
    pub amount: Cents,
}

pub fn decide(sale: &Sale, at: DateTime<Utc>, facts: &SaleFacts<'_>) -> SaleDecision {
    if facts
        .archived_at
        .is_some_and(|archived_at| at.max(facts.claimed_at) >= archived_at)
    {
        return SaleDecision::Refuse(SaleRefusal::ProgramArchived);
    }
    let Some(customer) = facts.customer else {
        return SaleDecision::Refuse(SaleRefusal::CustomerNotFound);
    };
    if customer.program_id != facts.program_id {
        return SaleDecision::Refuse(SaleRefusal::NoAttribution);
    }
    let Some(journey) = customer.journey.at_payment(at) else {
        return SaleDecision::Refuse(SaleRefusal::BeforeFirstClick);
    };
    let model = facts.terms.attribution_model;
    // A renewal keeps the links and the first click of the subscription's start.
    let renewed = facts
        .subscription
        .filter(|_| sale.is_recurring)
        .and_then(|subscription| beginning(subscription, model, customer, at));
    let (credited_links, anchor) =
        renewed.unwrap_or_else(|| (model.credited(&journey), journey.first().clicked_at));
    let owners = owners_in_program(&credited_links, facts);
    if owners.is_empty() {
        return SaleDecision::Refuse(SaleRefusal::NoAttribution);
    }
    let members = memberships(&owners);
    if members.is_empty() {
        return SaleDecision::Refuse(SaleRefusal::NoRelationship);
    }
    if let WindowVerdict::Expired {
        click_age_days,
        window_days,
    } = facts.terms.attribution_window.judge(anchor, at)
    {
        return SaleDecision::WindowExpired {
            click_age_days,
            window_days,
        };
    }
    SaleDecision::Record(Recording {
        earning: earning(sale, at, facts, customer, &members),
        credited_links,
    })
}

/// The links that a subscription credits since its first payment, and the click that starts its window.
fn beginning(
    subscription: &Subscription,
    model: AttributionModel,
    customer: &SaleCustomer,
    at: DateTime<Utc>,
) -> Option<(Vec<ReferralLinkId>, DateTime<Utc>)> {
    if let Some(first) = &subscription.first {
        return Some((first.credited_links.clone(), first.first_click_at));
    }
    let started_at = subscription.started_at.filter(|started_at| *started_at <= at)?;
    let journey = customer.journey.at_payment(started_at)?;
    Some((model.credited(&journey), journey.first().clicked_at))
}

fn earning(
    sale: &Sale,
    at: DateTime<Utc>,
    facts: &SaleFacts<'_>,
    customer: &SaleCustomer,
    members: &[(ReferralLinkId, Membership)],
) -> Earning {
    let payees: Vec<(ReferralLinkId, PartnerProgramId, PartnerId)> = members
        .iter()
        .filter_map(|(link, member)| {
            member
                .partner_id
                .map(|partner| (*link, member.partner_program_id, partner))
        })
        .collect();
    if payees.is_empty() {
        return Earning::PartnerMissing;
    }
    let refuses = facts.terms.self_referrals == SelfReferrals::Refuse;
    let payees: Vec<_> = payees
        .into_iter()
        .filter(|(.., partner)| !(refuses && facts.buying_partners.contains(partner)))
        .collect();
    let Some(shares) = std::num::NonZeroUsize::new(payees.len()) else {
        return Earning::Nothing(NothingDue::SelfReferral);
    };
    let history = PaymentHistory {
        customer_first_payment_at: customer.first_payment_at,
        subscription_first_payment_at: facts
            .subscription
            .and_then(|subscription| subscription.first.as_ref())
            .map(|first| first.at),
        names_subscription: sale.subscription_id.is_some(),
    };
    let ended_at = facts.subscription.and_then(|subscription| subscription.ended_at);
    if sale.is_recurring && ended_at.is_some_and(|ended_at| at > ended_at) {
        return Earning::Nothing(NothingDue::SubscriptionEnded);
    }
    let policy = policy_in_force(
        &facts.terms.policies,
        sale.product_id.as_ref().map(ProductId::as_str),
        at,
    );
    match (
        due(policy, sale.commissionable_amount(), sale.currency, &history, at),
        policy,
    ) {
        (Due::Amount { amount, currency }, Some(policy)) => Earning::Commissions {
            credits: payees
                .into_iter()
                .zip(split_evenly(amount, shares))
                .map(
                    |((referral_link_id, partner_program_id, partner_id), amount)| Credit {
                        referral_link_id,
                        partner_program_id,
                        partner_id,
                        amount,
                    },
                )
                .collect(),
            currency,
            policy: policy.clone(),
        },
        (Due::Nothing(reason), _) => Earning::Nothing(reason),
        (Due::Amount { .. }, None) => Earning::Nothing(NothingDue::NoPolicy),
    }
}

fn owners_in_program(
    credited_links: &[ReferralLinkId],
    facts: &SaleFacts<'_>,
) -> Vec<(ReferralLinkId, LinkOwner)> {
    credited_links
        .iter()
        .filter_map(|link| facts.links.get(link).map(|owner| (*link, *owner)))
        .filter(|(_, owner)| owner.program_id == Some(facts.program_id))
        .collect()
}

/// One entry for each membership, at its latest link. Two links of one partner earn one share.
fn memberships(owners: &[(ReferralLinkId, LinkOwner)]) -> Vec<(ReferralLinkId, Membership)> {
    let by_link: Vec<(ReferralLinkId, Membership)> = owners
        .iter()
        .filter_map(|(link, owner)| owner.membership.map(|member| (*link, member)))
        .collect();
    let ids: Vec<PartnerProgramId> = by_link
        .iter()
        .map(|(_, member)| member.partner_program_id)
        .collect();
    distinct_in_order(&ids)
        .into_iter()
        .filter_map(|id| {
            by_link
                .iter()
                .rev()
                .find(|(_, member)| member.partner_program_id == id)
                .copied()
        })
        .collect()
}

#[cfg(test)]
mod tests;
