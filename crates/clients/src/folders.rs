//! Where clients keep their files.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::client::AgentClient;

/// For whom a client is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// For one person, in all folders.
    User,
    /// For everybody who works in one folder.
    Project,
}

/// The folders that clients' files are below.
#[derive(Debug)]
pub struct Folders {
    /// The user's home.
    pub home: PathBuf,
    /// The project's folder.
    pub project: PathBuf,
    variables: BTreeMap<&'static str, PathBuf>,
}

impl Folders {
    /// `variable` looks up an environment variable: clients let the user move their folders.
    pub fn new(home: PathBuf, project: PathBuf, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let names = AgentClient::ALL.iter().flat_map(|client| client.profile().variables);
        let set = names.filter_map(|name| {
            let value = variable(name).filter(|value| !value.is_empty())?;
            Some((*name, PathBuf::from(value)))
        });
        Self { home, project, variables: set.collect() }
    }

    /// The folder that an environment variable names, if it is set.
    pub(crate) fn named_by(&self, variable: &str) -> Option<&Path> {
        self.variables.get(variable).map(PathBuf::as_path)
    }

    /// A client's folder `name`: in the project, or where the variable says, or in the home folder.
    pub(crate) fn below(&self, scope: Scope, variable: Option<&str>, name: &str) -> PathBuf {
        match scope {
            Scope::Project => self.project.join(name),
            Scope::User => {
                let moved = variable.and_then(|variable| self.named_by(variable));
                moved.map_or_else(|| self.home.join(name), Path::to_owned)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_moves_the_users_folder_and_never_the_projects() {
        let set = |name: &str| match name {
            "CODEX_HOME" => Some("/moved".into()),
            "CLAUDE_CONFIG_DIR" => Some(OsString::new()),
            _ => None,
        };
        let folders = Folders::new("/home/me".into(), "/repo".into(), set);
        for (scope, variable, expected) in [
            (Scope::User, Some("CODEX_HOME"), "/moved"),
            (Scope::User, Some("CLAUDE_CONFIG_DIR"), "/home/me/.x"),
            (Scope::User, None, "/home/me/.x"),
            (Scope::Project, Some("CODEX_HOME"), "/repo/.x"),
        ] {
            assert_eq!(folders.below(scope, variable, ".x"), Path::new(expected), "{scope:?} {variable:?}");
        }
    }
}
