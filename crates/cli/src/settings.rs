//! Settings: files, then the environment, then flags; each value knows where it is from.

use std::env;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use atm_office::ExitCode;
use atm_office::retry::{Policies, Policy};
use atm_office::upkeep::Upkeep;
use atm_office::wake::Ladder;
use atm_wire::stamp::parse_duration;
use etcetera::base_strategy::{BaseStrategy, Xdg};
use serde::Deserialize;

use crate::args::{ColorChoice, Global};
use crate::failure::Failure;
use crate::size;

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
    /// The files that were looked for, and whether they are there.
    pub(crate) files: Vec<(PathBuf, bool)>,
}

/// What a settings file may hold.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    root: Option<PathBuf>,
    state: Option<PathBuf>,
    team: Option<String>,
    #[serde(rename = "as")]
    who: Option<String>,
    color: Option<String>,
    delivery: Option<Delivery>,
    archive: Option<Archive>,
    wake: Option<Wake>,
}

/// How long mail waits before each wake for it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wake {
    after: Option<Vec<String>>,
}

impl Wake {
    fn ladder(&self) -> Result<Option<Ladder>, String> {
        let span = |text: &String| parse_duration(text).map_err(|error| format!("[wake]: {error}"));
        self.after
            .as_ref()
            .map(|after| after.iter().map(span).collect())
            .transpose()
            .map(|after| after.map(Ladder))
    }
}

/// What stays in the inboxes, and when the archive is packed.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Archive {
    keep: Option<usize>,
    older_than: Option<String>,
    compress_after: Option<String>,
    rotate_over: Option<String>,
}

impl Archive {
    /// Changes `upkeep` where this says something.
    fn apply(&self, upkeep: &mut Upkeep) -> Result<(), String> {
        let span = |text: &String| parse_duration(text).map_err(|error| error.to_string());
        upkeep.keep = self.keep.unwrap_or(upkeep.keep);
        if let Some(after) = &self.older_than {
            upkeep.older_than = Some(span(after)?);
        }
        if let Some(after) = &self.compress_after {
            upkeep.compress_after = span(after)?;
        }
        if let Some(over) = &self.rotate_over {
            upkeep.rotate_over = size::parse(over)?;
        }
        Ok(())
    }
}

/// The policy for queued mail, with exceptions by priority.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Delivery {
    retry_after: Option<Vec<String>>,
    escalate_to: Option<Vec<String>>,
    expire_after: Option<String>,
    high: Option<Box<Delivery>>,
    low: Option<Box<Delivery>>,
}

impl Delivery {
    /// Changes `policy` where this says something.
    fn apply(&self, policy: &mut Policy) -> Result<(), String> {
        let span = |text: &String| parse_duration(text).map_err(|error| error.to_string());
        if let Some(after) = &self.retry_after {
            policy.retry_after = after.iter().map(span).collect::<Result<_, _>>()?;
        }
        if let Some(after) = &self.expire_after {
            policy.expire_after = Some(span(after)?);
        }
        if let Some(to) = &self.escalate_to {
            policy.escalate_to.clone_from(to);
        }
        Ok(())
    }

    fn apply_to_all(&self, policies: &mut Policies) -> Result<(), String> {
        for policy in [&mut policies.high, &mut policies.normal, &mut policies.low] {
            self.apply(policy)?;
        }
        self.high.as_ref().map_or(Ok(()), |high| high.apply(&mut policies.high))?;
        self.low.as_ref().map_or(Ok(()), |low| low.apply(&mut policies.low))
    }
}

impl Settings {
    pub(crate) fn load(global: &Global, cwd: &Path) -> Result<Self, Failure> {
        let xdg = Xdg::new().map_err(|_| {
            Failure::new(ExitCode::Io, "no_home", "there is no home folder")
                .hint("set HOME, or both --root and --state")
        })?;
        let home_claude = xdg.home_dir().join(".claude");
        let state_home = xdg.state_dir().unwrap_or_else(|| xdg.home_dir().join(".local/state"));
        let mut settings = Self {
            root: default(home_claude),
            state: default(state_home.join("atm")),
            team: default(None),
            who: default(None),
            color: default(ColorChoice::Auto),
            policies: default(Policies::default()),
            upkeep: default(Upkeep::default()),
            ladder: default(Ladder::default()),
            files: Vec::new(),
        };
        settings.read_file(&xdg.config_dir().join("atm").join("config.toml"))?;
        settings.read_file(&project_file(cwd))?;
        settings.read_environment();
        settings.read_flags(global);
        Ok(settings)
    }

