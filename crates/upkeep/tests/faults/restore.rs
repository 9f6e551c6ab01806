//! Restoring a backup: the team is there as it was, or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use atm_office::OfficeError;
use atm_store::Layout;
use atm_upkeep::backup::{self, BackupPlan, RestorePlan, Restored};

use crate::cases::Trial;
use crate::checks::{ensure, everything_parses, is_named_lock, no_litter, says_done};
use crate::world::World;

fn restore(world: &World, later: i64, file: &Path) -> Result<Restored, OfficeError> {
    let plan = RestorePlan { file: file.to_owned(), ..RestorePlan::default() };
    backup::restore(&world.office(later), &plan, &mut |_, _| ())
}

#[test]
fn restoring_a_team() {
    let world = World::new(Layout::Array);
    let file = world.root().join("demo.tar.zst");
    let plan = BackupPlan { out: file.clone(), ..BackupPlan::default() };
    backup::backup(&world.office(-60), &world.team, &plan, &mut |_, _| ()).unwrap();
    let content = || -> BTreeMap<String, Vec<u8>> {
        let files = world
            .files()
            .into_iter()
            .filter(|(name, path)| name.starts_with("root/teams/demo/") && path.is_file());
        files
            .filter(|(_, path)| !is_named_lock(path))
            .map(|(name, path)| (name, fs::read(path).unwrap()))
            .collect()
    };
    let before = content();
    fs::remove_dir_all(world.team_folder()).unwrap();
    let judge = |answer: Option<Result<Restored, OfficeError>>| {
        let is_there = world.team_folder().exists();
        let is_right = match &answer {
            Some(answer) => is_there == says_done(answer),
            None => true,
        };
        ensure(is_right, || format!("answered {answer:?}, and it is there: {is_there}"))?;
        let now = content();
        ensure(!is_there || now == before, || format!("it is there in part: {:?}", now.keys()))?;
        if is_there {
            // So that there can be a next one.
            fs::remove_dir_all(world.team_folder()).unwrap();
        }
        restore(&world, 2, &file).map_err(|why| format!("the next one fails: {why}"))?;
        let now = content();
        ensure(now == before, || format!("the next one restores {:?}", now.keys()))?;
        no_litter(&world)?;
        world.send(4, "bob", "the next one")?;
        fs::remove_file(&file).unwrap();
        everything_parses(&world)
    };
    Trial { name: "restore", world: &world, command: &|| restore(&world, 0, &file), judge: &judge }
        .run(false);
}
