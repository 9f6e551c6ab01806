//! Who may reserve and release what: pure functions over a tree's reservations.

use atm_wire::Stamp;
use serde::{Deserialize, Serialize};

use super::holder::Holder;
use super::pattern::{Case, Pattern};

/// How many reservations one working tree may have: every edit is held against all of them.
pub(crate) const MOST: usize = 1_000;

/// A reservation as the file has it. Its form is part of the format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reservation {
    #[serde(flatten)]
    pub(crate) pattern: Pattern,
    #[serde(flatten)]
    pub(crate) holder: Holder,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    pub(crate) since: Stamp,
    pub(crate) until: Stamp,
}

impl Reservation {
    /// Whether the clock has ended it.
    pub(crate) fn is_expired(&self, now: Stamp) -> bool {
        self.until <= now
    }
}

/// What `who` may not reserve: the first path that somebody else has, with all that are in its way.
pub(crate) fn conflict<'a>(
    all: &[Reservation],
    wanted: &'a [Pattern],
    who: &Holder,
    case: Case,
) -> Option<(&'a Pattern, Vec<Reservation>)> {
    wanted.iter().find_map(|wanted| {
        let others = all.iter().filter(|one| !one.holder.is_same(who));
        let held: Vec<Reservation> =
            others.filter(|one| one.pattern.overlaps(wanted, case)).cloned().collect();
        (!held.is_empty()).then_some((wanted, held))
    })
}

/// Adds a reservation. One of the same holder for the same path is extended, and keeps its beginning.
pub(crate) fn add(all: &mut Vec<Reservation>, new: &Reservation) {
    let same = |one: &&mut Reservation| one.pattern == new.pattern && one.holder.is_same(&new.holder);
    match all.iter_mut().find(same) {
        Some(old) => {
            let reason = new.reason.clone().or_else(|| old.reason.take());
            *old = Reservation { since: old.since, reason, ..new.clone() };
        }
        None => all.push(new.clone()),
    }
}

/// What releasing a path means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Released {
    /// These places of the list.
    Places(Vec<usize>),
    /// It is somebody else's.
    NotYours(usize),
    /// There is none; this folder of `who` covers the path.
    None(Option<usize>),
}

/// Which reservations `who` releases by naming `path`: its own at the path and below it, else those of others if it decides
/// over them.
pub(crate) fn release(
    all: &[Reservation],
    path: &Pattern,
    who: &Holder,
    case: Case,
    decides: impl Fn(&Holder) -> bool,
) -> Released {
    let within = |one: &Reservation| one.pattern.is_within(path, case);
    let places = |fits: &dyn Fn(&Reservation) -> bool| -> Vec<usize> {
        all.iter().enumerate().filter(|(_, one)| fits(one)).map(|(place, _)| place).collect()
    };
    let own = places(&|one| within(one) && one.holder.is_same(who));
    if !own.is_empty() {
        return Released::Places(own);
    }
    let others = places(&|one| within(one) && decides(&one.holder));
    if !others.is_empty() {
        return Released::Places(others);
    }
    if let Some(place) = all.iter().position(within) {
        return Released::NotYours(place);
    }
    Released::None(all.iter().position(|one| one.holder.is_same(who) && one.pattern.covers(path, case)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(name: &str) -> Holder {
        Holder { name: name.to_owned(), team: Some("dev".to_owned()), ..Holder::default() }
    }

    fn pattern(path: &str) -> Pattern {
        Pattern { path: path.to_owned(), literal: false }
    }

    fn reservation(path: &str, name: &str) -> Reservation {
        let (since, until) = (Stamp::from_millis(0), Stamp::from_millis(10));
        Reservation { pattern: pattern(path), holder: holder(name), reason: None, since, until }
    }

    #[test]
    fn others_are_in_the_way_and_oneself_is_not() {
        let all = [reservation("src", "bob"), reservation("docs/a.md", "alice")];
        let found = |path: &str, name: &str| {
            let wanted = [pattern("free"), pattern(path)];
            conflict(&all, &wanted, &holder(name), Case::Told).map(|(_, held)| held[0].holder.name.clone())
        };
        for (path, name, in_the_way) in [
            ("src/a.rs", "alice", Some("bob")),
            ("src/a.rs", "bob", None),
            ("docs", "bob", Some("alice")),
            ("**/*.md", "bob", Some("alice")),
            ("docs/b.md", "bob", None),
        ] {
            assert_eq!(found(path, name).as_deref(), in_the_way, "{path} {name}");
        }
    }

    #[test]
    fn reserving_again_extends() {
        let mut all = vec![reservation("src", "bob")];
        let later = Reservation {
            since: Stamp::from_millis(5),
            until: Stamp::from_millis(50),
            reason: Some("lexer".to_owned()),
            ..reservation("src", "bob")
        };
        add(&mut all, &later);
        add(&mut all, &Reservation { reason: None, ..later.clone() });
        assert_eq!(all, [Reservation { since: Stamp::from_millis(0), ..later }]);
        add(&mut all, &reservation("src/a", "bob"));
        assert_eq!(all.len(), 2);
        assert!(all[1].is_expired(Stamp::from_millis(10)) && !all[1].is_expired(Stamp::from_millis(9)));
    }

    #[test]
    fn a_path_is_released_by_who_holds_it_or_decides_over_its_holder() {
        let all = [reservation("src/a", "bob"), reservation("src/b", "bob"), reservation("docs", "alice")];
        let released = |path: &str, name: &str| {
            release(&all, &pattern(path), &holder(name), Case::Told, |_| name == "lead")
        };
        for (path, name, expected) in [
            ("src/a", "bob", Released::Places(vec![0])),
            ("src", "bob", Released::Places(vec![0, 1])),
            (".", "bob", Released::Places(vec![0, 1])),
            (".", "lead", Released::Places(vec![0, 1, 2])),
            ("docs", "bob", Released::NotYours(2)),
            ("docs", "lead", Released::Places(vec![2])),
            ("src/a/deep", "bob", Released::None(Some(0))),
            ("none", "bob", Released::None(None)),
        ] {
            assert_eq!(released(path, name), expected, "{path} {name}");
        }
    }
}
