//! The table `[daemon]`.

use serde::Deserialize;

/// When a daemon is started without anybody asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Autostart {
    /// Never.
    Never,
    /// With what shows all teams for longer.
    WithUi,
    /// With every command that finds none.
    Always,
}

impl Autostart {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::WithUi => "with-ui",
            Self::Always => "always",
        }
    }
}

/// The table `[daemon]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Daemon {
    pub(super) autostart: Option<Autostart>,
}
