//! `[bridge]` of the user's settings file. A project's file has no say in where mail goes.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::failure::Failure;

/// `[bridge]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    #[serde(default)]
    pub(crate) nats: OneOrMore,
    pub(crate) creds: Option<PathBuf>,
    pub(crate) nkey: Option<PathBuf>,
    pub(crate) tls_ca: Option<PathBuf>,
    pub(crate) tls_cert: Option<PathBuf>,
    pub(crate) tls_key: Option<PathBuf>,
    pub(crate) realm: Option<String>,
    pub(crate) machine: Option<String>,
    #[serde(default)]
    pub(crate) teams: Vec<String>,
    pub(crate) seal: Option<bool>,
}

/// A text, or a list of texts.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl Default for OneOrMore {
    fn default() -> Self {
        Self::More(Vec::new())
    }
}

impl OneOrMore {
    pub(crate) fn list(&self) -> Vec<String> {
        match self {
            Self::One(one) => vec![one.clone()],
            Self::More(more) => more.clone(),
        }
    }
}

#[derive(Deserialize)]
struct File {
    root: Option<PathBuf>,
    state: Option<PathBuf>,
    #[serde(default)]
    bridge: Settings,
}

/// What the file says of the bridge, and of where things are.
pub(crate) struct Loaded {
    pub(crate) root: Option<PathBuf>,
    pub(crate) state: Option<PathBuf>,
    pub(crate) bridge: Settings,
}

/// Reads the file; nothing, where there is none. Relative paths are meant from the file.
pub(crate) fn load(path: &Path, home: &Path) -> Result<Loaded, Failure> {
    const LARGEST: u64 = 1 << 20;
    let bad = |why: String| Failure::new(6, "settings", format!("{}: {why}", path.display()));
    let file = atm_store::files::read_small(path, LARGEST)
        .map_err(|error| Failure::new(7, "io", error.to_string()))?;
    let text = file
        .map(|file| String::from_utf8(file.bytes).map_err(|_| bad("is not UTF-8".to_owned())))
        .transpose()?;
    let File { root, state, mut bridge } =
        toml::from_str(&text.unwrap_or_default()).map_err(|error| bad(error.to_string()))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let from_here = |given: PathBuf| match given.strip_prefix("~") {
        Ok(rest) => home.join(rest),
        Err(_) => folder.join(given),
    };
    let Settings { creds, nkey, tls_ca, tls_cert, tls_key, .. } = &mut bridge;
    for file in [creds, nkey, tls_ca, tls_cert, tls_key] {
        *file = file.take().map(from_here);
    }
    Ok(Loaded { root: root.map(from_here), state: state.map(from_here), bridge })
}
