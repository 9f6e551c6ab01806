//! What a front gives the UI: it reads no environment itself.

use std::path::PathBuf;
use std::sync::Arc;

use atm_office::chores::wake::Ladder;
use atm_office::{Hint, Office};
use atm_wire::{MemberName, Stamp, TeamName};

use crate::theme::Theme;

/// How the UI is started.
#[derive(Clone)]
pub struct Settings {
    /// The office that it shows.
    pub office: Office,
    /// Who looks and sends.
    pub me: MemberName,
    /// The team to begin with.
    pub team: Option<TeamName>,
    /// The colours.
    pub theme: Theme,
    /// When members are woken.
    pub ladder: Ladder,
    /// The command of the person's editor.
    pub editor: Option<String>,
    /// Where a text is kept while it is in the editor.
    pub scratch: PathBuf,
    /// The socket of the tmux server that the terminal is in.
    pub inside: Option<PathBuf>,
    /// How a time is shown: by the person's clock.
    pub clock: Arc<dyn Fn(Stamp) -> String + Send + Sync>,
    /// How a hint is worded: with shell commands.
    pub advice: fn(&Hint) -> String,
    /// Panics once the first screen is drawn: for the test that the terminal is restored.
    #[cfg(debug_assertions)]
    pub panics: bool,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("me", &self.me).field("team", &self.team).finish_non_exhaustive()
    }
}
