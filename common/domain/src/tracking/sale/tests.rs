use chrono::{TimeDelta, TimeZone};
use proptest::prelude::*;

use super::*;
use crate::earnings::commission::{CommissionType, Rate};
use crate::ids::PolicyId;
use crate::money::BasisPoints;
use crate::tracking::attribution::Touch;

const PROGRAM: ProgramId = ProgramId::new(1);
const ADA: ReferralLinkId = ReferralLinkId::new(11);
const BRUNO: ReferralLinkId = ReferralLinkId::new(12);
/// A second link of Ada.
const ADA_TOO: ReferralLinkId = ReferralLinkId::new(13);

fn start() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 3, 1, 12, 0, 0).unwrap()
}

fn sale() -> Sale {
    Sale {
        transaction_id: TransactionId::parse("t").unwrap(),
        amount: AmountCents::new(10_000).unwrap(),
        commissionable: None,
        currency: Currency::default(),
        customer_key: None,
        click_id: None,
        processor_customer: None,
        sale_type: SaleType::Payment,
        is_recurring: false,
        subscription_id: None,
        subscription_interval: None,
        product_id: None,
        line_items: None,
    }
}

fn terms(attribution_model: AttributionModel) -> ProgramTerms {
    ProgramTerms {
        attribution_model,
        attribution_window: AttributionWindow::new(60).unwrap(),
        self_referrals: SelfReferrals::Flag,
        policies: vec![Policy {
            id: PolicyId::new(1),
            product_id: None,
            effective_from: start(),
            commission_type: CommissionType::CpsLifetime,
            rate: Rate::Percentage(BasisPoints::new(1_001).unwrap()),
        }],
    }
}

fn journey(links: &[ReferralLinkId]) -> Journey {
    let touch = |hour: i64, link: ReferralLinkId| Touch {
        referral_link_id: link,
        clicked_at: start() + TimeDelta::hours(hour),
    };
    let mut journey = Journey::begin(touch(0, links[0]));
    for (hour, link) in links.iter().enumerate().skip(1) {
        journey.touch(touch(i64::try_from(hour).unwrap(), *link));
    }
    journey
}

fn customer(links: &[ReferralLinkId]) -> SaleCustomer {
    SaleCustomer {
        customer_id: CustomerId::new(7),
        program_id: PROGRAM,
        journey: journey(links),
        first_payment_at: None,
    }
}

fn links() -> HashMap<ReferralLinkId, LinkOwner> {
    let owner = |membership, partner| LinkOwner {
        program_id: Some(PROGRAM),
        membership: Some(Membership {
            partner_program_id: PartnerProgramId::new(membership),
            partner_id: Some(PartnerId::new(partner)),
        }),
    };
    HashMap::from([
        (ADA, owner(21, 31)),
        (BRUNO, owner(22, 32)),
        (ADA_TOO, owner(21, 31)),
    ])
}

fn credits(decision: &SaleDecision) -> Vec<(ReferralLinkId, i64)> {
    let SaleDecision::Record(Recording {
        earning: Earning::Commissions { credits, .. },
        ..
    }) = decision
    else {
        panic!("{decision:?}")
    };
    credits
        .iter()
        .map(|credit| (credit.referral_link_id, credit.amount.get()))
        .collect()
}

fn facts<'a>(
    terms: &'a ProgramTerms,
    customer: &'a SaleCustomer,
    links: &'a HashMap<ReferralLinkId, LinkOwner>,
    buying_partners: &'a HashSet<PartnerId>,
) -> SaleFacts<'a> {
    SaleFacts {
        program_id: PROGRAM,
        terms,
        archived_at: None,
        claimed_at: start(),
        customer: Some(customer),
        subscription: None,
        links,
        buying_partners,
    }
}

fn decided(
    model: AttributionModel,
    customer: &SaleCustomer,
    links: &HashMap<ReferralLinkId, LinkOwner>,
) -> SaleDecision {
    let (terms, no_buyers) = (terms(model), HashSet::new());
    let facts = facts(&terms, customer, links, &no_buyers);
    decide(&sale(), start() + TimeDelta::days(1), &facts)
}

