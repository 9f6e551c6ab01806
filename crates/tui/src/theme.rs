//! Colours: the terminal's own sixteen on its own ground, or none.

use atm_ledger::Stage;
use atm_office::people::presence::Presence;
use atm_wire::Color as Named;
use ratatui::style::{Color, Modifier, Style};

/// Which styles are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// The terminal's own colours.
    #[default]
    Terminal,
    /// The same, without anything faint: for terminals on which that cannot be read.
    Contrast,
    /// No colours: bold, faint, underlined and reversed.
    Mono,
}

impl Theme {
    /// The spelling in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Contrast => "contrast",
            Self::Mono => "mono",
        }
    }

    fn coloured(self, color: Color) -> Style {
        match self {
            Self::Mono => Style::new(),
            Self::Terminal => Style::new().fg(color),
            Self::Contrast => Style::new().fg(color).add_modifier(Modifier::BOLD),
        }
    }

    /// What is well.
    pub(crate) fn good(self) -> Style {
        self.coloured(Color::Green)
    }

    /// What went wrong.
    pub(crate) fn bad(self) -> Style {
        self.coloured(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// What somebody should look at.
    pub(crate) fn attention(self) -> Style {
        match self {
            Self::Mono => Style::new().add_modifier(Modifier::BOLD),
            _ => self.coloured(Color::Yellow),
        }
    }

    /// What is beside the point.
    pub(crate) fn dim(self) -> Style {
        match self {
            Self::Contrast => Style::new(),
            _ => Style::new().add_modifier(Modifier::DIM),
        }
    }

    /// A title, a name.
    #[expect(clippy::unused_self, reason = "asked for like the others")]
    pub(crate) fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// A key that can be pressed.
    pub(crate) fn key(self) -> Style {
        match self {
            Self::Mono => Style::new().add_modifier(Modifier::UNDERLINED),
            _ => self.coloured(Color::Cyan),
        }
    }

    /// The row that is meant, in the list that has the keys or in another one.
    #[expect(clippy::unused_self, reason = "asked for like the others")]
    pub(crate) fn selected(self, has_keys: bool) -> Style {
        let style = Style::new().add_modifier(Modifier::REVERSED);
        if has_keys { style } else { style.add_modifier(Modifier::DIM) }
    }

    /// The frame of a list.
    pub(crate) fn frame(self, has_keys: bool) -> Style {
        if has_keys { self.coloured(Color::Cyan).add_modifier(Modifier::BOLD) } else { self.dim() }
    }

    /// A member's name in its colour.
    pub(crate) fn member(self, color: Option<&str>) -> Style {
        let ansi = match color.map(Named::parse) {
            Some(Named::Blue) => Color::Blue,
            Some(Named::Green) => Color::Green,
            Some(Named::Yellow | Named::Orange) => Color::Yellow,
            Some(Named::Magenta | Named::Purple) => Color::Magenta,
            Some(Named::Pink) => Color::LightMagenta,
            Some(Named::Cyan) => Color::Cyan,
            Some(Named::Red) => Color::Red,
            // A colour of its own might not be legible on this terminal's ground.
            _ => return Style::new(),
        };
        self.coloured(ansi)
    }

    /// How far a message came.
    pub(crate) fn stage(self, stage: Stage) -> Style {
        match stage {
            Stage::Seen | Stage::Acked | Stage::Done => self.good(),
            Stage::Failed | Stage::Expired | Stage::Recalled => self.bad(),
            Stage::Held | Stage::Restored | Stage::Escalated | Stage::Queued => self.attention(),
            _ => Style::new(),
        }
    }

    /// Whether a member is there.
    pub(crate) fn presence(self, state: Presence) -> Style {
        match state {
            Presence::Online => self.good(),
            Presence::Idle => Style::new(),
            Presence::Stalled => self.bad(),
            Presence::Offline | Presence::Unknown => self.dim(),
        }
    }
}
