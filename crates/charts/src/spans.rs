//! How long things took: for each row its half, 90 % and 99 % on an axis of time that grows by powers.

use std::fmt::Write;

use crate::style::Style;
use crate::svg::{begin, escape};

const WIDTH: i64 = 720;
const LEFT: f64 = 130.0;
const RIGHT: f64 = 20.0;
const TOP: i64 = 36;
const ROW: i64 = 34;

/// The marks of the axis, in milliseconds.
const MARKS: [(f64, &str); 8] = [
    (10.0, "10 ms"),
    (100.0, "100 ms"),
    (1_000.0, "1 s"),
    (10_000.0, "10 s"),
    (60_000.0, "1 min"),
    (600_000.0, "10 min"),
    (3_600_000.0, "1 h"),
    (86_400_000.0, "1 d"),
];

/// Rows of time spans.
#[derive(Debug, Clone)]
pub struct Spans<'a> {
    /// What is shown.
    pub title: &'a str,
    /// Each with what half, 90 % and 99 % did not exceed, in milliseconds.
    pub rows: &'a [(String, [i64; 3])],
}

impl Spans<'_> {
    /// Draws them.
    pub fn draw(&self, style: Style) -> String {
        let rows = i64::try_from(self.rows.len()).unwrap_or(0);
        let height = TOP + ROW * rows + 28;
        let mut svg = begin(WIDTH, height, self.title, style);
        let _ = write!(svg, "<text class=\"text\" x=\"8\" y=\"18\">{}</text>", escape(self.title));
        let bottom = TOP + ROW * rows;
        for (at, label) in MARKS {
            let x = place(at);
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{x:.0}\" x2=\"{x:.0}\" y1=\"{TOP}\" y2=\"{bottom}\"/>\
                 <text class=\"faint\" x=\"{x:.0}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
                bottom + 16
            );
        }
        for (row, (label, values)) in (0..).zip(self.rows) {
            let y = TOP + ROW * row;
            #[expect(clippy::cast_precision_loss, reason = "places on a screen")]
            let at = values.map(|value| place(value.max(1) as f64));
            let _ = write!(svg, "<text class=\"text\" x=\"8\" y=\"{}\">{}</text>", y + 20, escape(label));
            let _ = write!(
                svg,
                "<line class=\"axis\" x1=\"{:.0}\" x2=\"{:.0}\" y1=\"{m}\" y2=\"{m}\"/>\
                 <rect class=\"bar\" x=\"{:.0}\" y=\"{}\" width=\"{:.0}\" height=\"14\"/>\
                 <line class=\"axis\" x1=\"{:.0}\" x2=\"{:.0}\" y1=\"{}\" y2=\"{}\"/>",
                at[0],
                at[2],
                at[0],
                y + 9,
                (at[1] - at[0]).max(3.0),
                at[2],
                at[2],
                y + 8,
                y + 24,
                m = y + 16
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// Where a time stands: the axis grows by powers.
fn place(millis: f64) -> f64 {
    let (first, last) = (MARKS[0].0.ln(), MARKS[MARKS.len() - 1].0.ln());
    #[expect(clippy::cast_precision_loss, reason = "a width on a screen")]
    let width = WIDTH as f64 - LEFT - RIGHT;
    LEFT + width * ((millis.max(1.0).ln() - first) / (last - first)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_stands_further_and_nothing_leaves_the_picture() {
        let mut last = 0.0;
        for (at, _) in MARKS {
            assert!(place(at) > last && place(at) <= 700.0);
            last = place(at);
        }
        assert!((place(0.0) - LEFT).abs() < 1.0 && (place(1e12) - 700.0).abs() < 1.0);
        let rows = [("taken (3)".to_owned(), [10, 1_000, 60_000])];
        let svg = Spans { title: "t", rows: &rows }.draw(Style::OfPage);
        assert!(svg.contains("10 min") && svg.contains("taken (3)"), "{svg}");
    }
}
