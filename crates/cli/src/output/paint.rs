//! Colours, if they are on.

use std::env;
use std::io::{self, IsTerminal};
use std::sync::OnceLock;

use anstyle::{AnsiColor, Color as Ansi, RgbColor, Style};
use atm_ledger::Stage;
use atm_wire::Color;

use super::safe;
use crate::args::ColorChoice;

/// How stderr is painted, once that is known.
static STDERR: OnceLock<Paint> = OnceLock::new();

/// How stderr is painted: errors come also before the settings are read.
pub(crate) fn of_stderr() -> Paint {
    let wants_none = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let color = if wants_none { ColorChoice::Never } else { ColorChoice::Auto };
    *STDERR.get_or_init(|| Paint::chosen(color, io::stderr().is_terminal()))
}

pub(crate) fn choose_for_stderr(color: ColorChoice) {
    let _ = STDERR.set(Paint::chosen(color, io::stderr().is_terminal()));
}

/// Puts colour around text, or leaves it plain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// The first line of a table.
    pub(crate) const HEAD: Style = Style::new().bold();
    /// What is well.
    pub(crate) const GOOD: Style = Style::new().fg_color(Some(Ansi::Ansi(AnsiColor::Green)));
    /// What went wrong.
    pub(crate) const BAD: Style = Style::new().fg_color(Some(Ansi::Ansi(AnsiColor::Red)));
    /// What somebody should look at.
    pub(crate) const ATTENTION: Style = Style::new().fg_color(Some(Ansi::Ansi(AnsiColor::Yellow)));
    /// What is beside the point.
    pub(crate) const DIM: Style = Style::new().dimmed();

    pub(crate) fn new(on: bool) -> Self {
        Self { on }
    }

    /// As the user wants it, on a terminal or elsewhere.
    pub(crate) fn chosen(color: ColorChoice, is_terminal: bool) -> Self {
        let is_dumb = || env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        Self::new(match color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && !is_dumb(),
        })
    }

    /// How a stage is shown: well, in need of a look, or neither.
    pub(crate) fn of_stage(stage: Stage) -> Style {
        match stage {
            Stage::Seen | Stage::Acked | Stage::Done => Self::GOOD,
            Stage::Failed | Stage::Expired | Stage::Recalled => Self::BAD,
            Stage::Held | Stage::Restored | Stage::Escalated | Stage::Queued => Self::ATTENTION,
            _ => Style::new(),
        }
    }

    /// How a member's name is shown.
    pub(crate) fn of_member(color: Option<&str>) -> Style {
        Style::new().bold().fg_color(color.map(Color::parse).as_ref().and_then(ansi))
    }

    /// A member's name in its colour.
    pub(crate) fn name(self, name: &str, color: Option<&str>) -> String {
        self.styled(Self::of_member(color), &safe::line(name))
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.styled(Self::DIM, text)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.styled(Style::new().bold(), text)
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.styled(Self::GOOD, text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.styled(Self::BAD, text)
    }

    pub(crate) fn attention(self, text: &str) -> String {
        self.styled(Self::ATTENTION, text)
    }

    /// A text in a style.
    pub(crate) fn styled(self, style: Style, text: &str) -> String {
        if self.on { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

fn ansi(color: &Color) -> Option<Ansi> {
    Some(match color {
        Color::Blue => AnsiColor::Blue.into(),
        Color::Green => AnsiColor::Green.into(),
        Color::Yellow => AnsiColor::Yellow.into(),
        Color::Magenta | Color::Purple => AnsiColor::Magenta.into(),
        Color::Cyan => AnsiColor::Cyan.into(),
        Color::Red => AnsiColor::Red.into(),
        Color::Orange => Ansi::Rgb(RgbColor(255, 165, 0)),
        Color::Pink => Ansi::Rgb(RgbColor(255, 128, 192)),
        Color::System => AnsiColor::BrightBlack.into(),
        Color::Hex(r, g, b) => Ansi::Rgb(RgbColor(*r, *g, *b)),
        Color::Other(_) => return None,
    })
}
