//! Which members other machines have, by what they announced and by where members have moved since: a pure decision.

use std::collections::BTreeMap;

use atm_office::machines::RemoteMember;
use atm_wire::Stamp;

use super::Neighbour;
use crate::name::Machine;
use crate::protocol::homes::{Homes, MemberKey, Place};

/// The members of other machines in a shared team. One whose former home announces it still is where it has moved.
pub(super) fn members_of(
    team: &str,
    me: &Machine,
    homes: &Homes,
    neighbours: &BTreeMap<Machine, Neighbour>,
) -> Vec<RemoteMember> {
    let announced = |machine: &Machine| {
        let teams = neighbours.get(machine).into_iter().flat_map(|neighbour| &neighbour.teams);
        teams.filter(|shared| shared.name == team).flat_map(|shared| &shared.members)
    };
    let mut remote: Vec<RemoteMember> = Vec::new();
    for (machine, neighbour) in neighbours {
        // To the minute: a heartbeat alone is nothing to write down.
        let seen_at = Stamp::from_millis(neighbour.seen_at.as_millis() / 60_000 * 60_000);
        for member in announced(machine) {
            let key = MemberKey { team: team.to_owned(), name: member.name.clone() };
            let place = if member.lead { Place::There } else { homes.place(&key, machine, member.epoch) };
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
            remote.push(RemoteMember { name, machine, is_lead: member.lead, state, seen_at });
        }
    }
    remote
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::{SharedMember, SharedTeam};
    use crate::protocol::homes::Residence;

    const NOW: i64 = 1_800_000_000_000;

    fn machine(name: &str) -> Machine {
        name.parse().unwrap()
    }

    fn says(name: &str, epoch: Option<u64>) -> Neighbour {
        let members = vec![SharedMember { name: name.into(), lead: false, state: "idle".into(), epoch }];
        let teams = vec![SharedTeam { name: "alpha".into(), members }];
        Neighbour { teams, is_present: true, seen_at: Stamp::from_millis(NOW), said_at: None, beat_at: None }
    }

    type Row<'a> = (&'a str, &'a str, Option<u64>, Option<Option<u64>>, &'a [(&'a str, &'a str)]);

    #[test]
    fn a_member_is_where_it_has_moved_also_if_its_former_home_is_off() {
        let mut homes = Homes::default();
        let residence = Residence {
            machine: machine("desk"),
            epoch: 2,
            at: Stamp::from_millis(NOW),
            former: vec![machine("hub")],
        };
        let bob = MemberKey { team: "alpha".into(), name: "bob".into() };
        homes.find(bob, Some((residence, String::new())), 1);
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
            let remote = members_of("alpha", &machine(me), &homes, &neighbours);
            let found: Vec<_> =
                remote.iter().map(|member| (member.machine.as_str(), member.state.as_str())).collect();
            assert_eq!(found, *expected, "{case}");
        }
    }
}
