//! Where everything is: columns from left to right, and in each as level with its neighbours as there is room for.

use crate::layers::{Layers, layers};
use crate::order::{Ordered, Place, order};

pub(crate) const BOX_WIDTH: i64 = 208;
pub(crate) const BOX_HEIGHT: i64 = 44;
pub(crate) const GAP_X: i64 = 64;
const GAP_Y: i64 = 14;
pub(crate) const MARGIN: i64 = 12;

/// How often places move towards their neighbours.
const ROUNDS: usize = 8;

/// A graph with everything in its place.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) width: i64,
    pub(crate) height: i64,
    /// The left upper corner of each node's box.
    pub(crate) corners: Vec<(i64, i64)>,
    pub(crate) edges: Vec<Edge>,
}

/// A link as a line through the gaps between the columns, and between the boxes where it passes a column.
#[derive(Debug)]
pub(crate) struct Edge {
    /// Where it leaves a column and enters the next, in turns: curved between two columns, straight within one.
    pub(crate) points: Vec<(i64, i64)>,
    /// The arrow's tip is at the beginning.
    pub(crate) is_turned: bool,
}

/// Places a graph of so many nodes. Nothing, if it is too large to be drawn.
pub(crate) fn place(nodes: usize, links: &[(usize, usize)]) -> Option<Placed> {
    let layers = layers(nodes, links);
    let ordered = order(&layers)?;
    let middles = middles(&ordered);
    let top = middles
        .iter()
        .zip(&ordered.places)
        .map(|(middle, place)| middle - height(*place) / 2)
        .min()
        .unwrap_or(0);
    let y = |place: usize| middles[place] - top + MARGIN;
    let x = |column: usize| MARGIN + i64::try_from(column).unwrap_or(0) * (BOX_WIDTH + GAP_X);
    let bottom = ordered
        .places
        .iter()
        .enumerate()
        .map(|(index, place)| y(index) + height(*place) / 2)
        .max()
        .unwrap_or(MARGIN);
    Some(Placed {
        width: x(layers.count.max(1)) - GAP_X + MARGIN,
        height: bottom + MARGIN,
        corners: (0..nodes).map(|node| (x(layers.layer[node]), y(node) - BOX_HEIGHT / 2)).collect(),
        edges: edges(&layers, &ordered, &x, &y),
    })
}

fn height(place: Place) -> i64 {
    match place {
        Place::Node(_) => BOX_HEIGHT,
        Place::Pass => 0,
    }
}

fn edges(
    layers: &Layers,
    ordered: &Ordered,
    x: &impl Fn(usize) -> i64,
    y: &impl Fn(usize) -> i64,
) -> Vec<Edge> {
    let edge = |(link, route): (&crate::layers::Link, &Vec<usize>)| {
        let first = layers.layer[link.left];
        let mut points = Vec::with_capacity(2 * route.len());
        for (step, place) in route.iter().enumerate() {
            if step > 0 {
                points.push((x(first + step), y(*place)));
            }
            if step + 1 < route.len() {
                points.push((x(first + step) + BOX_WIDTH, y(*place)));
            }
        }
        Edge { points, is_turned: link.is_turned }
    };
    layers.links.iter().zip(&ordered.routes).map(edge).collect()
}

/// The middle of each place. Each column keeps its order and its distances.
fn middles(ordered: &Ordered) -> Vec<i64> {
    let mut middles = vec![0; ordered.places.len()];
    for column in &ordered.columns {
        let wanted = vec![0; column.len()];
        settle(ordered, column, &wanted, &mut middles);
    }
    for round in 0..ROUNDS {
        let forward = round % 2 == 0;
        let mut columns: Vec<&Vec<usize>> = ordered.columns.iter().collect();
        if !forward {
            columns.reverse();
        }
        for column in columns {
            let wanted: Vec<i64> = column
                .iter()
                .map(|place| {
                    let near = if forward { &ordered.before[*place] } else { &ordered.after[*place] };
                    match i64::try_from(near.len()) {
                        Ok(count) if count > 0 => {
                            near.iter().map(|other| middles[*other]).sum::<i64>() / count
                        }
                        _ => middles[*place],
                    }
                })
                .collect();
            settle(ordered, column, &wanted, &mut middles);
        }
    }
    middles
}

