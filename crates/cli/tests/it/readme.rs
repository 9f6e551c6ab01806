//! What the README promises to a new user: its tour works as it stands.

use std::fs;
use std::path::Path;

use crate::scene::World;

/// The block of the README that is marked as the tour.
fn tour() -> String {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = fs::read_to_string(readme).unwrap();
    let (_, rest) = text.split_once("```sh tour\n").expect("the tour is marked");
    rest.split_once("\n```").expect("the tour ends").0.to_owned()
}

#[test]
fn the_tour_works_as_it_stands_and_follows_a_message_to_its_end() {
    let world = World::new();
    let folder = world.home().join("empty");
    fs::create_dir(&folder).unwrap();
    let output = world.shell().args(["-euc", &tour()]).current_dir(&folder).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}\n{}", String::from_utf8_lossy(&output.stderr));
    for stage in ["accepted", "written", "taken", "seen", "acked", "done"] {
        assert!(
            stdout.lines().any(|line| line.trim_start().contains(&format!("  {stage} "))),
            "no {stage}: {stdout}"
        );
    }
    assert!(fs::read_to_string(folder.join("chart.svg")).unwrap().starts_with("<svg"));
}
