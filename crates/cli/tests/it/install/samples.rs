//! Clients' files, as their users and the clients themselves write them: in `tests/fixtures/clients/CLIENT/CASE`.

use std::fs;
use std::path::Path;

use crate::scene::{World, tree};

/// A client's files, each with its name below the home folder.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) client: String,
    pub(super) case: String,
    pub(super) files: Vec<(String, String)>,
}

impl Sample {
    /// All of them.
    pub(super) fn all() -> Vec<Self> {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/clients");
        let mut samples = Vec::new();
        for client in names_in(&top) {
            for case in names_in(&top.join(&client)) {
                let folder = top.join(&client).join(&case);
                let files = tree(&folder).into_iter().filter(|path| path.is_file()).map(|path| {
                    let name = path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
                    (name, fs::read_to_string(path).unwrap())
                });
                samples.push(Self { client: client.clone(), case, files: files.collect() });
            }
        }
        assert!(samples.len() >= 14, "{samples:?}");
        samples
    }

    /// A home with these files.
    pub(super) fn world(&self) -> World {
        let world = World::new();
        for (name, text) in &self.files {
            world.put(name, text);
        }
        world
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}