#[test]
fn each_model_credits_its_partner() {
    let customer = customer(&[ADA, BRUNO]);
    let by = |model| credits(&decided(model, &customer, &links()));
    assert_eq!(by(AttributionModel::LastClick), [(BRUNO, 1001)]);
    assert_eq!(by(AttributionModel::FirstClick), [(ADA, 1001)]);
    assert_eq!(by(AttributionModel::Linear), [(ADA, 500), (BRUNO, 501)]);
}

#[test]
fn two_links_of_one_partner_are_one_share_at_the_later_click() {
    let customer = customer(&[ADA, BRUNO, ADA_TOO]);
    let credits = credits(&decided(AttributionModel::Linear, &customer, &links()));
    assert_eq!(credits, [(BRUNO, 500), (ADA_TOO, 501)]);
}

#[test]
fn refusals_come_in_order() {
    let (terms, links, no_buyers) = (terms(AttributionModel::LastClick), links(), HashSet::new());
    let ours = customer(&[ADA]);
    let stranger = SaleCustomer {
        program_id: ProgramId::new(2),
        ..ours.clone()
    };
    let unjoined = LinkOwner {
        program_id: Some(PROGRAM),
        membership: None,
    };
    let (no_links, unjoined) = (HashMap::new(), HashMap::from([(ADA, unjoined)]));
    for (customer, links, refusal) in [
        (None, &links, SaleRefusal::CustomerNotFound),
        (Some(&stranger), &links, SaleRefusal::NoAttribution),
        (Some(&ours), &no_links, SaleRefusal::NoAttribution),
        (Some(&ours), &unjoined, SaleRefusal::NoRelationship),
    ] {
        let facts = SaleFacts {
            customer,
            ..facts(&terms, &ours, links, &no_buyers)
        };
        let decision = decide(&sale(), start() + TimeDelta::days(1), &facts);
        assert_eq!(decision, SaleDecision::Refuse(refusal));
    }
}

#[test]
fn a_membership_without_its_partner_keeps_the_sale_and_earns_nothing() {
    let mut links = links();
    let ada = links.get_mut(&ADA).unwrap();
    ada.membership.as_mut().unwrap().partner_id = None;
    let decision = decided(AttributionModel::LastClick, &customer(&[ADA]), &links);
    let SaleDecision::Record(Recording { earning, .. }) = decision else {
        panic!("{decision:?}")
    };
    assert_eq!(earning, Earning::PartnerMissing);
}

#[test]
fn an_archived_program_takes_what_was_paid_and_claimed_before_and_nothing_else() {
    let (customer, links, terms) = (customer(&[ADA]), links(), terms(AttributionModel::LastClick));
    let (no_buyers, archived_at) = (HashSet::new(), start() + TimeDelta::days(1));
    let of = |paid: TimeDelta, claimed: TimeDelta| {
        let facts = SaleFacts {
            archived_at: Some(archived_at),
            claimed_at: archived_at + claimed,
            ..facts(&terms, &customer, &links, &no_buyers)
        };
        decide(&sale(), archived_at + paid, &facts)
    };
    let before = TimeDelta::milliseconds(-1);
    let (then, later) = (TimeDelta::zero(), TimeDelta::hours(1));
    assert!(matches!(of(before, before), SaleDecision::Record(_)));
    for (paid, claimed) in [
        (then, then),
        (before, then),
        (before, later),
        (then, before),
        (later, later),
    ] {
        let refused = SaleDecision::Refuse(SaleRefusal::ProgramArchived);
        assert_eq!(of(paid, claimed), refused, "{paid} {claimed}");
    }
}

