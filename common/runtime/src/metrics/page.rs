//! Generates `docs/metrics.md`.

use std::fmt::Write;

use super::ALL;

const OPENING: &str = "\
# Metrics

Generated from `common/runtime/src/metrics.rs`: `UPDATE_DOCS=1 cargo xtask test up_to_date` regenerates it.
Every service serves its metrics at `/metrics` on `METRICS_LISTEN`, separate from its own address, in the
OpenMetrics text format; without that setting it serves none.

Each worker queries PostgreSQL and JetStream when it is scraped, and all workers report the same values: take
the maximum over the workers, not the sum. `subject` and `noun` are clicks, leads, sales and so on. Histograms
end with `_bucket`, `_sum` and `_count`.

";

/// The text of `docs/metrics.md`.
pub fn page() -> String {
    let mut page = OPENING.to_owned();
    page.push_str("| name | kind | labels | services | meaning |\n|---|---|---|---|---|\n");
    for metric in ALL {
        let labels: Vec<String> = metric.labels().iter().map(|label| format!("`{label}`")).collect();
        let services = match metric.services() {
            services if services.len() == 4 => "all".to_owned(),
            services => services.join(", "),
        };
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {services} | {}. |",
            metric.name(),
            metric.kind(),
            labels.join(", "),
            metric.help(),
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
