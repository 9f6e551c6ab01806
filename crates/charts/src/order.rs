//! The order of what is in each layer, with few crossings.

use crate::layers::Layers;

/// How often the layers are gone through, there and back.
const SWEEPS: usize = 6;

/// More places than this are not drawn: nobody could read it.
const MOST_PLACES: usize = 200_000;

/// Something in a layer: a node, or where a long link passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Node(usize),
    Pass,
}

/// Everything in its layer, in order from top to bottom.
#[derive(Debug)]
pub(crate) struct Ordered {
    /// What each place is.
    pub(crate) places: Vec<Place>,
    /// The places of each layer, from top to bottom.
    pub(crate) columns: Vec<Vec<usize>>,
    /// For each link of the layers, the places that it leads through, from left to right.
    pub(crate) routes: Vec<Vec<usize>>,
    /// The neighbours of each place in the layer before and in the layer after.
    pub(crate) before: Vec<Vec<usize>>,
    pub(crate) after: Vec<Vec<usize>>,
}

/// Gives every long link a place in each layer that it passes, and orders the layers. Nothing, if there are too many.
pub(crate) fn order(layers: &Layers) -> Option<Ordered> {
    let mut places: Vec<Place> = (0..layers.layer.len()).map(Place::Node).collect();
    let mut columns: Vec<Vec<usize>> = vec![Vec::new(); layers.count];
    for (node, layer) in layers.layer.iter().enumerate() {
        columns[*layer].push(node);
    }
    let mut routes = Vec::with_capacity(layers.links.len());
    for link in &layers.links {
        let mut route = vec![link.left];
        for column in &mut columns[layers.layer[link.left] + 1..layers.layer[link.right]] {
            column.push(places.len());
            route.push(places.len());
            places.push(Place::Pass);
        }
        if places.len() > MOST_PLACES {
            return None;
        }
        route.push(link.right);
        routes.push(route);
    }
    let mut before = vec![Vec::new(); places.len()];
    let mut after = vec![Vec::new(); places.len()];
    for pair in routes.iter().flat_map(|route| route.windows(2)) {
        after[pair[0]].push(pair[1]);
        before[pair[1]].push(pair[0]);
    }
    let mut ordered = Ordered { places, columns, routes, before, after };
    for _ in 0..SWEEPS {
        for column in 1..ordered.columns.len() {
            ordered.sort(column, column - 1, true);
        }
        for column in (0..ordered.columns.len().saturating_sub(1)).rev() {
            ordered.sort(column, column + 1, false);
        }
    }
    Some(ordered)
}

impl Ordered {
    /// Orders a layer by the middle of each one's neighbours in the next.
    fn sort(&mut self, column: usize, next: usize, by_before: bool) {
        let mut position = std::collections::HashMap::new();
        for (index, place) in self.columns[next].iter().enumerate() {
            position.insert(*place, index);
        }
        let links = if by_before { &self.before } else { &self.after };
        let mut keyed: Vec<(u64, usize)> = self.columns[column]
            .iter()
            .enumerate()
            .map(|(index, place)| {
                let near: Vec<usize> =
                    links[*place].iter().filter_map(|other| position.get(other).copied()).collect();
                // Without a neighbour, it stays about where it is.
                let middle = if near.is_empty() {
                    index * 1_000
                } else {
                    near.iter().sum::<usize>() * 1_000 / near.len()
                };
                (middle as u64, *place)
            })
            .collect();
        keyed.sort_by_key(|(middle, _)| *middle);
        self.columns[column] = keyed.into_iter().map(|(_, place)| place).collect();
    }
}