#[test]
fn the_window_ends_after_exactly_its_days() {
    let (customer, links, terms) = (customer(&[ADA]), links(), terms(AttributionModel::LastClick));
    let no_buyers = HashSet::new();
    let facts = facts(&terms, &customer, &links, &no_buyers);
    let edge = start() + TimeDelta::days(60);
    assert!(matches!(decide(&sale(), edge, &facts), SaleDecision::Record(_)));
    assert_eq!(
        decide(&sale(), edge + TimeDelta::milliseconds(1), &facts),
        SaleDecision::WindowExpired {
            click_age_days: 60,
            window_days: 60
        }
    );
}

#[test]
fn a_renewal_stays_with_the_first_sales_partner_and_click() {
    let (customer, links, terms) = (
        customer(&[ADA, BRUNO]),
        links(),
        terms(AttributionModel::LastClick),
    );
    let subscription = Subscription {
        first: Some(FirstPayment {
            at: start(),
            first_click_at: start() - TimeDelta::days(59),
            credited_links: vec![ADA],
        }),
        ..Subscription::default()
    };
    let no_buyers = HashSet::new();
    let facts = SaleFacts {
        subscription: Some(&subscription),
        ..facts(&terms, &customer, &links, &no_buyers)
    };
    let renewal = Sale {
        is_recurring: true,
        subscription_id: Some(SubscriptionId::parse("s").unwrap()),
        ..sale()
    };
    let in_time = start() + TimeDelta::hours(20);
    assert_eq!(credits(&decide(&renewal, in_time, &facts)), [(ADA, 1001)]);
    let late = start() + TimeDelta::days(2);
    let expired = decide(&renewal, late, &facts);
    assert!(matches!(expired, SaleDecision::WindowExpired { .. }));
    let ended = |after: TimeDelta| Subscription {
        ended_at: Some(start() + after),
        ..subscription.clone()
    };
    let (before, at) = (ended(TimeDelta::hours(19)), ended(TimeDelta::hours(20)));
    let renewed_of = |subscription| {
        let facts = SaleFacts {
            subscription: Some(subscription),
            ..facts
        };
        decide(&renewal, in_time, &facts)
    };
    assert!(matches!(
        renewed_of(&before),
        SaleDecision::Record(Recording {
            earning: Earning::Nothing(NothingDue::SubscriptionEnded),
            ..
        })
    ));
    assert_eq!(credits(&renewed_of(&at)), [(ADA, 1001)]);
    let unrelated = Sale {
        is_recurring: false,
        ..renewal
    };
    assert_eq!(credits(&decide(&unrelated, late, &facts)), [(BRUNO, 1001)]);
}

proptest! {
    #[test]
    fn shares_always_add_up_to_the_commission(path in proptest::collection::vec(prop_oneof![Just(ADA), Just(BRUNO), Just(ADA_TOO)], 1..8)) {
        let customer = customer(&path);
        for model in AttributionModel::ALL {
            let credits = credits(&decided(model, &customer, &links()));
            prop_assert_eq!(credits.iter().map(|(_, cents)| cents).sum::<i64>(), 1001);
        }
    }
}

#[test]
fn a_partners_own_purchase_earns_them_nothing_where_the_program_refuses_it() {
    let (customer, links) = (customer(&[ADA, BRUNO]), links());
    let ada = HashSet::from([links[&ADA].membership.unwrap().partner_id.unwrap()]);
    let paid = |model, self_referrals| {
        let terms = ProgramTerms {
            self_referrals,
            ..terms(model)
        };
        let facts = facts(&terms, &customer, &links, &ada);
        decide(&sale(), start() + TimeDelta::days(1), &facts)
    };
    let both = credits(&paid(AttributionModel::Linear, SelfReferrals::Flag));
    assert_eq!(both.len(), 2);
    // The other partner earns the whole commission.
    let other = credits(&paid(AttributionModel::Linear, SelfReferrals::Refuse));
    let whole: i64 = both.iter().map(|(_, amount)| amount).sum();
    assert_eq!(other, [(BRUNO, whole)]);
    let own = SaleDecision::Record(Recording {
        credited_links: vec![ADA],
        earning: Earning::Nothing(NothingDue::SelfReferral),
    });
    assert_eq!(paid(AttributionModel::FirstClick, SelfReferrals::Refuse), own);
}
