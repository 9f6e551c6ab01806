//! `atm demo`: a team's day in a throw-away root, through the same office as every other command.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use atm_office::inbox::Filter;
use atm_office::members::{MemberChange, MemberPlan};
use atm_office::send::{Letter, SendOptions};
use atm_office::teams::TeamPlan;
use atm_office::{ExitCode, Office, OfficeError};
use atm_store::{Layout, Root, State};
use atm_wire::{Address, MemberName, TeamName};
use clap::Args;
use serde::Serialize;
use tempfile::TempDir;

use super::{members, track};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::message::{self, Flags};
use crate::output::{Out, safe};

const TEAM: &str = "demo-team";
const SENDERS: usize = 8;
const EACH: usize = 5;

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
/// Longer than any scene takes.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ends a demo that is being played, and waits until its folder is gone; says whether there was one.
///
/// The story ends itself, between two scenes: whoever removed the folder under it would race with what it writes.
pub(crate) fn abandon() -> bool {
    let playing = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
    if playing.is_none() {
        return false;
    }
    STOP.store(true, Ordering::SeqCst);
    let waited = CURTAIN.wait_timeout_while(playing, PATIENCE, |folder| folder.is_some());
    let (mut folder, _) = waited.unwrap_or_else(PoisonError::into_inner);
    if let Some(folder) = folder.take() {
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
        drop(self.0.take());
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
            office: Office::new(Root::new(folder.join("root")), State::new(folder.join("state"))),
            team: TeamName::parse(TEAM)?,
            out: if json { &mut kept } else { &mut context.out },
            steps: Vec::new(),
        };
        stage.play()?;
        stage.show_files(&folder)?;
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
    fn play(&mut self) -> Result<(), Failure> {
        self.make_the_team()?;
        self.send_read_answer()?;
        self.mistype_a_name()?;
        self.write_to_somebody_who_is_off()?;
        self.all_at_once()?;
        self.keep_mail_as_lines()?;
        self.wait_for_mail()
    }

    fn make_the_team(&mut self) -> Result<(), Failure> {
        self.say("A lead makes a team of three: atm team create, atm member add")?;
        self.office.create_team(&TeamPlan::new(TEAM, "Shows what atm does"))?;
        for name in ["alice", "bob"] {
            self.office.add_member(&self.team, &MemberPlan::new(name))?;
        }
        let people = self.office.members(&self.team)?;
        members::show(self.out, &people, self.office.now())
    }

    fn send_read_answer(&mut self) -> Result<(), Failure> {
        self.say("The lead writes to alice: atm --as team-lead send alice …")?;
        let sent = self.send("team-lead", "alice", "please check why the login test is flaky")?;
        self.out.line(format!("  {} with id {}", sent.status.as_str(), sent.id))?;

        self.say("Alice reads. It is marked as read only after it was shown: atm --as alice read")?;
        self.read("alice")?;

        self.say("Alice answers in the same thread: atm --as alice reply ID …")?;
        let letter = |to| Letter::new(to, "a race in the session store; the fix is on branch fix-login");
        let options = SendOptions::default();
        self.office.reply(&self.team, &name("alice")?, &sent.id, letter, options)?;
        self.read("team-lead")?;

        self.say("What became of the first message, with the evidence: atm track ID")?;
        let track = self.office.track(Some(&self.team), &sent.id)?;
        track::show(self.out, &track)
    }

    fn mistype_a_name(&mut self) -> Result<(), Failure> {
        self.say("A mistyped name fails loudly, and makes no phantom inbox: atm send bobb …")?;
        match self.send("team-lead", "bobb", "are you there?") {
            Err(Failure::Told(told)) => {
                let hint = told.hint.unwrap_or_default();
                self.out.line(format!("  exit {}: {}; {hint}", u8::from(told.exit), told.message))?;
                Ok(())
            }
            Err(closed) => Err(closed),
            Ok(_) => Err(Failure::new(ExitCode::BadData, "demo", "a mistyped name was accepted")),
        }
    }

    fn write_to_somebody_who_is_off(&mut self) -> Result<(), Failure> {
        self.say("Bob is off. Mail for him waits, and says so: atm member set bob --active false")?;
        let bob = name("bob")?;
        let off = MemberChange { active: Some(false), ..MemberChange::default() };
        self.office.set_member(&self.team, &bob, &off)?;
        let sent = self.send("alice", "bob", "please review fix-login when you are back")?;
        for warning in &sent.warnings {
            self.out.line(format!("  warning: {}", safe::line(warning)))?;
        }
        let look = self.office.inbox(&self.team, &bob, &Filter { pending: true, ..Filter::default() })?;
        Ok(message::show(self.out, &look.messages, Flags::Shown)?)
    }

    fn all_at_once(&mut self) -> Result<(), Failure> {
        self.say(&format!("{SENDERS} senders write to one inbox at the same time, {EACH} messages each"))?;
        let before = self.count("team-lead")?;
        let threads: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let (office, team) = (self.office.clone(), self.team.clone());
                thread::spawn(move || -> Result<(), OfficeError> {
                    for n in 0..EACH {
                        let to = Address { name: MemberName::parse("team-lead")?, team: None };
                        let letter = Letter::new(to, format!("report {n} of sender {sender}"));
                        office.send(&team, &MemberName::parse("bob")?, &letter, SendOptions::default())?;
                    }
                    Ok(())
                })
            })
            .collect();
        for thread in threads {
            thread.join().map_err(|_| Failure::new(ExitCode::Io, "demo", "a sender panicked"))??;
        }
        let there = self.count("team-lead")? - before;
        let line = format!("  {} sent, {there} in the file", SENDERS * EACH);
        self.out.line(line)?;
        if there == SENDERS * EACH {
            return Ok(());
        }
        Err(Failure::new(ExitCode::BadData, "demo", "messages were lost"))
    }

    fn keep_mail_as_lines(&mut self) -> Result<(), Failure> {
        self.say("Another team keeps its mail as JSON Lines: atm team create … --layout log")?;
        let plan = TeamPlan { layout: Layout::Log, ..TeamPlan::new("log-team", "Mail as lines") };
        let team = self.office.create_team(&plan)?;
        self.office.add_member(&team, &MemberPlan::new("carol"))?;
        let to = "carol@log-team".parse::<Address>()?;
        let letter = Letter::new(to, "mail goes from team to team, too");
        let sent = self.office.send(&self.team, &name("alice")?, &letter, SendOptions::default())?;
        let file = self.office.mailbox(&team, &sent.to).file();
        let line = fs::read_to_string(&file).unwrap_or_default();
        Ok(self.out.line(format!("  {}", safe::line(line.trim_end())))?)
    }

    fn wait_for_mail(&mut self) -> Result<(), Failure> {
        self.say("Alice waits for mail; the file's own events wake her: atm --as alice read --wait 30")?;
        let (office, team, alice) = (self.office.clone(), self.team.clone(), name("alice")?);
        let waiting = thread::spawn(move || office.wait_for_mail(&team, &alice, Duration::from_secs(30)));
        self.send("team-lead", "alice", "good work, that is all for today")?;
        let woken =
            waiting.join().map_err(|_| Failure::new(ExitCode::Io, "demo", "the waiter panicked"))??;
        if !woken {
            return Err(Failure::new(ExitCode::TimedOut, "demo", "the waiter was not woken"));
        }
        self.read("alice")
    }

    fn show_files(&mut self, folder: &Path) -> Result<(), Failure> {
        self.say("What is on disk now")?;
        for path in files_below(folder) {
            let size = fs::metadata(&path).map_or(0, |found| found.len());
            let shown = path.strip_prefix(folder).unwrap_or(&path);
            self.out.line(format!("  {size:>6}  {}", shown.display()))?;
        }
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

    fn send(&self, from: &str, to: &str, text: &str) -> Result<atm_office::send::Sent, Failure> {
        let letter = Letter::new(Address { name: name(to)?, team: None }, text);
        Ok(self.office.send(&self.team, &name(from)?, &letter, SendOptions::default())?)
    }

    fn read(&mut self, who: &str) -> Result<(), Failure> {
        let reading = self.office.begin_read(&self.team, &name(who)?, usize::MAX)?;
        message::show(self.out, reading.messages(), Flags::Hidden)?;
        self.out.finish()?;
        reading.confirm()?;
        Ok(())
    }

    fn count(&self, who: &str) -> Result<usize, Failure> {
        Ok(self.office.inbox(&self.team, &name(who)?, &Filter::default())?.messages.len())
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
