//! A team that cannot be read, beside others.

use std::collections::BTreeMap;
use std::fs;

use atm_bridge::envelope::{SharedMember, SharedTeam};
use atm_bridge::house::{Neighbour, Outcome};
use atm_bridge::local::Local;
use atm_bridge::protocol::homes::{Content, MemberKey, Resident, Slot};
use atm_office::people::members::MemberPlan;
use atm_wire::Stamp;

use crate::house::{Site, all, machine, residence, team};

/// Laptop shares `beta`, which comes first, and `demo`; all its ordinary members are at home there.
fn laptop() -> Site {
    let mut laptop = Site::new("laptop", &["ann"]);
    laptop.share("beta", &["zoe"]);
    all(laptop.house.shared());
    hear(&mut laptop);
    laptop
}

/// The bucket of homes is read.
fn hear(laptop: &mut Site) {
    let homes = laptop.house.homes_mut();
    for (team, name) in [("demo", "ann"), ("beta", "zoe")] {
        let key = MemberKey { team: team.into(), name: name.into() };
        homes.find(key, Slot::Residence(residence("laptop", 1, &[], 0), String::new()), 1);
    }
    homes.complete();
}

/// A client leaves nonsense in the configuration of `beta`.
fn break_beta(laptop: &Site) {
    fs::write(laptop.folder.path().join("root/teams/beta/config.json"), "{").unwrap();
}

/// Who is announced, by team.
fn names(teams: &[SharedTeam]) -> Vec<(&str, Vec<&str>)> {
    let mut named = Vec::new();
    for team in teams {
        named.push((team.name.as_str(), team.members.iter().map(|member| member.name.as_str()).collect()));
    }
    named
}

fn is_given_up(laptop: &Site) -> bool {
    laptop.house.puts().iter().any(|put| matches!(put.what, Content::New { resident: Resident::Nobody, .. }))
}

/// The bridge announced nothing any more, of any team: other machines took the whole machine for away.
#[test]
fn a_team_that_cannot_be_read_keeps_its_list_and_silences_no_other_one() {
    let mut laptop = laptop();
    let before = all(laptop.house.shared());
    break_beta(&laptop);
    laptop.office.add_member(&team(), &MemberPlan::new("eve")).unwrap();
    let Outcome { done: now, trouble } = laptop.house.shared();
    assert!(trouble.unwrap().to_string().contains("config.json"), "it is told");
    assert_eq!(names(&now[..1]), names(&before[..1]), "beta is as it was");
    assert_eq!(names(&now[1..]), [("demo", vec!["team-lead", "ann", "eve"])]);
    assert!(!is_given_up(&laptop), "nobody of it is known to be gone");
    // A team that is not there any more has nobody.
    fs::remove_dir_all(laptop.folder.path().join("root/teams/beta")).unwrap();
    assert_eq!(names(&all(laptop.house.shared())).len(), 1);
    assert!(is_given_up(&laptop));
}

#[test]
fn a_team_that_cannot_be_read_at_a_start_is_announced_as_it_was_before() {
    let mut laptop = laptop();
    let before = all(laptop.house.shared());
    let listed = serde_json::to_string(&laptop.house.listed()).unwrap();
    break_beta(&laptop);
    laptop.restart();
    laptop.house.set_listed(serde_json::from_str(&listed).unwrap());
    hear(&mut laptop);
    let Outcome { done: now, trouble } = laptop.house.shared();
    assert!(trouble.is_some());
    assert_eq!(names(&now), names(&before));
    assert!(now[0].members.iter().all(|member| member.state == "unknown"), "nobody has looked: {now:?}");
    assert!(!is_given_up(&laptop), "nobody of it is known to be gone");
}

#[test]
fn members_of_other_machines_come_into_a_team_beside_one_that_cannot_be_read() {
    let mut laptop = laptop();
    break_beta(&laptop);
    laptop.restart();
    let _ = laptop.house.shared();
    let bob = SharedMember { name: "bob".into(), lead: false, state: "idle".into(), epoch: Some(1) };
    let shared = |name: &str| SharedTeam { name: name.into(), members: vec![bob.clone()] };
    let (teams, seen_at) = (vec![shared("beta"), shared("demo")], Stamp::from_millis(0));
    let hub = Neighbour { teams, is_present: true, seen_at, said_at: Some(seen_at), beat_at: None };
    let Outcome { done: has_changed, trouble } = laptop.house.place(&BTreeMap::from([(machine("hub"), hub)]));
    assert!(has_changed && trouble.is_some());
    assert!(laptop.office.members(&team()).unwrap().iter().any(|member| member.name == "bob"));
    // Nor is their lead forgotten.
    laptop.send("team-lead", "bob", "hello");
    assert_eq!(
        laptop.house.outgoing(0, 9).unwrap().iter().map(|letter| letter.from_lead).collect::<Vec<_>>(),
        [true]
    );
}
