//! A disk with little space left.

use std::env;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::case::Case;
use super::oracle::judge;
use super::report::Report;
use super::world::{self, World};
use super::{Trial, in_pairs};
use crate::repo;

const SIZE: &str = "size=4m";
const BLOCK: u64 = 4096;
/// Free blocks: from none to 128 KiB.
const MOST: u64 = 32;
const LENGTHS: [usize; 2] = [200, 20_000];
const COMMANDS: [&str; 5] = ["send", "batch", "broadcast", "read", "task"];

struct Small {
    command: &'static str,
    length: usize,
    blocks: u64,
}

impl Small {
    fn label(&self) -> String {
        format!("{} of {} bytes with {} KiB free", self.command, self.length, self.blocks * BLOCK / 1024)
    }

    fn text(&self) -> String {
        let mut text = format!("{} {} ", self.command, self.blocks);
        text.extend(std::iter::repeat_n('x', self.length));
        text
    }

    fn case(&self) -> Case {
        let text = self.text();
        match self.command {
            "batch" => Case::batch(&text),
            "broadcast" => Case::broadcast(&text),
            "read" => Case::read(&text),
            "task" => Case::task(&text[..text.len().min(400)]),
            _ => Case::send(&text),
        }
    }
}

/// How a program is started where file systems can be mounted that nobody else sees, if that is permitted.
pub(crate) fn unshare_flags() -> Option<&'static str> {
    let can_mount = |flags: &str| {
        let mut probe = Command::new("unshare");
        probe
            .args([flags, "mount", "-t", "tmpfs", "tmpfs", "/mnt"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    };
    ["-m", "-rm"].into_iter().find(|flags| can_mount(flags))
}

/// Runs this program again where file systems can be mounted that nobody else sees; whether all was well.
pub(super) fn run_inside(atm: &Path, case: Option<&str>) -> Result<bool> {
    let Some(flags) = unshare_flags() else {
        Report::skipped("no small file system can be mounted here: neither root nor user namespaces")
            .print("disk", 0);
        return Ok(true);
    };
    let mut again = Command::new("unshare");
    again
        .arg(flags)
        .arg(env::current_exe()?)
        .args(["faults", "--inside", "--only", "disk", "--binary"])
        .arg(atm);
    if let Some(case) = case {
        again.args(["--case", case]);
    }
    Ok(again.status().with_context(|| format!("cannot start: {}", repo::shown(&again)))?.success())
}

pub(super) fn run(trial: &Trial) -> Result<Report> {
    let mut cases = Vec::new();
    for command in COMMANDS {
        for length in LENGTHS {
            cases.extend((0..=MOST).map(|blocks| Small { command, length, blocks }));
        }
    }
    cases.retain(|case| trial.wants(&case.label()));
    let place = |worker: usize| trial.scratch.join(format!("disk-{worker}"));
    let report = in_pairs(
        &cases,
        |worker| {
            let place = place(worker);
            fs::create_dir(&place)?;
            mount(&place)?;
            let world = World::create(trial.atm, &place.join("world"))?;
            world.save(&template(trial, &world))?;
            Ok(world)
        },
        |world, small, report| {
            let template = template(trial, world);
            world.reset(&template)?;
            if small.command == "read" {
                world.must(world::LEAD, &["-t", world::TEAM, "send", "bob", &small.text()])?;
            }
            let filler = world.folder().join("filler");
            fill(&filler, small.blocks)?;
            let case = small.case();
            let answer =
                world::finish(world.command(&[], case.who, &case.args()), case.input.as_deref(), |_| ())?;
            fs::remove_file(&filler)?;
            report.add(&small.label(), answer.code, judge(world, &case, &answer)?);
            Ok(())
        },
    );
    (0..2).for_each(|worker| unmount(&place(worker)));
    report
}

/// Where a worker's world is kept as it was at first: not on its small disk.
fn template(trial: &Trial, world: &World) -> std::path::PathBuf {
    let place = world.folder().parent().and_then(Path::file_name).unwrap_or_default();
    trial.scratch.join(format!("template-{}", place.display()))
}

fn mount(place: &Path) -> Result<()> {
    repo::run(Command::new("mount").args(["-t", "tmpfs", "-o", SIZE, "tmpfs"]).arg(place))
}

/// A folder on which something is mounted cannot be removed.
pub(crate) fn unmount(place: &Path) {
    let _ = Command::new("umount").arg(place).stderr(Stdio::null()).status();
}

/// Fills the disk, and frees so many blocks of it.
fn fill(filler: &Path, blocks: u64) -> Result<()> {
    let mut file = File::create(filler)?;
    let zeros = vec![0; usize::try_from(BLOCK)?];
    while file.write_all(&zeros).is_ok() {}
    let full = file.metadata()?.len();
    ensure!(full >= blocks * BLOCK, "the disk is too small to have {blocks} blocks free");
    file.set_len(full - blocks * BLOCK)?;
    Ok(())
}
