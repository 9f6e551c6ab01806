//! Graphs: boxes in layers, arrows from left to right.

use std::fmt::Write;

use crate::place::{BOX_HEIGHT, BOX_WIDTH, Edge, place};
use crate::style::Style;
use crate::svg::{begin, cut, escape};

/// How many characters fit into a line of a box.
const FITS: usize = 29;

/// Boxes, and what comes before what.
#[derive(Debug, Clone)]
pub struct Graph<'a> {
    /// What is shown, for those who cannot see it.
    pub title: &'a str,
    /// The boxes.
    pub nodes: &'a [Node],
    /// From one to another, by their places in `nodes`; what leads nowhere is left out.
    pub links: &'a [(usize, usize)],
}

/// A box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its first line; cut to fit, and shown in full on hover.
    pub title: String,
    /// Its second line.
    pub detail: String,
    /// Its colour.
    pub tone: Tone,
}

/// What a box's colour says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Nothing.
    Plain,
    /// Somebody is at work.
    Active,
    /// It is done.
    Done,
    /// It needs attention.
    Alarm,
}

impl Tone {
    fn classes(self) -> &'static str {
        match self {
            Self::Plain => "box",
            Self::Active => "box active",
            Self::Done => "box done",
            Self::Alarm => "box alarm",
        }
    }
}

impl Graph<'_> {
    /// Draws it. Nothing, if it is so large that nobody could read it.
    pub fn draw(&self, style: Style) -> Option<String> {
        let placed = place(self.nodes.len(), self.links)?;
        let mut svg = begin(placed.width, placed.height, self.title, style);
        svg.push_str(
            "<defs><marker id=\"tip\" markerWidth=\"8\" markerHeight=\"8\" refX=\"8\" refY=\"4\" \
             orient=\"auto-start-reverse\"><path class=\"tip\" d=\"M0,0 L8,4 L0,8 z\"/></marker></defs>",
        );
        for edge in &placed.edges {
            draw_edge(&mut svg, edge);
        }
        for (node, (x, y)) in self.nodes.iter().zip(&placed.corners) {
            let _ = write!(
                svg,
                "<g><title>{}</title><rect class=\"{}\" x=\"{x}\" y=\"{y}\" width=\"{BOX_WIDTH}\" height=\"{BOX_HEIGHT}\" \
                 rx=\"6\"/><text class=\"text\" x=\"{}\" y=\"{}\">{}</text>\
                 <text class=\"faint\" x=\"{}\" y=\"{}\">{}</text></g>",
                escape(&node.title),
                node.tone.classes(),
                x + 8,
                y + 18,
                escape(&cut(&node.title, FITS)),
                x + 8,
                y + 35,
                escape(&cut(&node.detail, FITS)),
            );
        }
        svg.push_str("</svg>\n");
        Some(svg)
    }
}

/// Curves in the gaps, straight lines past the boxes of a column.
fn draw_edge(svg: &mut String, edge: &Edge) {
    let mut path = String::new();
    for (index, (x, y)) in edge.points.iter().enumerate() {
        let _ = match (index, index % 2) {
            (0, _) => write!(path, "M{x},{y}"),
            (_, 1) => {
                let (x0, y0) = edge.points[index - 1];
                let middle = i64::midpoint(x0, *x);
                write!(path, " C{middle},{y0} {middle},{y} {x},{y}")
            }
            _ => write!(path, " L{x},{y}"),
        };
    }
    let end = if edge.is_turned { "marker-start" } else { "marker-end" };
    let _ = write!(svg, "<path class=\"edge\" d=\"{path}\" {end}=\"url(#tip)\"/>");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(title: &str, tone: Tone) -> Node {
        Node { title: title.to_owned(), detail: "pending".to_owned(), tone }
    }

    #[test]
    fn a_graph_has_a_box_for_each_node_and_an_arrow_for_each_link() {
        let nodes = [
            node("1 <b>", Tone::Done),
            node("2 a title that is much longer than its box", Tone::Active),
            node("3", Tone::Plain),
        ];
        let graph = Graph { title: "3 tasks", nodes: &nodes, links: &[(0, 1), (1, 2), (0, 2), (0, 9)] };
        let svg = graph.draw(Style::Own).unwrap();
        assert_eq!(svg.matches("<g>").count(), 3);
        assert_eq!(svg.matches("marker-end").count(), 3);
        assert!(svg.contains("1 &lt;b&gt;") && !svg.contains("<b>"));
        assert!(svg.contains(">2 a title that is much longe…<"), "{svg}");
        assert!(svg.contains("<title>2 a title that is much longer than its box</title>"));
    }

    #[test]
    fn an_arrow_that_closes_a_circle_points_back() {
        let nodes = [node("1", Tone::Plain), node("2", Tone::Alarm)];
        let svg = Graph { title: "", nodes: &nodes, links: &[(0, 1), (1, 0)] }.draw(Style::OfPage).unwrap();
        assert_eq!((svg.matches("marker-end").count(), svg.matches("marker-start").count()), (1, 1));
    }
}
