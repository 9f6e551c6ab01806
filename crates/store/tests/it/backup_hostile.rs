//! Backups that somebody made to do harm, or that were damaged: each is refused with its reason, and nothing is written.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use atm_store::StoreError;
use atm_store::backup::{Limits, check};
use atm_wire::backup::hex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

use crate::backup::{Elsewhere, back_up};
use crate::scene::array_team;

/// A tar that says of itself whatever it likes.
struct Hostile {
    there: Elsewhere,
    manifest: Value,
    entries: Vec<(Vec<u8>, EntryType, Vec<u8>, u64)>,
}

impl Hostile {
    /// A good one, of a team with one file.
    fn new() -> Self {
        let manifest = json!({
            "format": "atm-backup", "version": 1, "team": "demo", "root": "/r",
            "createdAt": "2026-11-15T18:42:20.463Z", "atm": "0.1.0",
            "folders": [{ "path": "team", "mode": "0700" }], "files": [],
        });
        let mut hostile = Self { there: Elsewhere::new("demo"), manifest, entries: Vec::new() };
        hostile.entry(b"team", EntryType::Directory, b"");
        hostile.file("team/config.json", b"{}");
        hostile
    }

    /// A file, named in the manifest.
    fn file(&mut self, name: &str, bytes: &[u8]) {
        self.name(name, bytes, bytes.len() as u64);
        self.entry(name.as_bytes(), EntryType::Regular, bytes);
    }

    fn name(&mut self, name: &str, bytes: &[u8], size: u64) {
        let sha256: String = hex(&Sha256::digest(bytes));
        let file = json!({ "path": name, "size": size, "mode": "0600", "sha256": sha256 });
        self.manifest["files"].as_array_mut().unwrap().push(file);
    }

    fn entry(&mut self, name: &[u8], kind: EntryType, bytes: &[u8]) {
        self.entries.push((name.to_vec(), kind, bytes.to_vec(), bytes.len() as u64));
    }

    fn tar(&self) -> Vec<u8> {
        let mut tar = Builder::new(Vec::new());
        let manifest = self.manifest.to_string().into_bytes();
        let own = (b"manifest.json".to_vec(), EntryType::Regular, manifest.clone(), manifest.len() as u64);
        for (name, kind, bytes, size) in [&own].into_iter().chain(&self.entries) {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_mode(0o644);
            header.set_size(*size);
            // As they stand: a decent library would not write these names.
            header.as_old_mut().name[..name.len()].copy_from_slice(name);
            if kind.is_symlink() || kind.is_hard_link() {
                header.set_link_name("/etc/passwd").unwrap();
            }
            header.set_cksum();
            tar.append(&header, bytes.as_slice()).unwrap();
        }
        tar.into_inner().unwrap()
    }

    /// It is refused for this reason, and nothing is left or changed.
    fn assert_refused(&self, reason: &str) {
        self.assert_bytes_refused(&self.tar(), reason);
    }

    fn assert_bytes_refused(&self, bytes: &[u8], reason: &str) {
        fs::write(self.there.file(), bytes).unwrap();
        for error in [self.there.restore().unwrap_err(), check_it(&self.there.file()).unwrap_err()] {
            let text = error.to_string();
            assert!(matches!(error, StoreError::BadBackup { .. }), "{text}");
            assert!(text.contains(reason), "{reason}: {text}");
        }
        assert!(!self.there.team().exists());
        assert!(!self.there.state.archives().exists());
        assert_eq!(self.there.litter(), [] as [PathBuf; 0]);
    }
}

fn check_it(file: &Path) -> Result<(), StoreError> {
    check(file, Limits::default(), &mut |_, _| {}).map(drop)
}

#[test]
fn the_one_that_all_others_are_made_of_is_good() {
    let good = Hostile::new();
    fs::write(good.there.file(), good.tar()).unwrap();
    check_it(&good.there.file()).unwrap();
    good.there.restore().unwrap();
}

#[test]
fn paths_that_lead_elsewhere() {
    for (name, reason) in [
        ("../evil", "leads out of the backup"),
        ("team/../../evil", "leads out of the backup"),
        ("team/..", "leads out of the backup"),
        ("/etc/evil", "is an absolute path"),
        ("evil", "is not below"),
        ("team//evil", "is no path"),
        ("team/./evil", "is no path"),
    ] {
        // In the tar alone, and in the manifest as well.
        let mut hostile = Hostile::new();
        hostile.entry(name.as_bytes(), EntryType::Regular, b"x");
        hostile.assert_refused(reason);
        let mut hostile = Hostile::new();
        hostile.file(name, b"x");
        hostile.assert_refused(reason);
        assert!(!hostile.there.root.path().join("evil").exists());
    }
}

#[test]
fn links_devices_and_the_like() {
    for (kind, reason) in [
        (EntryType::Symlink, "is a link"),
        (EntryType::Link, "is a link"),
        (EntryType::Char, "is a device"),
        (EntryType::Block, "is a device"),
        (EntryType::Fifo, "is a pipe"),
        (EntryType::GNUSparse, "is something else"),
        (EntryType::XHeader, "is something else"),
        (EntryType::GNULongLink, "is something else"),
    ] {
        let mut hostile = Hostile::new();
        hostile.name("team/x", b"", 0);
        hostile.entry(b"team/x", kind, b"");
        hostile.assert_refused(reason);
    }
    // A link where a folder is named, so that files behind it would go elsewhere.
    let mut hostile = Hostile::new();
    hostile.manifest["folders"].as_array_mut().unwrap().push(json!({ "path": "team/sub", "mode": "0700" }));
    hostile.entry(b"team/sub", EntryType::Symlink, b"");
    hostile.file("team/sub/x", b"x");
    hostile.assert_refused("is a link");
}

