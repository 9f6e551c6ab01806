//! What a command works with: the office, who asks, and where the answer goes.

use std::env;
use std::path::PathBuf;

use atm_office::mail::send::SendOptions;
use atm_office::office::USER;
use atm_office::{Office, OfficeError, Team};
use atm_panes::Tmux;
use atm_store::{Root, State};
use atm_wire::{Address, MemberName, TeamName};

use crate::args::Global;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::Out;
use crate::settings::Settings;

/// What a command works with.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) office: Office,
    pub(crate) settings: Settings,
    pub(crate) out: Out,
    pub(crate) cwd: PathBuf,
    /// What the command line said for every command.
    pub(crate) global: Global,
}

impl Context {
    pub(crate) fn new(global: &Global) -> Result<Self, Failure> {
        let cwd = current_folder()?;
        let settings = Settings::load(global, &cwd)?;
        Ok(Self::with(settings, cwd, global))
    }

    /// Where no settings file counts: for who looks at files that cannot be used.
    pub(crate) fn without_files(global: &Global) -> Result<Self, Failure> {
        let cwd = current_folder()?;
        Ok(Self::with(Settings::without_files(global)?, cwd, global))
    }

    fn with(settings: Settings, cwd: PathBuf, global: &Global) -> Self {
        let office = Office::new(
            Root::new(cwd.join(&settings.root.value)),
            State::new(cwd.join(&settings.state.value)),
        )
        .with_panes(Tmux::default())
        .with_unread_after(settings.unread_after.value);
        let out = Out::new(global, settings.color.value);
        let office = office.with_observer(out.intake_observer());
        Self { office, settings, out, cwd, global: global.clone() }
    }

    /// The team that is meant.
    pub(crate) fn team(&self) -> Result<TeamName, Failure> {
        Ok(self.chosen_team()??)
    }

    /// The same for a command that can do without: the inner error says why none is meant.
    pub(crate) fn chosen_team(&self) -> Result<Result<TeamName, OfficeError>, Failure> {
        let named = self.team_named()?;
        Ok(self.office.choose_team(named.as_deref(), &self.cwd))
    }

    /// The teams that are meant, for a command that looks.
    pub(crate) fn teams(&self, all: bool) -> Result<Vec<TeamName>, Failure> {
        if all {
            let teams = self.office.team_names()?;
            // The error says what to do.
            return if teams.is_empty() { self.team().map(|team| vec![team]) } else { Ok(teams) };
        }
        match self.global.team.as_slice() {
            [] | [_] => Ok(vec![self.team()?]),
            several => self.each_team(several.iter().map(String::as_str)),
        }
    }

    /// The teams that are called so, each once.
    pub(crate) fn each_team<'a>(
        &self,
        called: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<TeamName>, Failure> {
        let choose = |team| Ok(self.office.choose_team(Some(team), &self.cwd)?);
        called.map(choose).collect::<Result<_, _>>().map(each_once)
    }

    /// Whose archive is meant: its team may be gone.
    pub(crate) fn archive_of(&self, address: Address) -> Result<(TeamName, MemberName), Failure> {
        let named = address.team.map_or_else(|| self.team_named(), |team| Ok(Some(team.to_string())))?;
        Ok((self.office.choose_archived_team(named.as_deref(), &self.cwd)?, address.name))
    }

    fn team_named(&self) -> Result<Option<String>, Failure> {
        if self.global.team.len() > 1 {
            return Err(Failure::usage("this command is about one team, and --team is given more than once")
                .hint("give it once; status, members, inbox, pending, log, search, thread, track, watch and stats take several"));
        }
        Ok(match (&self.settings.team.value, self.identity()?) {
            (Some(team), _) => Some(team.clone()),
            (None, Some(Address { team: Some(team), .. })) => Some(team.to_string()),
            (None, _) => None,
        })
    }

    /// The team, if one was named: history is asked over all teams otherwise.
    pub(crate) fn named_team(&self) -> Result<Option<TeamName>, Failure> {
        match (&self.settings.team.value, self.identity()?) {
            (None, None | Some(Address { team: None, .. })) => Ok(None),
            _ => self.team().map(Some),
        }
    }

    /// The team, if one was named, for a question about its history: it may be gone.
    pub(crate) fn remembered_team(&self) -> Result<Option<TeamName>, Failure> {
        let Some(named) = self.team_named()? else { return Ok(None) };
        Ok(Some(self.office.choose_remembered_team(&named, &self.cwd)?))
    }

