//! Judging a customer's recorded sales again, after an earlier click, payment or start of a subscription became known.
//!
//! Events arrive in any order, and each sale is decided at once by what is known then. This repeats the decisions in the order of
//! the sales' own times, each by what came before it.

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

/// A sale as it was recorded.
#[derive(Debug, Clone)]
pub struct RecordedSale {
    pub sale_id: SaleId,
    pub sale: Sale,
    pub at: DateTime<Utc>,
    /// The program's at the time it was recorded.
    pub model: AttributionModel,
    /// The program's at that time.
    pub self_referrals: SelfReferrals,
}

/// The decisions as they should have been.
#[derive(Debug, Default)]
pub struct Reassessment {
    /// The new decision on each sale. A sale that would be refused now is left out and stays unchanged: its caller was answered.
    pub recordings: Vec<(SaleId, Recording)>,
    /// The first payments of the subscriptions that these sales name, each with its sale.
    pub first_payments: HashMap<SubscriptionId, (SaleId, FirstPayment)>,
}

/// The state of a customer before the sales that are judged again.
#[derive(Debug)]
pub struct Earlier<'a> {
    pub customer: SaleCustomer,
    pub subscriptions: HashMap<SubscriptionId, Subscription>,
    pub terms: &'a ProgramTerms,
    pub links: &'a HashMap<ReferralLinkId, LinkOwner>,
    /// Partners who are the customer themselves.
    pub buying_partners: &'a HashSet<PartnerId>,
}

/// Repeats the decisions on all of a customer's sales since some moment.
pub fn reassess(earlier: Earlier<'_>, mut sales: Vec<RecordedSale>) -> Reassessment {
    let Earlier {
        mut customer,
        mut subscriptions,
        terms,
        links,
        buying_partners,
    } = earlier;
    // Two payments of one second have an order too, which is not that of their arrival.
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
            // It was recorded: what was archived since changes nothing.
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
