//! Colours, if they are on.

use anstyle::{AnsiColor, Color as Ansi, RgbColor, Style};
use atm_wire::Color;

use super::safe;

/// Puts colour around text, or leaves it plain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    pub(crate) fn new(on: bool) -> Self {
        Self { on }
    }

    /// A member's name in its colour.
    pub(crate) fn name(self, name: &str, color: Option<&str>) -> String {
        let style = Style::new().bold().fg_color(color.map(Color::parse).as_ref().and_then(ansi));
        self.styled(style, &safe::line(name))
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.styled(Style::new().dimmed(), text)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.styled(Style::new().bold(), text)
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.styled(Style::new().fg_color(Some(AnsiColor::Green.into())), text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.styled(Style::new().fg_color(Some(AnsiColor::Red.into())), text)
    }

    pub(crate) fn attention(self, text: &str) -> String {
        self.styled(Style::new().fg_color(Some(AnsiColor::Yellow.into())), text)
    }

    fn styled(self, style: Style, text: &str) -> String {
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
