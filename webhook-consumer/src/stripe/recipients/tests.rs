use domain::money::{AmountCents, Currency};
use domain::text::{CustomerKey, SubscriptionId};
use domain::tracking::sale::SaleType;
use proptest::prelude::*;

use super::*;

fn id(text: &str) -> ProcessorId {
    ProcessorId::parse(text).unwrap()
}

fn program(number: i64) -> ProgramId {
    ProgramId::new(number)
}

fn own() -> Endpoint {
    Endpoint::Program {
        program_id: program(1),
        account_id: id("acct_1"),
    }
}

/// An endpoint whose account has programs that take sales, and archived ones.
fn distributor(taking_sales: &[i64], archived: &[i64]) -> Endpoint {
    Endpoint::Distributor(BoundPrograms {
        taking_sales: taking_sales.iter().copied().map(program).collect(),
        archived: archived.iter().copied().map(program).collect(),
    })
}

fn sale() -> Sale {
    Sale {
        transaction_id: id("pi_1"),
        amount: AmountCents::new(500).unwrap(),
        commissionable: None,
        currency: Currency::USD,
        customer_key: Some(CustomerKey::parse("user-1").unwrap()),
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

fn translated(sale: Option<Sale>, program: Option<ProgramId>) -> TranslatedEvent {
    TranslatedEvent {
        sale,
        program,
        references: vec![id("cs_1"), id("pi_1")],
        ..TranslatedEvent::default()
    }
}

/// Of each share: the program, the state, whether it has a sale, and whether it has payment facts.
fn shown(shares: &[Share]) -> Vec<(Option<i64>, &'static str, bool, bool)> {
    let state = |disposition: &Disposition| match disposition {
        Disposition::Open { .. } => "open",
        Disposition::Ignored(_) => "ignored",
        Disposition::Review(_) => "review",
        Disposition::Stuck(_) => "stuck",
    };
    let show = |share: &Share| {
        (
            share.program_id.map(ProgramId::get),
            state(&share.disposition),
            share.sale.is_some(),
            share.payment.is_some(),
        )
    };
    shares.iter().map(show).collect()
}

const OPEN: &str = "open";
const STUCK: &str = "stuck";

/// Asserts to whom an event without an account goes.
#[track_caller]
fn goes_to(
    endpoint: &Endpoint,
    event: TranslatedEvent,
    expected: &[(Option<i64>, &'static str, bool, bool)],
) {
    assert_eq!(shown(&shares(Ok(event), None, endpoint)), expected);
}

fn sold(named: Option<i64>) -> TranslatedEvent {
    translated(Some(sale()), named.map(program))
}

fn facts(named: Option<i64>) -> TranslatedEvent {
    translated(None, named.map(program))
}

#[test]
fn at_a_programs_own_endpoint_everything_is_the_programs() {
    let account = id("acct_1");
    for (event, has_sale) in [(sold(None), true), (sold(Some(1)), true), (facts(Some(2)), false)] {
        let shares = shares(Ok(event), Some(&account), &own());
        assert_eq!(shown(&shares), [(Some(1), OPEN, has_sale, true)]);
    }
}

#[test]
fn a_sale_for_another_program_is_kept_back() {
    goes_to(&own(), sold(Some(2)), &[(Some(1), STUCK, false, false)]);
}

#[test]
fn an_event_of_another_account_is_kept_back() {
    let foreign = id("acct_2");
    let by_envelope = shares(Ok(facts(None)), Some(&foreign), &own());
    assert_eq!(shown(&by_envelope), [(Some(1), STUCK, false, false)]);
    let about = TranslatedEvent {
        account: Some(foreign),
        ..translated(None, None)
    };
    goes_to(&own(), about, &[(Some(1), STUCK, false, false)]);
}

#[test]
fn what_is_for_nobody_is_kept_until_its_account_is_known() {
    let no_programs = distributor(&[], &[]);
    goes_to(&no_programs, sold(None), &[(None, STUCK, false, false)]);
    let ignored = shares(Err(Untranslated::Ignored("nothing")), None, &no_programs);
    assert_eq!(shown(&ignored), [(None, "ignored", false, false)]);
}

#[test]
fn an_account_of_several_programs_tells_all_of_them_but_sells_to_the_one_it_names() {
    let several = distributor(&[1, 2], &[]);
    goes_to(&several, sold(Some(2)), &[(Some(2), OPEN, true, true)]);
    let [first, second] = [1, 2].map(|program| (Some(program), OPEN, false, true));
    for named in [None, Some(3)] {
        goes_to(
            &several,
            sold(named),
            &[first, second, (None, STUCK, false, false)],
        );
        goes_to(&several, facts(named), &[first, second]);
    }
    let both = [1, 2].map(|program| (Some(program), "review", false, false));
    let review = shares(Err(Untranslated::Review("look")), None, &several);
    assert_eq!(shown(&review), both);
}

#[test]
fn an_account_of_one_program_names_it() {
    let one = distributor(&[1], &[]);
    for named in [None, Some(1)] {
        goes_to(&one, sold(named), &[(Some(1), OPEN, true, true)]);
    }
    let kept_back = [(Some(1), OPEN, false, true), (None, STUCK, false, false)];
    goes_to(&one, sold(Some(2)), &kept_back);
}

#[test]
fn one_name_alone_is_nothing_to_tell_of_a_payment() {
    let alone = TranslatedEvent {
        references: vec![id("in_1")],
        ..translated(Some(sale()), None)
    };
    goes_to(&own(), alone, &[(Some(1), OPEN, true, false)]);
}

#[test]
fn an_archived_program_stands_in_no_ones_way_and_is_told_what_was_taken_back() {
    let one_left = distributor(&[2], &[1]);
    let archived = (Some(1), OPEN, false, true);
    goes_to(&one_left, sold(None), &[(Some(2), OPEN, true, true), archived]);
    goes_to(&one_left, facts(None), &[(Some(2), OPEN, false, true), archived]);
    for named in [1, 2] {
        goes_to(&one_left, sold(Some(named)), &[(Some(named), OPEN, true, true)]);
    }
    // If only archived programs are left, the sale goes to one that will refuse it.
    let none_left = distributor(&[], &[1]);
    goes_to(&none_left, sold(None), &[(Some(1), OPEN, true, true)]);
}

proptest! {
    #[test]
    fn no_sale_goes_to_two_programs_and_no_event_is_lost(
        bound in prop::collection::btree_set(1i64..6, 0..4), named in prop::option::of(1i64..8), has_sale: bool, has_fact: bool,
    ) {
        let fact = has_fact.then(|| PaymentFact::SubscriptionEnded {
            subscription_id: SubscriptionId::parse("sub_1").unwrap(),
        });
        let translated = TranslatedEvent { fact, ..translated(has_sale.then(sale), named.map(program)) };
        let programs: Vec<i64> = bound.iter().copied().collect();
        let endpoint = distributor(&programs, &[]);
        let shares = shares(Ok(translated), None, &endpoint);
        prop_assert!(!shares.is_empty());
        let sold: Vec<_> = shares.iter().filter(|share| share.sale.is_some()).collect();
        prop_assert!(sold.len() <= 1);
        for share in &sold {
            let program_id = share.program_id.unwrap().get();
            prop_assert!(bound.contains(&program_id));
            prop_assert!(named.is_none_or(|named| named == program_id));
        }
        let stuck = shares.iter().filter(|share| matches!(share.disposition, Disposition::Stuck(_))).count();
        prop_assert_eq!(stuck, usize::from(bound.is_empty() || has_sale && sold.is_empty()));
    }
}
