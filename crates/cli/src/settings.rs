//! Settings: files, then the environment, then flags; each value knows where it is from.
//!
//! The user's file may set everything. A project's file is written by the project's author: what only the user may decide
//! counts there once the user has trusted the folder, with the file as it is.

mod archive;
mod bridge;
mod claude;
mod daemon;
mod delivery;
mod edit;
mod file;
mod keys;
mod notify;
mod source;
mod trouble;

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atm_office::chores::retry::Policies;
use atm_office::chores::wake::Ladder;
use atm_office::trail::pending::UNREAD_AFTER;
use atm_store::TrustedFolders;
use atm_upkeep::archive::Upkeep;
use atm_wire::{Address, TeamName};
use etcetera::base_strategy::{BaseStrategy, Xdg};

use crate::args::{ColorChoice, Global};
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::brief::Budget;
use file::{File, TAKE_MAIL, parse_color};

pub(crate) use bridge::Bridge;
pub(crate) use daemon::Autostart;

pub(crate) use edit::edit;
pub(crate) use file::WebService;
pub(crate) use file::trouble_in;
pub(crate) use keys::{KEYS, shape_of};
pub(crate) use notify::Notifications;
pub(crate) use source::{SettingsFile, Source, text_of};

/// Where a value is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    File(PathBuf),
    Environment(&'static str),
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => write!(f, "${name}"),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

/// A value with its origin.
#[derive(Debug, Clone)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
}

/// All settings.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) root: Setting<PathBuf>,
    pub(crate) state: Setting<PathBuf>,
    pub(crate) team: Setting<Option<String>>,
    pub(crate) who: Setting<Option<String>>,
    pub(crate) color: Setting<ColorChoice>,
    /// What to do with mail that nobody acts on.
    pub(crate) policies: Setting<Policies>,
    /// What stays in the inboxes, and when the archive is packed.
    pub(crate) upkeep: Setting<Upkeep>,
    /// How long mail waits before each wake for it.
    pub(crate) ladder: Setting<Ladder>,
    /// How long mail may lie unread by a member that is there, before it counts as pending.
    pub(crate) unread_after: Setting<Duration>,
    /// How much mail goes into a prompt.
    pub(crate) budget: Setting<Budget>,
    /// When a daemon is started without anybody asking.
    pub(crate) autostart: Setting<Autostart>,
    /// What people are told, and how.
    pub(crate) notifications: Setting<Notifications>,
    /// Whether a daemon serves the dashboard, and where.
    pub(crate) web: Setting<WebService>,
    /// Whether a daemon lists members of other clients for Claude Code.
    pub(crate) native_peers: Setting<bool>,
    /// How teams are shared with other machines.
    pub(crate) bridge: Setting<Bridge>,
    /// The files that were looked for.
    pub(crate) files: Vec<SettingsFile>,
    /// The project folders whose settings file counts as the user's own.
    pub(crate) trusted: TrustedFolders,
}

impl Settings {
    /// As they are for a command in the folder `cwd`.
    pub(crate) fn load(global: &Global, cwd: &Path) -> Result<Self, Failure> {
        Self::read(global, Some(cwd))
    }

    /// As they are wherever a command is run: no project has a say in them.
    pub(crate) fn of_user(global: &Global) -> Result<Self, Failure> {
        Self::read(global, None)
    }

    /// As they are where no file counts: for who looks at files that cannot be used.
    pub(crate) fn without_files(global: &Global) -> Result<Self, Failure> {
        let mut settings = Self::defaults()?.0;
        settings.read_environment();
        settings.read_flags(global);
        Ok(settings)
    }

    /// The settings files that there are for a command in the folder `cwd`.
    pub(crate) fn places(cwd: &Path) -> Result<Vec<PathBuf>, Failure> {
        let (_, user) = Self::defaults()?;
        Ok([user, source::project_file(cwd)].into_iter().filter(|path| path.exists()).collect())
    }

    /// The user's own settings file, whether it is there or not.
    pub(crate) fn user_file() -> Result<PathBuf, Failure> {
        Ok(Self::defaults()?.1)
    }

    fn read(global: &Global, cwd: Option<&Path>) -> Result<Self, Failure> {
        let (mut settings, user) = Self::defaults()?;
        settings.apply(Source::of_user(&user)?)?;
        if let Some(cwd) = cwd {
            settings.apply(Source::of_project(&source::project_file(cwd), &settings.trusted)?)?;
        }
        settings.read_environment();
        settings.read_flags(global);
        Ok(settings)
    }

    /// What counts where nothing says otherwise, and where the user's file is.
    fn defaults() -> Result<(Self, PathBuf), Failure> {
        let xdg = Xdg::new().map_err(|_| {
            Failure::new(ExitCode::Io, "no_home", "there is no home folder")
                .hint("set HOME, or both --root and --state")
        })?;
        let home_claude = xdg.home_dir().join(".claude");
        let state_home = xdg.state_dir().unwrap_or_else(|| xdg.home_dir().join(".local/state"));
        let settings = Self {
            root: default(home_claude),
            state: default(state_home.join("atm")),
            team: default(None),
            who: default(None),
            color: default(ColorChoice::Auto),
            policies: default(Policies::default()),
            upkeep: default(Upkeep::default()),
            ladder: default(Ladder::default()),
            unread_after: default(UNREAD_AFTER),
            budget: default(Budget::DEFAULT),
            autostart: default(Autostart::Never),
            notifications: default(Notifications::default()),
            web: default(WebService::default()),
            native_peers: default(false),
            bridge: default(Bridge::default()),
            files: Vec::new(),
            trusted: TrustedFolders::new(xdg.config_dir().join("atm/trusted")),
        };
        Ok((settings, xdg.config_dir().join("atm/config.toml")))
    }

