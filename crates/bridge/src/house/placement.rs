//! Which members other machines have, by what they announced and by where members have moved since: a pure decision.

use std::collections::BTreeMap;

use atm_office::machines::RemoteMember;
use atm_wire::Stamp;

use super::Neighbour;
use crate::envelope::SharedMember;
use crate::name::Machine;
use crate::protocol::homes::{Entries, Homes, MemberKey, Place};

/// The members of other machines in a shared team. One whose former home announces it still is where it has moved.
pub(super) fn members_of(
    team: &str,
    (me, own): (&Machine, &Entries),
    homes: &Homes,
    neighbours: &BTreeMap<Machine, Neighbour>,
) -> Vec<RemoteMember> {
    let announced = |machine: &Machine| {
        let teams = neighbours.get(machine).into_iter().flat_map(|neighbour| &neighbour.teams);
        teams.filter(|shared| shared.name == team).flat_map(|shared| &shared.members)
    };
    let newest = newest_homes(neighbours.keys().flat_map(|machine| {
        announced(machine).filter(|member| !member.lead).map(move |member| (machine, member))
    }));
    let mut remote: Vec<RemoteMember> = Vec::new();
    for (machine, neighbour) in neighbours {
        // To the minute: a heartbeat alone is nothing to write down.
        let seen_at = Stamp::from_millis(neighbour.seen_at.as_millis() / 60_000 * 60_000);
        for member in announced(machine) {
            let key = MemberKey { team: team.to_owned(), name: member.name.clone() };
            let known = homes.home_of(&key);
            // What is remembered of homes may be older than the list.
            let is_here = own.contains_key(&key);
            // A home is announced under an epoch that its own machine has registered: one that is higher than what is known here is
            // of a move that is about to be heard of.
            let unheard = newest
                .get(member.name.as_str())
                .filter(|(epoch, _)| known.is_some_and(|known| known.epoch < *epoch) && !member.lead);
            let place = match unheard {
                Some((epoch, home)) if member.epoch.is_some_and(|own| own < *epoch) => {
                    Place::Moved((*home).clone())
                }
                _ if member.lead => Place::There,
                _ => match homes.place(&key, machine, member.epoch) {
                    Place::Moved(home) if home == *me && !is_here => Place::There,
                    place => place,
                },
            };
            let leaves_here =
                unheard.is_some_and(|(_, home)| *home == machine || matches!(place, Place::Moved(_)));
            if leaves_here && is_here && known.is_some_and(|known| known.machine == *me) {
                // It is the member that is here, and leaves in a moment.
                continue;
            }
            let (machine, state, seen_at) = match place {
                Place::There if neighbour.is_present => {
                    (machine.clone(), member.state.as_str(), Some(seen_at))
                }
                Place::There => (machine.clone(), "offline", Some(seen_at)),
                Place::Moved(home) => (home, "unknown", None),
            };
            // Its new home tells more of it, as soon as that announces it.
            let is_moved = seen_at.is_none();
            let is_told = || announced(&machine).any(|other| other.name == member.name);
            let is_listed =
                || remote.iter().any(|other| other.name == member.name && other.machine == machine);
            if is_moved && (machine == *me || is_told() || is_listed()) {
                continue;
            }
            let (name, state) = (member.name.clone(), state.to_owned());
            let is_lead = member.lead;
            let holder = unheard.map(|(_, home)| *home).or(known.map(|known| &known.machine));
            let holds_name = !is_lead && holder == Some(&machine);
            let epoch = homes.epoch_at(&key, &machine).filter(|_| is_moved).or(member.epoch);
            remote.push(RemoteMember { name, machine, is_lead, holds_name, state, seen_at, epoch });
        }
    }
    remote
}

