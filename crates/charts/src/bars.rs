//! Bars over time.

use std::fmt::Write;

use crate::style::Style;
use crate::svg::{begin, escape};

const WIDTH: i64 = 720;
const HEIGHT: i64 = 260;
const LEFT: i64 = 56;
const RIGHT: i64 = 16;
const TOP: i64 = 44;
const BOTTOM: i64 = 44;
const PLOT_WIDTH: i64 = WIDTH - LEFT - RIGHT;
const PLOT_HEIGHT: i64 = HEIGHT - TOP - BOTTOM;

/// A bar for each of equal parts of a time.
#[derive(Debug, Clone)]
pub struct Bars<'a> {
    /// What is shown, above the picture.
    pub title: &'a str,
    /// What a bar counts, beside the upper end of its axis.
    pub unit: &'a str,
    /// The counts, oldest first.
    pub values: &'a [u64],
    /// Marks below the bars.
    pub ticks: &'a [Tick],
    /// What the marks are, below them.
    pub axis: &'a str,
}

/// A mark of the time axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tick {
    /// Where: thousandths of the time.
    pub at: u16,
    /// What it says.
    pub label: String,
}

impl Bars<'_> {
    /// Draws them.
    pub fn draw(&self, style: Style) -> String {
        let mut svg = begin(WIDTH, HEIGHT, self.title, style);
        let _ = write!(
            svg,
            "<text class=\"text\" x=\"{LEFT}\" y=\"18\" font-size=\"14\">{}</text>\
             <text class=\"faint\" x=\"{LEFT}\" y=\"36\">{}</text>",
            escape(self.title),
            escape(self.unit)
        );
        let step = nice_step(self.values.iter().max().copied().unwrap_or(0));
        let top = self.values.iter().max().copied().unwrap_or(0).div_ceil(step).max(1) * step;
        for value in (0..=top / step).map(|count| count * step) {
            let y = TOP + PLOT_HEIGHT - share(value, top, PLOT_HEIGHT);
            let class = if value == 0 { "axis" } else { "grid" };
            let _ = write!(
                svg,
                "<line class=\"{class}\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\"/>\
                 <text class=\"faint\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{value}</text>",
                WIDTH - RIGHT,
                LEFT - 6,
                y + 4
            );
        }
        self.draw_bars(&mut svg, top);
        self.draw_ticks(&mut svg);
        svg.push_str("</svg>\n");
        svg
    }

    fn draw_bars(&self, svg: &mut String, top: u64) {
        let count = self.values.len().max(1) as u64;
        for (index, value) in self.values.iter().enumerate().filter(|(_, value)| **value > 0) {
            let from = share(index as u64, count, PLOT_WIDTH);
            let to = share(index as u64 + 1, count, PLOT_WIDTH);
            // The smallest count is still to be seen.
            let height = share(*value, top, PLOT_HEIGHT).max(1);
            let _ = write!(
                svg,
                "<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{height}\"><title>{value}</title></rect>",
                LEFT + from,
                TOP + PLOT_HEIGHT - height,
                (to - from - 1).max(1)
            );
        }
    }

    fn draw_ticks(&self, svg: &mut String) {
        let y = TOP + PLOT_HEIGHT;
        for tick in self.ticks {
            let x = LEFT + share(u64::from(tick.at.min(1_000)), 1_000, PLOT_WIDTH);
            // Labels at the ends stay inside of the picture.
            let anchor = match tick.at {
                0..=40 => "start",
                41..=960 => "middle",
                _ => "end",
            };
            let _ = write!(
                svg,
                "<line class=\"axis\" x1=\"{x}\" x2=\"{x}\" y1=\"{y}\" y2=\"{}\"/>\
                 <text class=\"faint\" x=\"{x}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
                y + 4,
                y + 17,
                escape(&tick.label)
            );
        }
        let _ = write!(
            svg,
            "<text class=\"faint\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            HEIGHT - 8,
            escape(self.axis)
        );
    }
}

/// `length` × `part` / `whole`.
fn share(part: u64, whole: u64, length: i64) -> i64 {
    let scaled = i128::from(part) * i128::from(length) / i128::from(whole.max(1));
    i64::try_from(scaled).unwrap_or(length)
}

/// A step of 1, 2 or 5 times a power of ten, so that at most five lead to `most`.
fn nice_step(most: u64) -> u64 {
    let mut power: u64 = 1;
    loop {
        for factor in [1, 2, 5] {
            let step = power.saturating_mul(factor);
            if most.div_ceil(step) <= 5 {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_few() {
        for (most, step) in [(0, 1), (1, 1), (5, 1), (6, 2), (10, 2), (11, 5), (26, 10), (999, 200)] {
            assert_eq!(nice_step(most), step, "{most}");
        }
        assert!(u64::MAX.div_ceil(nice_step(u64::MAX)) <= 5);
    }

    #[test]
    fn a_chart_has_axes_a_scale_a_title_and_a_bar_for_each_count() {
        let ticks = [Tick { at: 0, label: "10:00".into() }, Tick { at: 1_000, label: "<11:00>".into() }];
        let bars = Bars {
            title: "7 messages & more",
            unit: "messages in 5 min",
            values: &[0, 3, 7, 0],
            ticks: &ticks,
            axis: "local time",
        };
        let svg = bars.draw(Style::Own);
        assert_eq!(svg.matches("class=\"bar\"").count(), 2, "{svg}");
        for part in [
            ">7 messages &amp; more</text>",
            ">messages in 5 min<",
            ">0</text>",
            ">8</text>",
            ">10:00</text>",
            ">&lt;11:00&gt;</text>",
            ">local time</text>",
            "prefers-color-scheme:dark",
        ] {
            assert!(svg.contains(part), "{part} in {svg}");
        }
        assert!(!bars.draw(Style::OfPage).contains("<style"), "a page may forbid inline styles");
    }

    #[test]
    fn no_counts_are_a_chart_too() {
        let svg =
            Bars { title: "none", unit: "messages", values: &[], ticks: &[], axis: "" }.draw(Style::Own);
        assert!(svg.contains(">1</text>") && svg.ends_with("</svg>\n"), "{svg}");
    }
}
