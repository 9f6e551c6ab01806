//! Which layer each node is in: right of everything that it comes after.

/// The layers of a graph's nodes, and its links from left to right.
#[derive(Debug)]
pub(crate) struct Layers {
    /// For each node.
    pub(crate) layer: Vec<usize>,
    /// From the node in the earlier layer to the one in the later.
    pub(crate) links: Vec<Link>,
    /// How many layers there are.
    pub(crate) count: usize,
}

/// A link, turned so that it leads to the right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) left: usize,
    pub(crate) right: usize,
    /// Leads to the left: it closes a circle.
    pub(crate) is_turned: bool,
}

/// Puts each node into the first layer after all that it comes after. Links that close a circle are turned round.
pub(crate) fn layers(nodes: usize, links: &[(usize, usize)]) -> Layers {
    let mut known: Vec<(usize, usize)> =
        links.iter().copied().filter(|(from, to)| from != to && *from < nodes && *to < nodes).collect();
    known.sort_unstable();
    known.dedup();
    let rank = finishing_order(nodes, &known);
    let turned = known.into_iter().map(|(from, to)| {
        let is_turned = rank[from] < rank[to];
        let (left, right) = if is_turned { (to, from) } else { (from, to) };
        Link { left, right, is_turned }
    });
    let links: Vec<Link> = turned.collect();
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for link in &links {
        after[link.left].push(link.right);
    }
    // Every link leads from a higher rank to a lower one, so this order meets each node after all before it.
    let mut order: Vec<usize> = (0..nodes).collect();
    order.sort_unstable_by_key(|node| std::cmp::Reverse(rank[*node]));
    let mut layer = vec![0; nodes];
    for node in order {
        for next in &after[node] {
            layer[*next] = layer[*next].max(layer[node] + 1);
        }
    }
    let count = layer.iter().max().map_or(0, |last| last + 1);
    Layers { layer, links, count }
}

/// When a depth-first search leaves each node. Without circles, every link leads to a node that is left earlier.
fn finishing_order(nodes: usize, links: &[(usize, usize)]) -> Vec<usize> {
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for (from, to) in links {
        after[*from].push(*to);
    }
    let mut is_met = vec![false; nodes];
    let mut rank = vec![0; nodes];
    let mut next_rank = 0;
    for start in 0..nodes {
        if is_met[start] {
            continue;
        }
        is_met[start] = true;
        // Not by calls of itself: a chain can be as long as the list.
        let mut stack = vec![(start, 0)];
        while let Some((node, child)) = stack.pop() {
            let Some(next) = after[node].get(child) else {
                rank[node] = next_rank;
                next_rank += 1;
                continue;
            };
            stack.push((node, child + 1));
            if !is_met[*next] {
                is_met[*next] = true;
                stack.push((*next, 0));
            }
        }
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_right_of_all_that_it_comes_after() {
        let layers = layers(5, &[(0, 1), (1, 2), (0, 2), (2, 4), (3, 4)]);
        assert_eq!(layers.layer, [0, 1, 2, 0, 3]);
        assert_eq!(layers.count, 4);
        assert!(layers.links.iter().all(|link| !link.is_turned));
    }

    #[test]
    fn a_circle_is_broken_and_says_where() {
        let layers = layers(3, &[(0, 1), (1, 2), (2, 0), (1, 1), (7, 0)]);
        assert_eq!(layers.count, 3);
        let turned: Vec<_> = layers.links.iter().filter(|link| link.is_turned).collect();
        assert_eq!(turned, [&Link { left: 0, right: 2, is_turned: true }]);
    }
}