    /// The teams, if any were named, for a question about their history: they may be gone. All, if none is.
    pub(crate) fn remembered_teams(&self, all: bool) -> Result<Vec<TeamName>, Failure> {
        if all {
            return Ok(Vec::new());
        }
        match self.global.team.as_slice() {
            [] | [_] => Ok(self.remembered_team()?.into_iter().collect()),
            several => {
                let choose = |team: &String| Ok(self.office.choose_remembered_team(team, &self.cwd)?);
                several.iter().map(choose).collect::<Result<_, _>>().map(each_once)
            }
        }
    }

    /// The team of a message of one's own: the one that is meant or, where nothing says which, the one that the message is in.
    pub(crate) fn team_of_message(&self, id: &str) -> Result<TeamName, Failure> {
        match self.team() {
            Err(Failure::Told(told)) if told.code == "which_team" => match self.office.track(None, id) {
                Ok(track) => Ok(track.message.team.parse()?),
                Err(_) => Err(Failure::Told(told)),
            },
            team => team,
        }
    }

    /// An address whose team, if it names one, is there; it may be called as with `--team`.
    pub(crate) fn resolve(&self, address: Address) -> Result<Address, Failure> {
        let choose = |team: TeamName| self.office.choose_team(Some(team.as_str()), &self.cwd);
        Ok(Address { team: address.team.map(choose).transpose()?, ..address })
    }

    /// Whom a command is about, and in which team: that of NAME@TEAM, else the one that is meant.
    pub(crate) fn whom(&self, address: Address) -> Result<(TeamName, MemberName), Failure> {
        let Address { name, team } = self.resolve(address)?;
        Ok((team.map_or_else(|| self.team(), Ok)?, name))
    }

    /// The same where nobody may be named.
    pub(crate) fn anyone(&self, address: Option<Address>) -> Result<(TeamName, Option<MemberName>), Failure> {
        Ok(match address {
            Some(address) => self.whom(address).map(|(team, name)| (team, Some(name)))?,
            None => (self.team()?, None),
        })
    }

    /// Who sends: `--as`, or the person at the keyboard.
    pub(crate) fn sender(&self) -> Result<MemberName, Failure> {
        match self.identity()? {
            Some(address) => Ok(address.name),
            None => Ok(MemberName::parse(USER)?),
        }
    }

    /// Who acts in a team: who sends, if the team knows it.
    pub(crate) fn sender_in(&self, team: &Team<'_>) -> Result<MemberName, Failure> {
        let who = self.sender()?;
        team.check_sender(&who)?;
        Ok(who)
    }

    /// The same, where somebody outside the team may ask as well.
    pub(crate) fn asker_in(&self, team: &Team<'_>) -> Result<MemberName, Failure> {
        let who = self.sender()?;
        team.check_sender(&who).map_err(|error| Failure::sending(error, SendOptions::default()))?;
        Ok(who)
    }

    /// Who speaks for itself in a team, if the team knows it.
    pub(crate) fn member_in(&self, team: &Team<'_>) -> Result<MemberName, Failure> {
        let who = self.member()?;
        team.check_sender(&who)?;
        Ok(who)
    }

    /// Who reads: `--as`, or the person at the keyboard; not whom a project names that nobody trusted.
    pub(crate) fn reader(&self) -> Result<MemberName, Failure> {
        if self.identity()?.is_none() {
            return Ok(MemberName::parse(USER)?);
        }
        self.named_reader()
    }

    /// Who reads, where that has to be said.
    pub(crate) fn named_reader(&self) -> Result<MemberName, Failure> {
        self.settings.taker()?.map(|address| address.name).ok_or_else(|| {
            Failure::usage("whose mail? reading marks it as read, so it has to be said")
                .hint("use --as NAME, or set ATM_AS; `atm inbox NAME` looks without marking")
        })
    }

    /// Who speaks for itself, as a member: that has to be said.
    pub(crate) fn member(&self) -> Result<MemberName, Failure> {
        self.identity()?.map(|address| address.name).ok_or_else(|| {
            Failure::usage("who are you? this is a member's own word").hint("use --as NAME, or set ATM_AS")
        })
    }

    pub(crate) fn identity(&self) -> Result<Option<Address>, Failure> {
        self.settings.identity()
    }
}

/// Teams as they were named, but none twice.
fn each_once(teams: Vec<TeamName>) -> Vec<TeamName> {
    let mut once: Vec<TeamName> = Vec::new();
    for team in teams {
        if !once.contains(&team) {
            once.push(team);
        }
    }
    once
}

fn current_folder() -> Result<PathBuf, Failure> {
    env::current_dir()
        .map_err(|error| Failure::new(ExitCode::Io, "io", format!("cannot tell the current folder: {error}")))
}
