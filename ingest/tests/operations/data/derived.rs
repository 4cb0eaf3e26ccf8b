//! The operator's command line recomputes counters and sums from events and the ledger, whatever their
//! previous values.

use test_harness::{Stack, sale_of, succeeds};

#[tokio::test(flavor = "multi_thread")]
async fn balances_and_counters_are_computed_anew_while_sales_and_clicks_go_on() {
    let (stack, program) = Stack::with_customer().await;
    let sell = async |id: String| {
        stack.sold(&program, sale_of(&id, "user-1")).await;
    };
    sell("before".to_owned()).await;
    stack.verify().await;
    let right = succeeds(&stack, "balances rebuild").await;
    assert_eq!(right.out.trim(), "balances rebuilt, 0 were wrong");
    let right = succeeds(&stack, "counters rebuild").await;
    assert_eq!(right.out.trim(), "counters rebuilt, 0 were wrong");

    for damage in [
        "UPDATE partner_program_balances SET balance_cents = balance_cents + 7",
        "DELETE FROM partner_balances",
        "INSERT INTO partner_balances VALUES (4711, 'USD', 5)",
        "UPDATE referral_links SET clicks = clicks + 3",
        "UPDATE partner_programs SET clicks = 0, last_clicked = NULL",
    ] {
        stack.execute(damage).await;
    }
    let traffic = async {
        for number in 0..20 {
            sell(format!("during-{number}")).await;
            stack
                .customer(&program, &program.ada.code, &format!("visitor-{number}"))
                .await;
        }
    };
    let rebuilt = async {
        let balances = succeeds(&stack, "balances rebuild").await;
        let counters = succeeds(&stack, "counters rebuild").await;
        (balances.out, counters.out)
    };
    let ((), (balances, counters)) = tokio::join!(traffic, rebuilt);
    assert_eq!(balances.trim(), "balances rebuilt, 3 were wrong");
    // The counters of both links, and of the one membership that had a click.
    assert_eq!(counters.trim(), "counters rebuilt, 3 were wrong");
    stack.verify().await;
}