    fn read_file(&mut self, path: &Path) -> Result<(), Failure> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.files.push((path.to_owned(), false));
                return Ok(());
            }
            Err(error) => return Err(bad_file(path, &error.to_string())),
        };
        let file = parse(&text).map_err(|trouble| bad_file(path, &trouble.message))?;
        self.files.push((path.to_owned(), true));
        let origin = || Origin::File(path.to_owned());
        // A relative path in a file is meant from that file.
        let from_here = |value: PathBuf| path.parent().unwrap_or(Path::new("")).join(expand_home(&value));
        put(&mut self.root, file.root.map(from_here), origin());
        put(&mut self.state, file.state.map(from_here), origin());
        put(&mut self.team, file.team.map(Some), origin());
        put(&mut self.who, file.who.map(Some), origin());
        put(&mut self.color, file.color.as_deref().and_then(parse_color), origin());
        if let Some(delivery) = &file.delivery {
            delivery.apply_to_all(&mut self.policies.value).map_err(|why| bad_file(path, &why))?;
            self.policies.origin = origin();
        }
        if let Some(archive) = &file.archive {
            archive
                .apply(&mut self.upkeep.value)
                .map_err(|why| bad_file(path, &format!("[archive]: {why}")))?;
            self.upkeep.origin = origin();
        }
        if let Some(wake) = &file.wake {
            put(&mut self.ladder, wake.ladder().map_err(|why| bad_file(path, &why))?, origin());
        }
        Ok(())
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
        put(&mut self.team, global.team.clone().map(Some), Origin::Flag("--team"));
        put(&mut self.who, global.who.clone().map(Some), Origin::Flag("--as"));
        put(&mut self.color, global.color, Origin::Flag("--color"));
    }
}

/// What is wrong with a settings file.
#[derive(Debug)]
pub(crate) struct Trouble {
    /// All of it, with the line.
    message: String,
    /// What is wrong, in one line.
    pub(crate) short: String,
    /// Where, in bytes, if the parser knows.
    pub(crate) at: Option<usize>,
}

impl Trouble {
    fn plain(message: String) -> Self {
        Self { short: message.clone(), message, at: None }
    }
}

/// What is wrong with the text of a settings file, if anything.
pub(crate) fn trouble_in(text: &str) -> Option<Trouble> {
    parse(text).err()
}

fn parse(text: &str) -> Result<File, Trouble> {
    let file: File = toml::from_str(text).map_err(|error| Trouble {
        message: error.to_string().trim_end().to_owned(),
        short: error.message().to_owned(),
        at: error.span().map(|span| span.start),
    })?;
    if let Some(color) = file.color.as_ref().filter(|color| parse_color(color).is_none()) {
        return Err(Trouble::plain(format!("color = {color:?}: must be auto, always or never")));
    }
    if let Some(delivery) = &file.delivery {
        delivery
            .apply_to_all(&mut Policies::default())
            .map_err(|why| Trouble::plain(format!("[delivery]: {why}")))?;
    }
    if let Some(wake) = &file.wake {
        wake.ladder().map_err(Trouble::plain)?;
    }
    Ok(file)
}

fn default<T>(value: T) -> Setting<T> {
    Setting { value, origin: Origin::Default }
}

fn put<T>(setting: &mut Setting<T>, value: Option<T>, origin: Origin) {
    if let Some(value) = value {
        *setting = Setting { value, origin };
    }
}

fn parse_color(text: &str) -> Option<ColorChoice> {
    clap::ValueEnum::from_str(text, true).ok()
}

fn bad_file(path: &Path, why: &str) -> Failure {
    Failure::new(ExitCode::BadData, "bad_settings", format!("{}: {why}", path.display()))
        .hint("known keys: root, state, team, as, color, and the tables [delivery], [archive], [wake]")
}

/// The nearest `.atm.toml`, from here upwards; the one that would be here if there is none.
fn project_file(cwd: &Path) -> PathBuf {
    let candidates = cwd.ancestors().map(|folder| folder.join(".atm.toml"));
    candidates.into_iter().find(|path| path.is_file()).unwrap_or_else(|| cwd.join(".atm.toml"))
}

fn expand_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), env::var_os("HOME")) {
        (Ok(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &str = "root = \"~/x\"\nteam = \"dev\"\nas = \"alice\"\ncolor = \"never\"\n[delivery]\nretry_after = [\"5m\"]\n\
                        expire_after = \"7d\"\n[delivery.high]\nescalate_to = [\"lead\"]\n";

    #[test]
    fn no_settings_make_the_reader_panic() {
        assert!(trouble_in(REAL).is_none());
        bolero::check!().with_iterations(2000).with_type::<(Vec<(u16, u8)>, u16)>().for_each(
            |(changes, cut)| {
                let mut bytes = REAL.as_bytes().to_vec();
                for (at, byte) in changes {
                    let at = usize::from(*at) % bytes.len();
                    bytes[at] = *byte;
                }
                bytes.truncate(usize::from(*cut).max(1));
                let text = String::from_utf8_lossy(&bytes);
                if let Some(trouble) = trouble_in(&text) {
                    assert!(!trouble.short.is_empty());
                    assert!(trouble.at.is_none_or(|at| at <= text.len()), "{text:?}");
                }
            },
        );
    }
}
