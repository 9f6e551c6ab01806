//! `atm install` and `atm primer`: clients' own files, with comments and odd formatting, there and back.

mod checks;
mod opencode;
mod refusals;
mod reservations;
mod round_trips;
mod samples;
mod teaching;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::scene::{ATM, Answer, World};

impl World {
    /// Writes a file below the home folder.
    fn put(&self, name: &str, text: &str) {
        let path = self.home().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn get(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.home().join(name)).ok()
    }

    /// Makes a client that is a shell script; only our own folder of programs is on the path.
    fn program_is(&self, name: &str, script: &str) {
        let path = self.home().join("bin").join(name);
        self.put(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// `atm install` on a machine with us, the clients that the test made, and no others.
    fn install(&self, args: &[&str]) -> Answer {
        let mut command = self.command(&[&["install"], args].concat());
        let ours = Path::new(ATM).parent().unwrap();
        let path = [&self.home().join("bin"), ours, Path::new("/usr/bin"), Path::new("/bin")];
        command.env("PATH", std::env::join_paths(path).unwrap());
        Answer::of(self, &command.output().unwrap())
    }

    fn installs(&self, args: &[&str]) -> String {
        let answer = self.install(args);
        assert_eq!(answer.code, Some(0), "{answer:?}");
        answer.stdout
    }
}
