//! Horizontal bar charts as SVG, readable on light and dark pages.

use std::fmt::Write as _;

use super::report::compact;

pub(super) struct Bar {
    pub(super) label: String,
    pub(super) value: f64,
    /// Drawn as a line across the bar.
    pub(super) mark: Option<f64>,
}

const WIDTH: f64 = 860.0;
const LABELS: f64 = 380.0;
const NUMBERS: f64 = 90.0;
const HEAD: f64 = 34.0;
const LINE: f64 = 24.0;

pub(super) fn bars(title: &str, bars: &[Bar]) -> String {
    let longest = bars
        .iter()
        .flat_map(|bar| [bar.value, bar.mark.unwrap_or_default()])
        .fold(0.0, f64::max);
    let scale = if longest > 0.0 {
        (WIDTH - LABELS - NUMBERS) / longest
    } else {
        0.0
    };
    let lines = u32::try_from(bars.len()).unwrap_or(u32::MAX);
    let height = HEAD + LINE * f64::from(lines) + 8.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\" fill=\"#808080\">\n<title>{0}</title>\n<text x=\"8\" y=\"20\" font-size=\"14\">{0}</text>\n",
        escaped(title)
    );
    for (bar, line) in bars.iter().zip(0_u32..) {
        let top = HEAD + LINE * f64::from(line);
        let (middle, length) = (top + 15.0, bar.value.max(0.0) * scale);
        let _ = writeln!(
            svg,
            "<text x=\"{:.0}\" y=\"{middle:.0}\" text-anchor=\"end\">{}</text>\
             <rect x=\"{LABELS}\" y=\"{:.0}\" width=\"{length:.1}\" height=\"16\" fill=\"#4c8bf5\"/>\
             <text x=\"{:.1}\" y=\"{middle:.0}\">{}</text>",
            LABELS - 8.0,
            escaped(&bar.label),
            top + 3.0,
            LABELS + length.max(bar.mark.unwrap_or_default() * scale) + 6.0,
            compact(bar.value),
        );
        if let Some(mark) = bar.mark {
            let x = LABELS + mark * scale;
            let _ = writeln!(
                svg,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.0}\" y2=\"{:.0}\" stroke=\"#e07020\" stroke-width=\"2\"/>",
                top + 1.0,
                top + 21.0,
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(label: &str, value: f64, mark: Option<f64>) -> Bar {
        Bar {
            label: label.to_owned(),
            value,
            mark,
        }
    }

    #[test]
    fn the_longest_fills_the_plot_and_the_others_follow() {
        let svg = bars("a < b", &[bar("x", 50.0, Some(100.0)), bar("y & z", 25.0, None)]);
        assert!(svg.contains("a &lt; b") && svg.contains("y &amp; z"));
        assert!(
            svg.contains("width=\"195.0\"") && svg.contains("width=\"97.5\""),
            "{svg}"
        );
        assert!(svg.contains("x1=\"770.0\""), "{svg}");
        assert_eq!(svg.matches("<line").count(), 1);
    }

    #[test]
    fn nothing_is_no_division_by_nothing() {
        let svg = bars("empty", &[bar("zero", 0.0, None)]);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
