//! What members of other machines are called here: a pure decision.

use std::collections::{BTreeSet, HashMap, HashSet};

use atm_wire::{MachineName, MemberName, Stamp};
use serde::{Deserialize, Serialize};

use crate::office::USER;

/// A member of another machine, under the name that it has there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteMember {
    /// Its name there.
    pub name: String,
    /// Its home.
    pub machine: MachineName,
    /// It leads the team on its machine.
    pub is_lead: bool,
    /// The machines of the realm have settled that it is the member of this name: others of the name are `NAME.MACHINE`.
    #[serde(default)]
    pub holds_name: bool,
    /// Whether it is there, as its home says: `online`, `idle`, `stalled`, `offline` or `unknown`.
    pub state: String,
    /// When its home last said so.
    pub seen_at: Option<Stamp>,
    /// The epoch of its home there; none: it is there, and the name is another machine's or nobody's yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
}

/// A member of another machine that has no place here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Its name there.
    pub name: String,
    /// Its home.
    pub machine: MachineName,
    /// Why.
    pub why: String,
}

/// Where everybody is placed, and who cannot be.
pub(super) type Places = (Vec<(MemberName, RemoteMember)>, Vec<Refusal>);

/// What each is called here. Leads, and of names that two have all but the one that holds it, are `NAME.MACHINE`; all others have
/// their own name. A member of this machine has its own name here, even if another machine holds it. A
/// name whose file another one here has is refused: two members would share an inbox.
///
/// `undecided` are names that a member here has got just now, and the holder of each may be that same member a moment before it is
/// at home here: it is not listed beside it yet.
pub(super) fn place(local: &[&str], remote: &[RemoteMember], undecided: &HashSet<&str>) -> Places {
    let stem = |name: &str| MemberName::parse(name).map(|name| name.file_stem());
    let mut files: HashSet<String> = local.iter().filter_map(|name| stem(name).ok()).collect();
    files.insert(USER.to_owned());
    // Machines say as many names as they like: each is looked at once.
    let machines: BTreeSet<&MachineName> = remote.iter().map(|member| &member.machine).collect();
    let mut holders: HashMap<&str, BTreeSet<&MachineName>> = HashMap::new();
    for member in remote {
        holders.entry(&member.name).or_default().insert(&member.machine);
    }
    let local: HashSet<&str> = local.iter().copied().collect();
    let (mut placed, mut refused): Places = (Vec::new(), Vec::new());
    let is_undecided = |member: &RemoteMember| {
        let name = member.name.as_str();
        member.holds_name && undecided.contains(name) && local.contains(name)
    };
    for member in remote.iter().filter(|member| !is_undecided(member)) {
        let RemoteMember { name, machine, .. } = member;
        let mut refuse = |why: String| {
            refused.push(Refusal { name: name.clone(), machine: machine.clone(), why });
        };
        let is_held_twice =
            local.contains(name.as_str()) || (holders[name.as_str()].len() > 1 && !member.holds_name);
        let is_own = member.is_lead || name == USER;
        let called = if is_own || is_held_twice { machine.qualify(name) } else { name.clone() };
        // A name from elsewhere is not what `called` makes of it: it may have a dot and another machine's name in it.
        let is_plain =
            MemberName::parse(name).is_ok() && machines.iter().all(|machine| machine.unqualify(name) == name);
        match MemberName::parse(&called) {
            _ if name == USER => {}
            _ if !is_plain => refuse(format!("{name:?} cannot be a member's name on several machines")),
            // Both of its parts are names.
            Err(_) => refuse(format!(
                "it has to be called NAME.MACHINE here, which is {} bytes long, of at most 64: shorten its name or its machine's (--machine)",
                called.len()
            )),
            Ok(called) if !files.insert(called.file_stem()) => {
                refuse(format!("somebody else here has the inbox of {called}"));
            }
            Ok(called) => placed.push((called, member.clone())),
        }
    }
    (placed, refused)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn member(name: &str, machine: &str, is_lead: bool) -> RemoteMember {
        let (name, machine) = (name.to_owned(), machine.parse().unwrap());
        let (holds_name, state) = (false, "online".to_owned());
        RemoteMember { name, machine, is_lead, holds_name, state, seen_at: None, epoch: None }
    }

    #[test]
    fn names_are_bare_where_they_tell_who_is_meant() {
        type Row<'a> = (&'a str, &'a [(&'a str, &'a str, bool)], &'a [&'a str], &'a [&'a str]);
        let rows: &[Row] = &[
            ("an ordinary name", &[("bob", "laptop", false)], &["bob"], &[]),
            ("a lead", &[("boss", "laptop", true)], &["boss.laptop"], &[]),
            ("held here", &[("ann", "laptop", false)], &["ann.laptop"], &[]),
            (
                "held by two others",
                &[("bob", "laptop", false), ("bob", "desk", false)],
                &["bob.laptop", "bob.desk"],
                &[],
            ),
            ("the user has no entry", &[("user", "laptop", false)], &[], &[]),
            ("the file of another", &[("ann-7", "laptop", false)], &[], &["ann-7"]),
            ("a name of somewhere else", &[("eve.laptop", "laptop", false)], &[], &["eve.laptop"]),
            ("no name", &[("../x", "laptop", false)], &[], &["../x"]),
        ];
        for (case, remote, names, refused) in rows {
            let remote: Vec<RemoteMember> =
                remote.iter().map(|(name, machine, leads)| member(name, machine, *leads)).collect();
            let (placed, why) = place(&["team-lead", "ann", "ann.7"], &remote, &HashSet::new());
            assert_eq!(placed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), *names, "{case}");
            assert_eq!(
                why.iter().map(|refusal| refusal.name.as_str()).collect::<Vec<_>>(),
                *refused,
                "{case}"
            );
        }
    }

    /// In the middle of a move two machines announce the member.
    #[test]
    fn a_name_that_is_held_is_bare_at_its_holder_even_if_others_have_it() {
        let holder = RemoteMember { holds_name: true, ..member("bob", "desk", false) };
        let both = [member("bob", "laptop", false), holder];
        let called = |local: &[&str]| {
            let (placed, refused) = place(local, &both, &HashSet::new());
            assert!(refused.is_empty());
            placed.into_iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(called(&["team-lead"]), ["bob.laptop", "bob"]);
        assert_eq!(called(&["bob"]), ["bob.laptop", "bob.desk"], "ours has its own name here");
        let (placed, refused) = place(&["bob"], &both, &HashSet::from(["bob"]));
        let placed: Vec<&str> = placed.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((placed, refused), (vec!["bob.laptop"], Vec::new()), "the holder may be ours in a moment");
        assert_eq!(place(&[], &both, &HashSet::from(["bob"])).0.len(), 2, "nobody here has the name");
    }

    /// Every pair of names would be compared: minutes, every few seconds.
    #[test]
    fn many_names_of_one_machine_are_placed_at_once() {
        let remote: Vec<RemoteMember> =
            (0..50_000).map(|number| member(&format!("member-{number:08}"), "laptop", false)).collect();
        let start = Instant::now();
        assert_eq!(place(&["team-lead"], &remote, &HashSet::new()).0.len(), remote.len());
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    }
}
