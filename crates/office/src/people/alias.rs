//! Other names for teams: a person's own, kept in our state.

use std::collections::BTreeMap;

use atm_store::Memo;
use atm_wire::TeamName;

use crate::error::OfficeError;
use crate::office::Office;

impl Office {
    /// All aliases, and the teams that they stand for. One that cannot be read is as none.
    pub fn aliases(&self) -> Result<BTreeMap<String, String>, OfficeError> {
        Ok(parse(self.alias_memo().read()?.as_deref()))
    }

    /// From now on `alias` stands for `team`. A name that a team has cannot be an alias.
    pub fn set_alias(&self, alias: &str, team: &TeamName) -> Result<(), OfficeError> {
        let alias = TeamName::create(alias)?;
        self.folder(team)?;
        if self.folder_of(&alias).exists() {
            return Err(OfficeError::Exists { what: format!("team {alias}") });
        }
        self.change(|aliases| {
            aliases.insert(alias.to_string(), team.to_string());
            Ok(())
        })
    }

    /// Forgets an alias; says which team it stood for.
    pub fn remove_alias(&self, alias: &str) -> Result<String, OfficeError> {
        self.change(|aliases| {
            aliases.remove(alias).ok_or_else(|| OfficeError::NoTeam {
                wanted: alias.to_owned(),
                nearest: crate::people::nearest::nearest(alias, aliases.keys().map(String::as_str)),
            })
        })
    }

    /// The team that a name stands for, if it is an alias.
    pub(crate) fn aliased(&self, alias: &str) -> Result<Option<TeamName>, OfficeError> {
        let Some(team) = self.aliases()?.remove(alias) else { return Ok(None) };
        let name = TeamName::parse(&team)?;
        if self.folder_of(&name).exists() {
            return Ok(Some(name));
        }
        Err(OfficeError::DeadAlias { alias: alias.to_owned(), team })
    }

    fn change<T>(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, String>) -> Result<T, OfficeError>,
    ) -> Result<T, OfficeError> {
        self.alias_memo().update(|text| {
            let mut aliases = parse(text);
            let done = change(&mut aliases)?;
            Ok((Some(serde_json::to_string_pretty(&aliases).unwrap_or_default()), done))
        })
    }

    fn alias_memo(&self) -> Memo {
        Memo::of_aliases(&self.root, &self.state, self.times)
    }
}

fn parse(text: Option<&str>) -> BTreeMap<String, String> {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}
