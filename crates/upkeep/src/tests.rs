//! Long work says how far it is, wherever the total is known.

use std::fs::File;

use atm_office::Office;
use atm_office::mail::send::{Letter, SendOptions};
use atm_office::people::members::MemberPlan;
use atm_office::people::teams::TeamPlan;
use atm_store::{Root, State};
use atm_wire::TeamName;

use crate::export::{Format, export};
use crate::import::{ImportPlan, import};
use crate::{Progress, doctor, migrate};

fn team_with_mail(office: &Office) -> TeamName {
    let team = office.create_team(&TeamPlan::new("demo", "Shows progress")).unwrap();
    for name in ["alice", "bob", "carol"] {
        office.add_member(&team, &MemberPlan::new(name)).unwrap();
        let letter = Letter::new(name.parse().unwrap(), "please look at the build");
        office.send(&team, &"user".parse().unwrap(), &letter, SendOptions::default()).unwrap();
    }
    team
}

/// What was reported: it only grows, and never beyond the total, which is known from the start.
fn reported(work: impl FnOnce(Progress)) -> Vec<(u64, u64)> {
    let mut all = Vec::new();
    work(&mut |done, of| all.push((done, of)));
    assert!(all.windows(2).all(|two| two[0].0 <= two[1].0 && two[0].1 == two[1].1), "{all:?}");
    assert!(all.iter().all(|(done, of)| done <= of && *of > 0), "{all:?}");
    all
}

#[test]
fn doctor_migrate_and_import_say_how_far_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let office = Office::new(Root::new(at("root")), State::new(at("state")));
    let team = team_with_mail(&office);

    let inboxes = reported(|progress| drop(doctor::examine(&office, None, progress).unwrap()));
    // The lead has one, too.
    assert_eq!(inboxes, [(1, 4), (2, 4), (3, 4), (4, 4)]);

    let bytes = reported(|progress| drop(migrate::migrate(&office, &team, true, true, progress).unwrap()));
    let (first, last) = (bytes[0], bytes[bytes.len() - 1]);
    assert!(bytes.len() > 3 && first.0 == 0 && last.0 == last.1, "{bytes:?}");

    let mut file = File::create(at("export.json")).unwrap();
    export(&office, &team, Format::Json, &mut file, &at("export.json"), &mut |_, _| {}).unwrap();
    let plan = ImportPlan { file: at("export.json"), name: Some("copy".to_owned()), ..ImportPlan::default() };
    let messages = reported(|progress| drop(import(&office, &plan, progress).unwrap()));
    assert_eq!(messages, [(0, 3), (1, 3), (2, 3)]);
}
