//! A client's settings file that `install` edits: whole, the old one or the new one, and it can be put back.

use std::fs;

use atm_office::OfficeError;
use atm_store::client_file::{ClientFile, Touched};
use atm_store::{Layout, State};

use crate::cases::Trial;
use crate::checks::{ensure, no_litter, says_done};
use crate::world::World;

const BEFORE: &str = "{\n  // mine\n  \"hooks\": {}\n}\n";
const AFTER: &str = "{\n  // mine\n  \"hooks\": {\"Stop\": []}\n}\n";

#[test]
fn editing_a_clients_settings() {
    let world = World::new(Layout::Array);
    let path = world.root().join("settings.json");
    fs::write(&path, BEFORE).unwrap();
    let install = || -> Result<(), OfficeError> {
        let file = ClientFile::new(&path, &State::new(world.state()));
        let before = file.read()?;
        let after = AFTER.to_owned();
        let touched =
            Touched { path: path.clone(), before: Some(BEFORE.to_owned()), after, folders: Vec::new() };
        Ok(file.replace(before.as_deref(), Some(AFTER), Some(&touched))?)
    };
    let judge = |answer: Option<Result<(), OfficeError>>| {
        let now = fs::read_to_string(&path).unwrap();
        let is_right = match &answer {
            Some(answer) if says_done(answer) => now == AFTER,
            Some(_) => now == BEFORE,
            None => now == BEFORE || now == AFTER,
        };
        ensure(is_right, || format!("answered {answer:?}, and it holds {now:?}"))?;
        let file = ClientFile::new(&path, &State::new(world.state()));
        let can_be_undone = file.touched().is_some_and(|touched| touched.before.as_deref() == Some(BEFORE));
        ensure(now == BEFORE || can_be_undone, || "it has changed, and nobody knows what it was".to_owned())?;
        install().map_err(|why| format!("the next one fails: {why}"))?;
        ensure(fs::read_to_string(&path).unwrap() == AFTER, || "the next one does not install".to_owned())?;
        no_litter(&world)?;
        fs::remove_file(&path).map_err(|error| error.to_string())
    };
    Trial { name: "install", world: &world, command: &install, judge: &judge }.run(false);
}
