//! Who the agent will be, as a client's files say it.

use std::path::Path;

use super::client::Scope;
use crate::failure::Failure;
use crate::settings::{Origin, Settings};

/// Root, state, team and name; for whom, and whether mail wakes it.
#[derive(Debug)]
pub(crate) struct Identity {
    scope: Scope,
    root: (String, bool),
    state: (String, bool),
    team: Option<String>,
    name: Option<String>,
    pub(crate) is_woken: bool,
}

impl Identity {
    /// As the settings have it, which are checked.
    pub(crate) fn of(settings: &Settings, scope: Scope, cwd: &Path) -> Result<Self, Failure> {
        let path = |path: &Path, origin: &Origin| {
            let said = matches!(origin, Origin::Flag(_) | Origin::Environment("ATM_ROOT" | "ATM_STATE"));
            (cwd.join(path).display().to_string(), said)
        };
        let address = settings.identity()?;
        let team = match (&settings.team.value, address.as_ref().and_then(|address| address.team.as_ref())) {
            (Some(team), _) => Some(atm_wire::TeamName::parse(team)?.to_string()),
            (None, team) => team.map(ToString::to_string),
        };
        Ok(Self {
            scope,
            root: path(&settings.root.value, &settings.root.origin),
            state: path(&settings.state.value, &settings.state.origin),
            team,
            name: address.map(|address| address.name.to_string()),
            is_woken: false,
        })
    }

    /// Nobody: for a plugin, which is for everybody.
    pub(crate) fn nobody() -> Self {
        let nowhere = (String::new(), false);
        Self {
            scope: Scope::Project,
            root: nowhere.clone(),
            state: nowhere,
            team: None,
            name: None,
            is_woken: false,
        }
    }

    pub(crate) fn is_known(&self) -> bool {
        self.name.is_some()
    }

    /// Where things are, if that is to be written down. A user's files say it always: whichever folder the client is
    /// started in, what is there has no say in it. A project's file is for everybody who works there, so it says where
    /// things are only if you did.
    fn place(&self, (path, is_said): &(String, bool)) -> Option<String> {
        (self.scope == Scope::User || *is_said).then(|| path.clone())
    }

    /// For a server, which may see no other environment.
    pub(crate) fn env(&self) -> Vec<(String, String)> {
        let values = [
            ("ATM_ROOT", self.place(&self.root)),
            ("ATM_STATE", self.place(&self.state)),
            ("ATM_TEAM", self.team.clone()),
            ("ATM_AS", self.name.clone()),
        ];
        values.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    /// For a hook, which has the client's environment.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let values = [
            ("--root", self.place(&self.root)),
            ("--state", self.place(&self.state)),
            ("--team", self.team.clone()),
            ("--as", self.name.clone()),
        ];
        let pairs = values.into_iter().filter_map(|(option, value)| Some([option.to_owned(), value?]));
        pairs.flatten().collect()
    }

    /// `hook EVENT --client CLIENT …`
    pub(crate) fn hook_arguments(&self, client: &str, event: &str) -> Vec<String> {
        let mut arguments = ["hook", event, "--client", client].map(ToOwned::to_owned).to_vec();
        arguments.extend(self.arguments());
        arguments
    }

    /// `wake wait …`
    pub(crate) fn wake_arguments(&self) -> Vec<String> {
        let mut arguments = ["wake", "wait"].map(ToOwned::to_owned).to_vec();
        arguments.extend(self.arguments());
        arguments
    }

    /// A hook as a line for a shell.
    pub(crate) fn line(&self, client: &str, event: &str) -> String {
        let words = self.hook_arguments(client, event);
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        format!("atm {}", words.join(" "))
    }
}

/// A word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./@+:".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_a_path_as_one_word() {
        assert_eq!(quoted("/a/b-c"), "/a/b-c");
        assert_eq!(quoted("/a b/$(c)'d"), r"'/a b/$(c)'\''d'");
        assert_eq!(quoted(""), "''");
    }
}
