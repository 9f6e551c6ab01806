//! Other names for folders that sessions work in: a person's own, kept in our state.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use atm_store::Memo;
use atm_wire::MemberName;

use super::register::real;
use crate::error::OfficeError;
use crate::office::{Office, USER};
use crate::people::nearest::nearest;

impl Office {
    /// What folders of sessions are called by their people.
    pub fn session_aliases(&self) -> Result<BTreeMap<String, PathBuf>, OfficeError> {
        Ok(parse(self.session_alias_memo().read()?.as_deref()))
    }

    /// From now on `alias` stands for a folder, whether a session has worked there or not; gives the one that it stood for before.
    pub fn set_session_alias(&self, alias: &str, folder: &Path) -> Result<Option<PathBuf>, OfficeError> {
        let alias = MemberName::create(alias).map_err(|error| error.of("alias"))?;
        // That one is meant in any case, so the alias would stand for nothing.
        if alias.as_str() == USER {
            return Err(OfficeError::ReservedName {
                name: USER.to_owned(),
                whom: "the person at the keyboard",
            });
        }
        self.session_alias_memo().update(|text| {
            let mut aliases = parse(text);
            let before = aliases.insert(alias.to_string(), real(folder));
            Ok((Some(render(&aliases)), before))
        })
    }

    /// Forgets an alias; says which folder it stood for.
    pub fn remove_session_alias(&self, alias: &str) -> Result<PathBuf, OfficeError> {
        self.session_alias_memo().update(|text| {
            let mut aliases = parse(text);
            let folder = aliases.remove(alias).ok_or_else(|| OfficeError::NoAlias {
                wanted: alias.to_owned(),
                nearest: nearest(alias, aliases.keys().map(String::as_str)),
            })?;
            Ok((Some(render(&aliases)), folder))
        })
    }

    fn session_alias_memo(&self) -> Memo {
        Memo::of_session_aliases(&self.root, &self.state, self.times)
    }
}

fn parse(text: Option<&str>) -> BTreeMap<String, PathBuf> {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn render(aliases: &BTreeMap<String, PathBuf>) -> String {
    serde_json::to_string_pretty(aliases).unwrap_or_default()
}
