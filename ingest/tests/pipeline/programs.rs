use serde_json::{Value, json};
use test_harness::{Answer, Json, Stack, noon};

mod credentials;
mod limits;
mod test_chain;
mod test_mode;
mod tracking_tokens;

/// Asserts that an answer announces the rotation of its key, marked at noon and due thirty days later.
fn announces_rotation(answer: &Answer) {
    assert_eq!(answer.header("deprecation"), format!("@{}", noon().timestamp()));
    assert_eq!(answer.header("sunset"), "Tue, 31 Mar 2026 12:00:00 GMT");
    assert!(answer.header("link").contains("rel=\"deprecation\""));
    let code = "api_key_rotation_required";
    answer.body["warnings"][0].has(json!({ "code": code, "rotate_by": "2026-03-31T12:00:00.000Z" }));
}

/// Everything that a user of the service could see, and everything that would send or pay something.
async fn books(stack: &Stack) -> Value {
    stack
        .value(
            "SELECT jsonb_build_object(
                'programs', (SELECT jsonb_agg(r ORDER BY r.id) FROM programs r),
                'links', (SELECT jsonb_agg(r ORDER BY r.id) FROM referral_links r),
                'memberships', (SELECT jsonb_agg(r ORDER BY r.id) FROM partner_programs r),
                'customers', (SELECT jsonb_agg(r ORDER BY r.id) FROM customers r),
                'clicks', (SELECT jsonb_agg(r ORDER BY r.id) FROM click_events r WHERE NOT is_test),
                'leads', (SELECT jsonb_agg(r ORDER BY r.id) FROM lead_events r WHERE NOT is_test),
                'sales', (SELECT jsonb_agg(r ORDER BY r.id) FROM sale_events r WHERE NOT is_test),
                'claims', (SELECT jsonb_agg(r ORDER BY r.transaction_id) FROM transaction_claims r),
                'commissions', (SELECT jsonb_agg(r ORDER BY r.id) FROM commissions r),
                'subscriptions', (SELECT jsonb_agg(r ORDER BY r.subscription_id) FROM subscriptions r),
                'refunds', (SELECT jsonb_agg(r ORDER BY r.id) FROM refunds r),
                'refused', (SELECT count(*) FROM refused_events),
                'parked', (SELECT count(*) FROM parked_refunds),
                'ledger', (SELECT jsonb_agg(r ORDER BY r.id) FROM ledger_entries r),
                'balances', (SELECT jsonb_agg(r ORDER BY r.partner_program_id)
                             FROM partner_program_balances r),
                'partner_balances', (SELECT jsonb_agg(r ORDER BY r.partner_id) FROM partner_balances r),
                'notifications', (SELECT count(*) FROM notifications) + (SELECT count(*) FROM outbox),
                'dead_letters', (SELECT count(*) FROM dead_letters))",
        )
        .await
}