    fn apply(&mut self, source: Source) -> Result<(), Failure> {
        let Source { file, about } = source;
        let path = about.path.clone();
        self.files.push(about);
        self.apply_file(file, &path).map_err(|why| source::bad_file(&path, &why))
    }

    fn apply_file(&mut self, file: File, path: &Path) -> Result<(), String> {
        let origin = || Origin::File(path.to_owned());
        // A relative path in a file is meant from that file.
        let from_here = |value: PathBuf| path.parent().unwrap_or(Path::new("")).join(expand_home(&value));
        put(&mut self.root, file.root.map(from_here), origin());
        put(&mut self.state, file.state.map(from_here), origin());
        put(&mut self.team, file.team.map(Some), origin());
        put(&mut self.who, file.who.map(Some), origin());
        put(&mut self.color, file.color.as_deref().and_then(parse_color), origin());
        if let Some(delivery) = &file.delivery {
            delivery.apply_to_all(&mut self.policies.value)?;
            self.policies.origin = origin();
        }
        if let Some(archive) = &file.archive {
            archive.apply(&mut self.upkeep.value).map_err(|why| format!("[archive]: {why}"))?;
            self.upkeep.origin = origin();
        }
        if let Some(wake) = &file.wake {
            put(&mut self.ladder, wake.ladder()?, origin());
        }
        if let Some(pending) = &file.pending {
            put(&mut self.unread_after, pending.unread_after()?, origin());
        }
        if let Some(context) = &file.context {
            put(&mut self.budget, context.budget()?, origin());
        }
        if let Some(notify) = &file.notify {
            let folder = path.parent().unwrap_or(Path::new(""));
            notify.apply(&mut self.notifications.value, folder).map_err(|why| format!("[notify]: {why}"))?;
            self.notifications.origin = origin();
        }
        put(&mut self.web, file.web, origin());
        put(&mut self.native_peers, file.claude.and_then(|claude| claude.native_peers), origin());
        put(&mut self.bridge, file.bridge, origin());
        put(&mut self.autostart, file.daemon.and_then(|daemon| daemon.autostart), origin());
        Ok(())
    }

    /// Who is meant, if that is said.
    pub(crate) fn identity(&self) -> Result<Option<Address>, Failure> {
        let Some(who) = &self.who.value else { return Ok(None) };
        let address = who
            .parse::<Address>()
            .map_err(|error| Failure::from(error).within(&self.who.origin.to_string()))?;
        Ok(Some(address))
    }

    /// Whose mail is to be taken, if that is said: a project has no say in it without trust.
    pub(crate) fn taker(&self) -> Result<Option<Address>, Failure> {
        let is_untrusted =
            |file: &SettingsFile| !file.trusted && self.who.origin == Origin::File(file.path.clone());
        if self.files.iter().any(is_untrusted) { Ok(None) } else { self.identity() }
    }

    /// The team that is meant, if that is said.
    pub(crate) fn named_team(&self) -> Result<Option<TeamName>, Failure> {
        let parse = |team: &String| {
            team.parse::<TeamName>()
                .map_err(|error| Failure::from(error).within(&self.team.origin.to_string()))
        };
        self.team.value.as_ref().map(parse).transpose()
    }

    /// What a project's file says and nobody trusted, if it would have counted for a command that takes mail, or for
    /// another one; in words.
    pub(crate) fn distrust(&self, takes_mail: bool) -> Option<String> {
        let is_decided = |origin: &Origin| matches!(origin, Origin::Environment(_) | Origin::Flag(_));
        let mattered = |key: &&str| match *key {
            "root" => !is_decided(&self.root.origin),
            "state" => !is_decided(&self.state.origin),
            TAKE_MAIL => takes_mail && !is_decided(&self.who.origin),
            _ => true,
        };
        self.files.iter().find_map(|file| file.distrust(mattered))
    }

    fn read_environment(&mut self) {
        let path = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let text = |name| env::var(name).ok().filter(|value| !value.is_empty()).map(Some);
        // Weaker than a settings file would be odd: a variable is set for this very session.
        put(&mut self.root, path("CLAUDE_CONFIG_DIR"), Origin::Environment("CLAUDE_CONFIG_DIR"));
        put(&mut self.root, path("ATM_ROOT"), Origin::Environment("ATM_ROOT"));
        put(&mut self.state, path("ATM_STATE"), Origin::Environment("ATM_STATE"));
        put(&mut self.team, text("ATM_TEAM"), Origin::Environment("ATM_TEAM"));
        put(&mut self.who, text("ATM_AS"), Origin::Environment("ATM_AS"));
        if env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
            put(&mut self.color, Some(ColorChoice::Never), Origin::Environment("NO_COLOR"));
        }
    }

    fn read_flags(&mut self, global: &Global) {
        put(&mut self.root, global.root.clone(), Origin::Flag("--root"));
        put(&mut self.state, global.state.clone(), Origin::Flag("--state"));
        put(&mut self.team, global.team.first().cloned().map(Some), Origin::Flag("--team"));
        put(&mut self.who, global.who.clone().map(Some), Origin::Flag("--as"));
        put(&mut self.color, global.color, Origin::Flag("--color"));
    }
}

fn default<T>(value: T) -> Setting<T> {
    Setting { value, origin: Origin::Default }
}

fn put<T>(setting: &mut Setting<T>, value: Option<T>, origin: Origin) {
    if let Some(value) = value {
        *setting = Setting { value, origin };
    }
}

fn expand_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), env::var_os("HOME")) {
        (Ok(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => path.to_owned(),
    }
}