/// Gives a column's places the middles that are wanted, as far as order and distances allow: the mean of pushing all down and
/// pushing all up, of which each keeps the distances, and so does the mean.
fn settle(ordered: &Ordered, column: &[usize], wanted: &[i64], middles: &mut [i64]) {
    let apart = |above: usize, below: usize| {
        i64::midpoint(height(ordered.places[above]), height(ordered.places[below])) + GAP_Y
    };
    let mut down = wanted.to_vec();
    for index in 1..column.len() {
        down[index] = down[index].max(down[index - 1] + apart(column[index - 1], column[index]));
    }
    let mut up = wanted.to_vec();
    for index in (1..column.len()).rev() {
        up[index - 1] = up[index - 1].min(up[index] - apart(column[index - 1], column[index]));
    }
    // From top to bottom once more: halves are cut off.
    let mut least = i64::MIN;
    for (index, place) in column.iter().enumerate() {
        let middle = i64::midpoint(down[index], up[index]).max(least);
        middles[*place] = middle;
        if let Some(next) = column.get(index + 1) {
            least = middle + apart(*place, *next);
        }
    }
}

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "coordinates are small")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Points along an edge, as it is drawn: straight within a column, and between two columns the curve whose control
    /// points lie level with its ends in the middle of the gap.
    fn along(edge: &Edge) -> Vec<(f64, f64)> {
        let mut all = Vec::new();
        for (step, pair) in edge.points.windows(2).enumerate() {
            let [(x0, y0), (x1, y1)] = [pair[0], pair[1]].map(|(x, y)| (x as f64, y as f64));
            let middle = f64::midpoint(x0, x1);
            for sample in 0..=40 {
                let t = f64::from(sample) / 40.0;
                let bezier = |a: f64, b: f64, c: f64, d: f64| {
                    let s = 1.0 - t;
                    s * s * s * a + 3.0 * s * s * t * b + 3.0 * s * t * t * c + t * t * t * d
                };
                all.push(if step % 2 == 0 {
                    (bezier(x0, middle, middle, x1), bezier(y0, y0, y1, y1))
                } else {
                    (x0 + (x1 - x0) * t, y0 + (y1 - y0) * t)
                });
            }
        }
        all
    }

    fn graphs() -> impl Strategy<Value = (usize, Vec<(usize, usize)>)> {
        (1_usize..=30)
            .prop_flat_map(|nodes| (Just(nodes), proptest::collection::vec((0..nodes, 0..nodes), 0..60)))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// Also where links run in circles.
        #[test]
        fn no_edge_runs_under_a_box_and_no_box_over_another((nodes, links) in graphs()) {
            let placed = place(nodes, &links).unwrap();
            let inside = |(x, y): (f64, f64), (left, top): (i64, i64)| {
                x > left as f64 + 0.5
                    && x < (left + BOX_WIDTH) as f64 - 0.5
                    && y > top as f64 + 0.5
                    && y < (top + BOX_HEIGHT) as f64 - 0.5
            };
            for edge in &placed.edges {
                for point in along(edge) {
                    for corner in &placed.corners {
                        prop_assert!(!inside(point, *corner), "{point:?} is in the box at {corner:?}: {edge:?}");
                    }
                    prop_assert!(point.0 >= 0.0 && point.0 <= placed.width as f64);
                    prop_assert!(point.1 >= 0.0 && point.1 <= placed.height as f64, "{point:?} {}", placed.height);
                }
            }
            for (index, (x, y)) in placed.corners.iter().enumerate() {
                for (x2, y2) in &placed.corners[..index] {
                    prop_assert!(x != x2 || (y - y2).abs() >= BOX_HEIGHT, "two boxes at {x},{y}");
                }
                prop_assert!(*x >= 0 && *y >= 0 && x + BOX_WIDTH <= placed.width && y + BOX_HEIGHT <= placed.height);
            }
        }
    }

    #[test]
    fn a_chain_is_level() {
        let placed = place(4, &[(0, 1), (1, 2), (2, 3)]).unwrap();
        assert!(placed.corners.iter().all(|(_, y)| *y == MARGIN), "{:?}", placed.corners);
    }

    #[test]
    fn what_nobody_could_read_is_not_drawn() {
        let mut links: Vec<(usize, usize)> = (1..2_000).map(|node| (node - 1, node)).collect();
        links.extend((2..2_000).map(|node| (0, node)));
        assert!(place(2_000, &links).is_none());
    }
}
