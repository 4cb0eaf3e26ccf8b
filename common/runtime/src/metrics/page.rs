//! The page about every metric.

use std::fmt::Write;

use super::ALL;

const OPENING: &str = "\
# Metrics

Made from `common/runtime/src/metrics.rs`; `UPDATE_DOCS=1 cargo xtask test up_to_date` writes it anew. Every service shows its own at
`/metrics` on `METRICS_LISTEN`, an address apart from the one it serves on, in the text format of OpenMetrics; without one it shows none.

What is asked of PostgreSQL and JetStream is asked when somebody looks, by each worker alike: take the largest over all of them, not
their sum. `subject` and `noun` are clicks, leads, sales and so on. Histograms of seconds and of records end with `_bucket`, `_sum` and `_count`.

";

/// `docs/metrics.md`.
pub fn page() -> String {
    let mut page = OPENING.to_owned();
    page.push_str("| name | kind | labels | services | meaning |\n|---|---|---|---|---|\n");
    for metric in ALL {
        let labels: Vec<String> = metric.labels().iter().map(|label| format!("`{label}`")).collect();
        let services = match metric.services() {
            services if services.len() == 3 => "all".to_owned(),
            services => services.join(", "),
        };
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {services} | {}. |",
            metric.name(),
            metric.kind(),
            labels.join(", "),
            metric.meaning(),
        );
    }
    page
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_page_about_metrics_is_up_to_date() {
        let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&committed, page()).unwrap();
        }
        assert!(
            fs::read_to_string(&committed).is_ok_and(|committed| committed == page()),
            "docs/metrics.md is out of date: run `UPDATE_DOCS=1 cargo xtask test up_to_date`"
        );
    }
}
