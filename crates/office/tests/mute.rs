//! What is muted is left out of the picture for a while, and comes back.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::time::Duration;

use atm_office::Office;
use atm_office::clock::FixedClock;
use atm_office::mail::send::{Letter, SendOptions};
use atm_office::tasks::TaskPlan;
use atm_office::view::TeamPicture;
use atm_office::view::mute::{Muted, USUAL};
use atm_store::Layout;
use atm_support::{TestEnv, TestTeam};
use atm_wire::{MemberName, Stamp};

const NOW: i64 = 1_794_768_000_000;
const HOUR: i64 = 3_600_000;

struct World {
    team: TestTeam,
    office: Office,
}

impl World {
    fn new() -> Self {
        let team = TestEnv::new().team("demo", Layout::Array, &["team-lead", "bob"]);
        for name in ["team-lead", "bob", "user"] {
            team.mailbox(name).create().unwrap();
        }
        let office = Office::new(team.env().store_root(), team.env().store_state());
        Self { team, office }
    }

    /// The office so many milliseconds later.
    fn at(&self, later: i64) -> Office {
        self.office.clone().with_clock(FixedClock(Stamp::from_millis(NOW + later)))
    }

    fn picture(&self, later: i64) -> TeamPicture {
        self.at(later).picture(self.team.name(), &name("user")).unwrap()
    }

    fn send(&self, from: &str, to: &str, ack_by: Option<Duration>) -> String {
        let letter = Letter { ack_by, ..Letter::new(to.parse().unwrap(), "please".to_owned()) };
        self.at(0).send(self.team.name(), &name(from), &letter, SendOptions::default()).unwrap().id
    }
}

fn name(text: &str) -> MemberName {
    MemberName::parse(text).unwrap()
}

#[test]
fn a_message_a_member_and_a_task_are_muted_until_their_time_is_over() {
    let world = World::new();
    let late = world.send("team-lead", "bob", Some(Duration::from_secs(60)));
    world.send("bob", "user", None);
    let before = world.picture(HOUR);
    assert_eq!((before.attention.len(), before.for_you.len(), before.muted.len()), (1, 1, 0), "{before:?}");

    let office = world.at(HOUR);
    let team = office.team(world.team.name()).unwrap();
    let mute = team.mute(&late[late.len() - 8..], USUAL).unwrap();
    assert_eq!((mute.kind, &mute.what), (Muted::Message, &late));
    let muted = world.picture(HOUR);
    assert_eq!((muted.attention.len(), muted.muted.len()), (0, 1));
    assert_ne!(muted.essence(), before.essence(), "a front that compares sees the difference");
    assert!(muted.pending.iter().any(|waiting| waiting.message.id == late), "it still waits");
    // It ends by itself.
    assert_eq!(world.picture(26 * HOUR).muted, []);
    assert_eq!(world.picture(26 * HOUR).attention.len(), 1);

    // All about bob, the message too; said again, it is one mute with a new end.
    team.unmute(&late[..6]).unwrap().unwrap();
    team.mute("bob", Duration::from_secs(60)).unwrap();
    team.mute("bob", USUAL).unwrap();
    assert_eq!(world.picture(HOUR).attention, []);
    assert_eq!(team.mutes().unwrap().len(), 1);
    assert_eq!(team.unmute("bob").unwrap().map(|mute| mute.kind), Some(Muted::Member));
    assert_eq!(team.unmute("bob").unwrap(), None);
    // Who notifies people knows for a while that it was muted, and until when.
    let recent = team.recent_mutes().unwrap();
    assert!(recent.iter().any(|mute| mute.what == "bob" && mute.until == office.now()), "{recent:?}");
    assert_eq!(world.at(9 * 24 * HOUR).team(world.team.name()).unwrap().recent_mutes().unwrap(), []);
    assert_eq!(world.picture(HOUR).attention.len(), 1);

    // One's own mail is left out, too.
    let mine = world.picture(HOUR).for_you[0].id.clone();
    team.mute(&mine, USUAL).unwrap();
    assert_eq!(world.picture(HOUR).for_you.len(), 0);

    let task = TaskPlan { subject: "Mend it".to_owned(), ..TaskPlan::default() };
    team.tasks().create(&name("team-lead"), &task).unwrap();
    assert_eq!(team.mute("1", USUAL).unwrap().kind, Muted::Task);
    for unknown in ["2", "bbo", "00000000", ""] {
        assert!(team.mute(unknown, USUAL).is_err(), "{unknown:?}");
    }
}