#[test]
fn what_is_twice_too_much_missing_or_other() {
    let mut twice = Hostile::new();
    twice.entry(b"team/config.json", EntryType::Regular, b"{}");
    twice.assert_refused("is in it twice");

    let mut unknown = Hostile::new();
    unknown.entry(b"team/more", EntryType::Regular, b"x");
    unknown.assert_refused("team/more is not in its manifest");

    let mut folder = Hostile::new();
    folder.entry(b"team/sub", EntryType::Directory, b"");
    folder.assert_refused("team/sub is not in its manifest");

    let mut missing = Hostile::new();
    missing.name("team/gone", b"x", 1);
    missing.assert_refused("team/gone is missing");

    let mut other = Hostile::new();
    other.name("team/x", b"good", 4);
    other.entry(b"team/x", EntryType::Regular, b"evil");
    other.assert_refused("team/x was changed");

    let mut longer = Hostile::new();
    longer.name("team/x", b"good", 4);
    longer.entry(b"team/x", EntryType::Regular, b"good!");
    longer.assert_refused("team/x has 5 bytes, and 4");

    let mut newer = Hostile::new();
    newer.manifest["version"] = json!(2);
    newer.assert_refused("use a newer one");

    let mut other_team = Hostile::new();
    other_team.manifest["team"] = json!("../../evil");
    other_team.assert_refused("evil");
}

#[test]
fn bombs() {
    // It says that it is too much.
    let mut large = Hostile::new();
    large.name("team/x", b"", 17 << 30);
    large.assert_refused("too much");

    // It is packed as no mail is.
    let mut dense = Hostile::new();
    dense.name("team/x", b"", 300 << 20);
    dense.assert_refused("times as large");

    // It says little, and there is more and more.
    let bomb = Hostile::new();
    let mut packed = zstd::Encoder::new(Vec::new(), 3).unwrap();
    let tar = bomb.tar();
    // Without the two empty blocks that end it.
    packed.write_all(&tar[..tar.len() - 1024]).unwrap();
    let mut header = Header::new_gnu();
    header.set_path("team/bomb").unwrap();
    header.set_size(8 << 30);
    header.set_cksum();
    packed.write_all(header.as_bytes()).unwrap();
    for _ in 0..64 {
        packed.write_all(&vec![0; 1 << 20]).unwrap();
    }
    bomb.assert_bytes_refused(&packed.finish().unwrap(), "is not in its manifest");

    // A name without end.
    let mut name = Hostile::new();
    name.entries.push((b"././@LongLink".to_vec(), EntryType::GNULongName, vec![b'x'; 20_000], 20_000));
    name.assert_refused("too long");

    // A manifest without end.
    let mut header = Header::new_gnu();
    header.set_path("manifest.json").unwrap();
    header.set_size(1 << 40);
    header.set_cksum();
    Hostile::new().assert_bytes_refused(header.as_bytes(), "manifest is too large");
}

#[test]
fn a_larger_one_is_let_in_when_it_is_said() {
    let mut large = Hostile::new();
    large.file("team/x", &vec![0; 4096]);
    fs::write(large.there.file(), large.tar()).unwrap();
    let refused = large.there.restore_within(Limits { most: Some(1000) });
    assert!(refused.unwrap_err().to_string().contains("--max-size allows more"));
    large.there.restore_within(Limits { most: Some(5000) }).unwrap();
}

#[test]
fn what_is_no_backup() {
    let hostile = Hostile::new();
    let no_manifest = "does not begin with a manifest";
    for bytes in [&b""[..], b"x", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", &[0; 4096], &[0xff; 4096]] {
        hostile.assert_bytes_refused(bytes, no_manifest);
    }
    let mut tar = Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.set_size(1);
    tar.append_data(&mut header, "home/notes", &b"x"[..]).unwrap();
    hostile.assert_bytes_refused(&tar.into_inner().unwrap(), no_manifest);
}

#[test]
fn every_cut_and_every_flipped_bit_is_noticed() {
    let team = array_team();
    team.write_inbox("bob", "[]");
    let there = Elsewhere::new("demo");
    back_up(&team, there.file());
    let good = fs::read(there.file()).unwrap();
    let hostile = Hostile::new();
    for length in (0..good.len() - 1).step_by(37) {
        fs::write(hostile.there.file(), &good[..length]).unwrap();
        let error = hostile.there.restore().unwrap_err();
        assert!(matches!(error, StoreError::BadBackup { .. }), "{length}: {error}");
    }
    for at in (0..good.len()).step_by(11) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        fs::write(hostile.there.file(), &bytes).unwrap();
        // Some bits mean nothing: then what is restored is the same all the same.
        if hostile.there.restore().is_ok() {
            for file in ["config.json", "inboxes/bob.json"] {
                let (then, now) = (team.folder().join(file), hostile.there.team().join(file));
                assert_eq!(fs::read(then).unwrap(), fs::read(now).unwrap(), "{at}");
            }
            fs::remove_dir_all(hostile.there.team()).unwrap();
        }
        assert_eq!(hostile.there.litter(), [] as [PathBuf; 0]);
    }
}
