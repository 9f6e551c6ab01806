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
    /// Whether it is there, as its home says: `online`, `idle`, `stalled`, `offline` or `unknown`.
    pub state: String,
    /// When its home last said so.
    pub seen_at: Option<Stamp>,
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

/// What each is called here. Leads and names that are held twice are `NAME.MACHINE`, all others have their own name. A
/// name whose file another one here has is refused: two members would share an inbox.
pub(super) fn place(local: &[&str], remote: &[RemoteMember]) -> Places {
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
    for member in remote {
        let RemoteMember { name, machine, .. } = member;
        let mut refuse = |why: String| {
            refused.push(Refusal { name: name.clone(), machine: machine.clone(), why });
        };
        let is_held_twice = local.contains(name.as_str()) || holders[name.as_str()].len() > 1;
        let is_own = member.is_lead || name == USER;
        let called = if is_own || is_held_twice { machine.qualify(name) } else { name.clone() };
        // A name from elsewhere is not what `called` makes of it: it may have a dot and another machine's name in it.
        let is_plain =
            MemberName::parse(name).is_ok() && machines.iter().all(|machine| machine.unqualify(name) == name);
        match MemberName::parse(&called) {
            _ if name == USER => {}
            _ if !is_plain => refuse(format!("{name:?} cannot be a member's name on several machines")),
            Err(error) => refuse(error.to_string()),
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
        RemoteMember { name, machine, is_lead, state: "online".to_owned(), seen_at: None }
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
            let (placed, why) = place(&["team-lead", "ann", "ann.7"], &remote);
            assert_eq!(placed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), *names, "{case}");
            assert_eq!(
                why.iter().map(|refusal| refusal.name.as_str()).collect::<Vec<_>>(),
                *refused,
                "{case}"
            );
        }
    }

    /// Every pair of names would be compared: minutes, every few seconds.
    #[test]
    fn many_names_of_one_machine_are_placed_at_once() {
        let remote: Vec<RemoteMember> =
            (0..50_000).map(|number| member(&format!("member-{number:08}"), "laptop", false)).collect();
        let start = Instant::now();
        assert_eq!(place(&["team-lead"], &remote).0.len(), remote.len());
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    }
}
