//! Distributions: how many took how long, one below the other over the same axis.

use std::fmt::Write;

use crate::style::Style;
use crate::svg::{begin, escape};

const WIDTH: i64 = 720;
const LEFT: i64 = 150;
const RIGHT: i64 = 16;
const TOP: i64 = 34;
const ROW: i64 = 92;
/// Of a row, the height of its tallest bar.
const TALLEST: i64 = 56;
const BOTTOM: i64 = 44;

/// Distributions over the same parts.
#[derive(Debug, Clone)]
pub struct Histogram<'a> {
    /// What is shown, above the picture.
    pub title: &'a str,
    /// What bars count.
    pub unit: &'a str,
    /// What the axis below counts.
    pub axis: &'a str,
    /// The bounds between the parts: one fewer than there are parts.
    pub bounds: &'a [String],
    /// The distributions.
    pub rows: &'a [Distribution],
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distribution {
    /// Of what.
    pub label: String,
    /// More about it, below that.
    pub note: String,
    /// How many there are in each part.
    pub values: Vec<u64>,
}

impl Histogram<'_> {
    /// Draws them.
    pub fn draw(&self, style: Style) -> String {
        let rows = i64::try_from(self.rows.len()).unwrap_or(0);
        let mut svg = begin(WIDTH, TOP + ROW * rows + BOTTOM, self.title, style);
        let _ = write!(
            svg,
            "<text class=\"text\" x=\"8\" y=\"18\" font-size=\"14\">{}</text>",
            escape(self.title)
        );
        for (number, row) in (0..).zip(self.rows) {
            self.draw_row(&mut svg, row, TOP + ROW * (number + 1) - 12);
        }
        self.draw_axis(&mut svg, TOP + ROW * rows - 12);
        svg.push_str("</svg>\n");
        svg
    }

    /// A row whose bars stand on `floor`.
    fn draw_row(&self, svg: &mut String, row: &Distribution, floor: i64) {
        let most = row.values.iter().max().copied().unwrap_or(0).max(1);
        let all: u64 = row.values.iter().sum::<u64>().max(1);
        let (top, right) = (floor - TALLEST, WIDTH - RIGHT);
        let _ = write!(
            svg,
            "<text class=\"text\" x=\"8\" y=\"{}\" font-weight=\"bold\">{}</text><text class=\"faint\" x=\"8\" y=\"{}\">{}</text>\
             <line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{top}\" y2=\"{top}\"/>\
             <line class=\"axis\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{floor}\" y2=\"{floor}\"/>\
             <text class=\"faint\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{most} {}</text>\
             <text class=\"faint\" x=\"{}\" y=\"{}\" text-anchor=\"end\">0</text>",
            top + 24,
            escape(&row.label),
            top + 40,
            escape(&row.note),
            LEFT - 6,
            top + 4,
            escape(self.unit),
            LEFT - 6,
            floor + 4,
        );
        for (index, value) in row.values.iter().enumerate().filter(|(_, value)| **value > 0) {
            let (from, to) = (self.edge(index), self.edge(index + 1));
            // The smallest count is still to be seen.
            let height = scaled(*value, most, TALLEST).max(2);
            let _ = write!(
                svg,
                "<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{height}\"><title>{}: {value} {} ({} %)</title></rect>",
                from + 1,
                floor - height,
                (to - from - 2).max(1),
                escape(&self.part(index)),
                escape(self.unit),
                scaled(*value, all, 100),
            );
        }
    }

    /// What a part is called.
    fn part(&self, index: usize) -> String {
        match (index.checked_sub(1).and_then(|before| self.bounds.get(before)), self.bounds.get(index)) {
            (None, Some(end)) => format!("below {end}"),
            (Some(begin), Some(end)) => format!("{begin} to {end}"),
            (Some(begin), None) => format!("{begin} or more"),
            (None, None) => String::new(),
        }
    }

    fn draw_axis(&self, svg: &mut String, y: i64) {
        for (index, bound) in self.bounds.iter().enumerate() {
            let x = self.edge(index + 1);
            let _ = write!(
                svg,
                "<line class=\"axis\" x1=\"{x}\" x2=\"{x}\" y1=\"{y}\" y2=\"{}\"/>",
                y + if index % 2 == 0 { 8 } else { 4 }
            );
            // Every other one: side by side they would not be read.
            if index % 2 == 0 {
                let _ = write!(
                    svg,
                    "<text class=\"faint\" x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                    y + 20,
                    escape(bound)
                );
            }
        }
        let _ = write!(
            svg,
            "<text class=\"faint\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            y + 40,
            escape(self.axis)
        );
    }

    /// Where a part begins.
    fn edge(&self, index: usize) -> i64 {
        LEFT + scaled(index as u64, self.bounds.len() as u64 + 1, WIDTH - LEFT - RIGHT)
    }
}

/// `length` × `part` / `whole`.
fn scaled(part: u64, whole: u64, length: i64) -> i64 {
    let scaled = i128::from(part) * i128::from(length) / i128::from(whole.max(1));
    i64::try_from(scaled).unwrap_or(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_a_bar_as_tall_as_its_share_and_says_what_it_is() {
        let bounds = ["1 s".to_owned(), "1 min".to_owned()];
        let row = |label: &str, values: [u64; 3]| Distribution {
            label: label.into(),
            note: "half within 2 s".into(),
            values: values.to_vec(),
        };
        let rows = [row("taken", [1, 3, 0]), row("<seen>", [0, 0, 4])];
        let histogram =
            Histogram { title: "t", unit: "messages", axis: "time, UTC", bounds: &bounds, rows: &rows };
        let svg = histogram.draw(Style::OfPage);
        assert_eq!(svg.matches("class=\"bar\"").count(), 3, "{svg}");
        for part in [
            ">3 messages</text>",
            "<title>below 1 s: 1 messages (25 %)</title>",
            "<title>1 s to 1 min: 3 messages (75 %)</title>",
            "<title>1 min or more: 4 messages (100 %)</title>",
            "height=\"56\"",
            "height=\"18\"",
            ">&lt;seen&gt;</text>",
            ">1 s</text>",
            ">time, UTC</text>",
        ] {
            assert!(svg.contains(part), "{part} in {svg}");
        }
        assert!(histogram.edge(3) == WIDTH - RIGHT && histogram.edge(0) == LEFT);
        let none = Histogram { rows: &[], bounds: &[], ..histogram };
        assert!(none.draw(Style::Own).ends_with("</svg>\n"));
    }
}
