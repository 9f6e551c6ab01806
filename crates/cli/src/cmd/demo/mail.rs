//! The demo's first half: what becomes of mail.

use std::fs;
use std::thread;
use std::time::Duration;

use atm_office::OfficeError;
use atm_office::mail::inbox::Filter;
use atm_office::mail::send::{Letter, SendOptions};
use atm_office::people::members::{MemberChange, MemberPlan};
use atm_office::people::teams::TeamPlan;
use atm_store::Layout;
use atm_wire::{Address, MemberName};

use super::{Stage, TEAM, name};
use crate::cmd::members;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::message::{self, Extent, Flags};
use crate::output::{safe, trace};

const SENDERS: usize = 8;
const EACH: usize = 5;

impl Stage<'_> {
    pub(super) fn exchange_mail(&mut self) -> Result<(), Failure> {
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
        members::show(self.out, &people, true)
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
        self.office.team(&self.team)?.reply(&name("alice")?, &sent.id, letter, options)?;
        self.read("team-lead")?;

        self.say("What became of the first message, with the evidence: atm track ID")?;
        let track = self.office.track(Some(&self.team), &sent.id)?;
        Ok(trace::show_track(self.out, &track)?)
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
        Ok(message::show(self.out, &look.messages, Flags::Shown, Extent::Start)?)
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
        self.say("Alice waits for mail; the file's own events wake her: atm --as alice read --wait 30s")?;
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

    fn send(&self, from: &str, to: &str, text: &str) -> Result<atm_office::mail::send::Sent, Failure> {
        let letter = Letter::new(Address { name: name(to)?, team: None }, text);
        Ok(self.office.send(&self.team, &name(from)?, &letter, SendOptions::default())?)
    }

    fn read(&mut self, who: &str) -> Result<(), Failure> {
        let reading = self.office.begin_read(&self.team, &name(who)?, usize::MAX)?;
        message::show(self.out, reading.messages(), Flags::Hidden, Extent::Start)?;
        self.out.finish()?;
        reading.confirm()?;
        Ok(())
    }

    fn count(&self, who: &str) -> Result<usize, Failure> {
        Ok(self.office.inbox(&self.team, &name(who)?, &Filter::default())?.messages.len())
    }
}
