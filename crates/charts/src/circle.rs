//! Who talks to whom: names on a circle, lines between them, the wider the more.

use std::f64::consts::TAU;
use std::fmt::Write;

use crate::style::Style;
use crate::svg::{begin, cut, escape};

const WIDTH: i64 = 720;
const HEIGHT: i64 = 420;
const CENTER: (f64, f64) = (360.0, 210.0);
const RADIUS: f64 = 150.0;
const WIDEST: f64 = 9.0;

/// Names, and how much goes from one to another.
#[derive(Debug, Clone)]
pub struct Circle<'a> {
    /// What is shown, for those who cannot see it.
    pub title: &'a str,
    /// The names.
    pub names: &'a [String],
    /// From, to, how much; by their places in `names`.
    pub links: &'a [(usize, usize, u64)],
}

impl Circle<'_> {
    /// Draws it.
    pub fn draw(&self, style: Style) -> String {
        let mut svg = begin(WIDTH, HEIGHT, self.title, style);
        let most = self.links.iter().map(|(_, _, count)| *count).max().unwrap_or(1).max(1);
        for (from, to, count) in self.links.iter().filter(|(from, to, _)| from != to) {
            let (Some(a), Some(b)) = (self.names.get(*from), self.names.get(*to)) else { continue };
            let ((x1, y1), (x2, y2)) = (self.place(*from), self.place(*to));
            // Bent to one side, so that both directions are seen.
            let cx = f64::midpoint(x1, x2) + (y2 - y1) * 0.15;
            let cy = f64::midpoint(y1, y2) - (x2 - x1) * 0.15;
            #[expect(clippy::cast_precision_loss, reason = "a width on a screen")]
            let width = 1.0 + WIDEST * (*count as f64) / (most as f64);
            let _ = write!(
                svg,
                "<path class=\"edge\" d=\"M{x1:.0} {y1:.0}Q{cx:.0} {cy:.0} {x2:.0} {y2:.0}\" stroke-width=\"{width:.1}\" \
                 stroke-opacity=\"0.55\"><title>{} to {}: {count}</title></path>",
                escape(a),
                escape(b)
            );
        }
        for (index, name) in self.names.iter().enumerate() {
            let (x, y) = self.place(index);
            let is_right = x >= CENTER.0 - 1.0;
            let (anchor, off) = if is_right { ("start", 12.0) } else { ("end", -12.0) };
            let _ = write!(
                svg,
                "<circle class=\"tip\" cx=\"{x:.0}\" cy=\"{y:.0}\" r=\"6\"/>\
                 <text class=\"text\" x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"{anchor}\">{}</text>",
                x + off,
                y + 4.0,
                escape(&cut(name, 24))
            );
        }
        svg.push_str("</svg>\n");
        svg
    }

    #[expect(clippy::cast_precision_loss, reason = "places on a screen")]
    fn place(&self, index: usize) -> (f64, f64) {
        let angle = TAU * index as f64 / self.names.len().max(1) as f64 - TAU / 4.0;
        (CENTER.0 + RADIUS * angle.cos(), CENTER.1 + RADIUS * angle.sin())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_and_link_is_drawn_and_escaped() {
        let names = ["alice".to_owned(), "<b>".to_owned()];
        let svg = Circle { title: "t", names: &names, links: &[(0, 1, 3), (1, 0, 1), (0, 0, 9), (0, 7, 1)] }
            .draw(Style::OfPage);
        assert_eq!(svg.matches("<circle").count(), 2);
        assert_eq!(svg.matches("<path").count(), 2, "{svg}");
        assert!(svg.contains("alice to &lt;b&gt;: 3") && !svg.contains("<b>"), "{svg}");
    }
}