/// The home of each member that is announced under the highest epoch.
fn newest_homes<'a>(
    members: impl Iterator<Item = (&'a Machine, &'a SharedMember)>,
) -> BTreeMap<&'a str, (u64, &'a Machine)> {
    let mut newest: BTreeMap<&str, (u64, &Machine)> = BTreeMap::new();
    for (machine, member) in members {
        let Some(epoch) = member.epoch else { continue };
        let known = newest.entry(&member.name).or_insert((epoch, machine));
        *known = (*known).max((epoch, machine));
    }
    newest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::{SharedMember, SharedTeam};
    use crate::protocol::homes::{Former, Residence, Resident, Slot};

    const NOW: i64 = 1_800_000_000_000;

    fn machine(name: &str) -> Machine {
        name.parse().unwrap()
    }

    fn says(name: &str, epoch: Option<u64>) -> Neighbour {
        let members = vec![SharedMember { name: name.into(), lead: false, state: "idle".into(), epoch }];
        let teams = vec![SharedTeam { name: "alpha".into(), members }];
        Neighbour { teams, is_present: true, seen_at: Stamp::from_millis(NOW), said_at: None, beat_at: None }
    }

    fn homes_of_bob(home: &str, epoch: u64, former: &[&str]) -> Homes {
        let resident = Resident::Unknown;
        let former = former.iter().map(|name| Former { machine: machine(name), resident }).collect();
        let at = Stamp::from_millis(NOW);
        let residence = Residence { machine: machine(home), epoch, at, resident, former };
        let bob = MemberKey { team: "alpha".into(), name: "bob".into() };
        let mut homes = Homes::default();
        homes.find(bob, Slot::Residence(residence, String::new()), 1);
        homes
    }

    /// Bob is on the list of his home.
    fn own_of(me: &str, homes: &Homes) -> Entries {
        let bob = MemberKey { team: "alpha".into(), name: "bob".into() };
        let is_home = homes.home_of(&bob).is_some_and(|home| home.machine == machine(me));
        is_home.then_some((bob, Resident::Unknown)).into_iter().collect()
    }

    /// A bridge that was killed before it could remember that its member has left took it off the list of the team.
    #[test]
    fn who_is_not_on_the_list_here_is_where_it_is_announced_whatever_is_remembered() {
        let neighbours = BTreeMap::from([(machine("desk"), says("bob", Some(2)))]);
        for epoch in [1, 3] {
            let homes = homes_of_bob("hub", epoch, &[]);
            let remote = members_of("alpha", (&machine("hub"), &Entries::new()), &homes, &neighbours);
            let found: Vec<&str> = remote.iter().map(|one| one.machine.as_str()).collect();
            assert_eq!(found, ["desk"], "{epoch}");
        }
    }

    type Row<'a> = (&'a str, &'a str, Option<u64>, Option<Option<u64>>, &'a [(&'a str, &'a str)]);

    #[test]
    fn a_member_is_where_it_has_moved_also_if_its_former_home_is_off() {
        let homes = homes_of_bob("desk", 2, &["hub"]);
        let rows: &[Row] = &[
            ("the former home alone announces it", "laptop", Some(1), None, &[("desk", "unknown")]),
            ("both do", "laptop", Some(1), Some(Some(2)), &[("desk", "idle")]),
            (
                "the former home has another of the name",
                "laptop",
                None,
                Some(Some(2)),
                &[("desk", "idle"), ("hub", "idle")],
            ),
            ("it is here", "desk", Some(1), None, &[]),
        ];
        for (case, me, hub, desk, expected) in rows {
            let mut neighbours = BTreeMap::from([(machine("hub"), says("bob", *hub))]);
            neighbours.extend(desk.map(|epoch| (machine("desk"), says("bob", epoch))));
            let remote = members_of("alpha", (&machine(me), &own_of(me, &homes)), &homes, &neighbours);
            let found: Vec<_> =
                remote.iter().map(|member| (member.machine.as_str(), member.state.as_str())).collect();
            assert_eq!(found, *expected, "{case}");
        }
    }

    /// Announcements and homes are heard on two ways: on both machines and on a third one the member was there twice meanwhile.
    #[test]
    fn a_home_that_was_not_heard_of_yet_counts_as_soon_as_its_machine_announces_it() {
        let homes = homes_of_bob("hub", 1, &[]);
        let listed = |me: &str, said: &[(&str, Option<u64>)]| {
            let neighbours = said.iter().map(|(name, epoch)| (machine(name), says("bob", *epoch))).collect();
            let remote = members_of("alpha", (&machine(me), &own_of(me, &homes)), &homes, &neighbours);
            remote.iter().map(|one| (one.machine.to_string(), one.holds_name)).collect::<Vec<_>>()
        };
        let desk = vec![("desk".to_owned(), true)];
        assert_eq!(listed("laptop", &[("hub", Some(1)), ("desk", Some(2))]), desk, "on a third machine");
        assert_eq!(listed("laptop", &[("desk", Some(2))]), desk, "the old home is off");
        assert_eq!(listed("hub", &[("desk", Some(2))]), [], "at the old home");
        assert_eq!(listed("hub", &[("desk", Some(2)), ("cloud", Some(3))]), [], "there, after two moves");
        let another = vec![("desk".to_owned(), false), ("hub".to_owned(), true)];
        assert_eq!(listed("laptop", &[("hub", Some(1)), ("desk", None)]), another, "another one of the name");
    }
}
