//! Decides a customer's recorded sales again, after an earlier click, payment or start of a subscription
//! became known.
//!
//! Events arrive in any order, and each sale is decided at once with the facts known at that time. A
//! reassessment repeats the decisions in the order of the sales' times. Each decision uses only what happened
//! before the sale.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use crate::earnings::commission::SelfReferrals;
use crate::ids::{PartnerId, ReferralLinkId, SaleId};
use crate::text::SubscriptionId;
use crate::tracking::attribution::AttributionModel;
use crate::tracking::sale::{
    FirstPayment, LinkOwner, ProgramTerms, Recording, Sale, SaleCustomer, SaleDecision, SaleFacts,
    Subscription, decide,
};

#[derive(Debug, Clone)]
pub struct RecordedSale {
    pub sale_id: SaleId,
    pub sale: Sale,
    pub at: DateTime<Utc>,
    /// The program's model when the sale was recorded.
    pub model: AttributionModel,
    /// The program's setting when the sale was recorded.
    pub self_referrals: SelfReferrals,
}

#[derive(Debug, Default)]
pub struct Reassessment {
    /// The new decision on each sale. A sale that would now be refused is omitted and stays unchanged,
    /// because its caller already has an answer.
    pub recordings: Vec<(SaleId, Recording)>,
    /// The first payments of the subscriptions in these sales, each with its sale.
    pub first_payments: HashMap<SubscriptionId, (SaleId, FirstPayment)>,
}

/// The state of a customer before the sales to be reassessed.
#[derive(Debug)]
pub struct Earlier<'a> {
    pub customer: SaleCustomer,
    pub subscriptions: HashMap<SubscriptionId, Subscription>,
    pub terms: &'a ProgramTerms,
    pub links: &'a HashMap<ReferralLinkId, LinkOwner>,
    /// Partners who are the customer themselves.
    pub buying_partners: &'a HashSet<PartnerId>,
}

/// Repeats the decisions on all sales of a customer since some moment.
pub fn reassess(earlier: Earlier<'_>, mut sales: Vec<RecordedSale>) -> Reassessment {
    let Earlier {
        mut customer,
        mut subscriptions,
        terms,
        links,
        buying_partners,
    } = earlier;
    // Payments of the same second need a fixed order that does not depend on arrival.
    sales.sort_by(|a, b| (a.at, a.sale.transaction_id.as_str()).cmp(&(b.at, b.sale.transaction_id.as_str())));
    let mut reassessment = Reassessment::default();
    for recorded in sales {
        let terms = ProgramTerms {
            attribution_model: recorded.model,
            self_referrals: recorded.self_referrals,
            ..terms.clone()
        };
        let named = recorded.sale.subscription_id.clone();
        let facts = SaleFacts {
            program_id: customer.program_id,
            terms: &terms,
            // The sale is already recorded, so a later archiving of the program does not matter.
            archived_at: None,
            claimed_at: recorded.at,
            customer: Some(&customer),
            subscription: named.as_ref().and_then(|id| subscriptions.get(id)),
            links,
            buying_partners,
        };
        let decision = decide(&recorded.sale, recorded.at, &facts);
        customer.first_payment_at = customer.first_payment_at.or(Some(recorded.at));
        let SaleDecision::Record(recording) = decision else {
            continue;
        };
        if let Some(id) = named
            && let Some(first) = first_payment(&customer, &recorded, &recording)
        {
            let subscription = subscriptions.entry(id.clone()).or_default();
            if subscription.first.is_none() {
                subscription.first = Some(first.clone());
                reassessment.first_payments.insert(id, (recorded.sale_id, first));
            }
        }
        reassessment.recordings.push((recorded.sale_id, recording));
    }
    reassessment
}

fn first_payment(
    customer: &SaleCustomer,
    recorded: &RecordedSale,
    recording: &Recording,
) -> Option<FirstPayment> {
    let journey = customer.journey.at_payment(recorded.at)?;
    Some(FirstPayment {
        at: recorded.at,
        first_click_at: journey.first().clicked_at,
        credited_links: recording.credited_links.clone(),
    })
}
