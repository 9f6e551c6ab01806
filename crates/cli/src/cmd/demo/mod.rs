//! `atm demo`: a team's day in a throw-away root, through the same office as every other command.

mod crew;
mod day;
mod mail;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use atm_office::Office;
use atm_store::{Root, State, interrupt};
use atm_wire::{MemberName, TeamName, counted};
use clap::Args;
use serde::Serialize;
use tempfile::TempDir;

use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::Out;

const TEAM: &str = "demo-team";

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Keep the files, and say where they are
    #[arg(long)]
    keep: bool,
}

/// The throw-away folder of a demo that is being played.
static FOLDER: Mutex<Option<PathBuf>> = Mutex::new(None);
/// Told when it is gone.
static CURTAIN: Condvar = Condvar::new();
/// The story has to end early.
static STOP: AtomicBool = AtomicBool::new(false);
/// Longer than a story that was told to end takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(20);

/// Ends a demo that is being played, and waits until its folder is gone; says whether there was one.
///
/// The story ends itself, between two scenes: removing the folder under it would race with what it writes.
pub(crate) fn abandon() -> bool {
    let playing = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
    if playing.is_none() {
        return false;
    }
    STOP.store(true, Ordering::SeqCst);
    // What it waits for ends now, and it sends nothing more.
    interrupt::request();
    let waited = CURTAIN.wait_timeout_while(playing, PATIENCE, |folder| folder.is_some());
    let (mut folder, _) = waited.unwrap_or_else(PoisonError::into_inner);
    if let Some(folder) = folder.take() {
        crew::end_panes(&crew::socket(&folder));
        let _ = fs::remove_dir_all(folder);
    }
    true
}

/// The folder of the demo that is being played; the curtain falls when it is dropped.
struct Scenery(Option<TempDir>);

impl Scenery {
    fn build() -> Result<Self, Failure> {
        let mut playing = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::Builder::new().prefix("atm-demo-").tempdir().map_err(|error| {
            Failure::new(ExitCode::Io, "io", format!("cannot make a throw-away folder: {error}"))
                .hint("set TMPDIR to a folder that can be written")
        })?;
        *playing = Some(folder.path().to_owned());
        Ok(Self(Some(folder)))
    }

    fn path(&self) -> &Path {
        self.0.as_ref().map_or(Path::new(""), TempDir::path)
    }

    /// Leaves the folder where it is.
    fn keep(mut self) -> PathBuf {
        self.0.take().map(TempDir::keep).unwrap_or_default()
    }
}

impl Drop for Scenery {
    fn drop(&mut self) {
        if let Some(folder) = self.0.take() {
            let path = folder.path().to_owned();
            drop(folder);
            // A worker that was ended in the middle may have written one more file.
            let deadline = Instant::now() + PATIENCE;
            while path.exists() && Instant::now() < deadline {
                let _ = fs::remove_dir_all(&path);
                thread::sleep(Duration::from_millis(10));
            }
        }
        FOLDER.lock().unwrap_or_else(PoisonError::into_inner).take();
        CURTAIN.notify_all();
    }
}

/// The stage that the story plays on.
struct Stage<'a> {
    office: Office,
    out: &'a mut Out,
    team: TeamName,
    steps: Vec<Step>,
}

#[derive(Serialize)]
struct Step {
    number: usize,
    what: String,
    shown: String,
}

impl Demo {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let scenery = Scenery::build()?;
        let folder = scenery.path().to_owned();
        let mut kept = Out::keeping();
        let json = context.out.json;
        let mut stage = Stage {
            office: Office::new(Root::new(folder.join("root")), State::new(folder.join("state")))
                .with_panes(atm_panes::Tmux::default()),
            team: TeamName::parse(TEAM)?,
            out: if json { &mut kept } else { &mut context.out },
            steps: Vec::new(),
        };
        let played = stage.play(&folder).and_then(|()| stage.show_files(&folder));
        // What fails after it was told to end fails for that reason.
        played.map_err(|failure| if STOP.load(Ordering::SeqCst) { Failure::Stopped } else { failure })?;
        stage.close_step();
        let steps = stage.steps;
        let root = if self.keep {
            Some(scenery.keep().join("root"))
        } else {
            drop(scenery);
            None
        };
        let out = &mut context.out;
        match root {
            _ if json => out.document(&serde_json::json!({ "steps": steps, "kept": root }))?,
            Some(root) => {
                let root = root.display();
                out.line(format!(
                    "\nThe files are kept. Look at them with\n  atm --root {root} -t {TEAM} team show"
                ))?;
            }
            None => {
                out.line("\nAll of it was below a throw-away folder, which is gone now (--keep keeps it).")?;
                out.line("Next: atm team create my-team, then atm member add NAME and atm send NAME TEXT.")?;
            }
        }
        Ok(0)
    }
}

impl Stage<'_> {
    fn play(&mut self, folder: &Path) -> Result<(), Failure> {
        self.exchange_mail()?;
        self.build_a_house(folder)
    }

    fn show_files(&mut self, folder: &Path) -> Result<(), Failure> {
        self.say("What is on disk now")?;
        let mut locks = 0;
        for path in files_below(folder) {
            let size = fs::metadata(&path).map_or(0, |found| found.len());
            if size == 0 {
                locks += 1;
                continue;
            }
            let shown = path.strip_prefix(folder).unwrap_or(&path);
            self.out.line(format!("  {size:>7}  {}", shown.display()))?;
        }
        self.out.line(format!("  and {}, most of them to lock by", counted(locks, "empty file")))?;
        Ok(())
    }

    fn say(&mut self, what: &str) -> Result<(), Failure> {
        if STOP.load(Ordering::SeqCst) {
            return Err(Failure::Stopped);
        }
        self.close_step();
        let number = self.steps.len() + 1;
        self.steps.push(Step { number, what: what.to_owned(), shown: String::new() });
        let head = self.out.paint.bold(&format!("{number}. {what}"));
        Ok(self.out.line(format!("\n{head}"))?)
    }

    /// Puts what was kept since the heading into its step.
    fn close_step(&mut self) {
        let kept = self.out.take_kept();
        if let Some(step) = self.steps.last_mut() {
            step.shown = kept.trim_start().lines().skip(1).collect::<Vec<_>>().join("\n");
        }
    }
}

fn name(text: &str) -> Result<MemberName, Failure> {
    Ok(MemberName::parse(text)?)
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() { found.extend(files_below(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}
