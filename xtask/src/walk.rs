//! The walk through the funnel that `dev` prints, ready to paste into a shell.

use std::path::Path;

use harness::env_file::shell_word;

/// The whole funnel as shell commands. `env` is the dotenv file, `psql` the client to look at the tables with.
///
/// Each run uses its own customer and transaction, so it can be pasted again; nothing but curl and sed is needed.
pub(crate) fn commands(env: &Path, psql: &Path) -> String {
    FUNNEL
        .replace("{env}", &shell_word(&env.display().to_string()))
        .replace("{psql}", &shell_word(&psql.display().to_string()))
}

const FUNNEL: &str = r#"
. {env}
RUN=$(date +%s)
post() { curl -sS "$BASE_URL/api/v1/track/$1" -H 'Content-Type: application/json' -H "Authorization: Bearer $DEMO_API_KEY" -d "$2"; echo; }

CLICK=$(post click "{\"affiliate_url\":\"https://shop.example/?aff=$DEMO_AFF_A\"}"); echo "$CLICK"
CLICK_ID=$(echo "$CLICK" | sed -n 's/.*"click_id" *: *"\([^"]*\)".*/\1/p')
post lead "{\"click_id\":\"$CLICK_ID\",\"customer_key\":\"user-$RUN\"}"
post sale "{\"transaction_id\":\"order-$RUN\",\"amount_cents\":4900,\"customer_key\":\"user-$RUN\"}"
post refund "{\"transaction_id\":\"order-$RUN\"}"

{psql} -P pager=off "$DATABASE_URL" -c "SELECT id, processor_event_id, amount_cents FROM sale_events WHERE processor_event_id = 'order-$RUN'" -c "SELECT id, sale_id, amount_cents, deducted_cents, status FROM commissions WHERE sale_id = (SELECT id FROM sale_events WHERE processor_event_id = 'order-$RUN')" -c "SELECT kind, amount_cents, commission_id, sale_id FROM ledger_entries WHERE sale_id = (SELECT id FROM sale_events WHERE processor_event_id = 'order-$RUN')" -c "SELECT partner_program_id, currency, balance_cents FROM partner_program_balances"
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_shows_the_same_walk() {
        let readme = include_str!("../../README.md");
        let walk = commands(Path::new(".dev/env"), Path::new("psql"));
        let (funnel, _) = walk.split_once("\npsql ").unwrap();
        assert!(readme.contains(funnel.trim()));
    }
}
