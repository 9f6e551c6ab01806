//! What the documents promise to a new user: their tours work as they stand.

use std::fs;
use std::path::Path;

use crate::scene::World;

/// The block of a document that is marked as a tour.
fn tour(document: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document);
    let text = fs::read_to_string(path).unwrap();
    let (_, rest) = text.split_once("```sh tour\n").expect("the tour is marked");
    rest.split_once("\n```").expect("the tour ends").0.to_owned()
}

/// Runs a tour in an empty folder, and returns what it printed.
fn run(world: &World, folder: &Path, document: &str) -> String {
    fs::create_dir(folder).unwrap();
    let output = world.shell().args(["-euc", &tour(document)]).current_dir(folder).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{stdout}\n{}", String::from_utf8_lossy(&output.stderr));
    stdout
}

fn assert_all_stages(stdout: &str) {
    for stage in ["accepted", "written", "taken", "seen", "acked", "done"] {
        assert!(
            stdout.lines().any(|line| line.trim_start().contains(&format!("  {stage} "))),
            "no {stage}: {stdout}"
        );
    }
}

#[test]
fn the_tour_works_as_it_stands_and_follows_a_message_to_its_end() {
    let world = World::new();
    assert_all_stages(&run(&world, &world.home().join("empty"), "README.md"));
}

#[test]
fn the_longer_tour_works_as_it_stands_and_draws_a_chart() {
    let world = World::new();
    let folder = world.home().join("empty");
    assert_all_stages(&run(&world, &folder, "docs/guides/tour.md"));
    assert!(fs::read_to_string(folder.join("chart.svg")).unwrap().starts_with("<svg"));
}
