//! What did not work, in words for the agent that asked.

use atm_office::OfficeError;
use atm_store::StoreError;
use atm_wire::{NameError, visible};
use rmcp::model::{CallToolResult, ContentBlock};

use crate::squeeze::cut;

/// Names in it may be anything; nobody needs more of them.
const LONGEST: usize = 1_000;

/// Why a call did not do what was asked, and what to do next.
#[derive(Debug)]
pub(crate) struct Trouble {
    message: String,
    hint: Option<String>,
}

impl Trouble {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    #[must_use]
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The answer that says so.
    pub(crate) fn into_result(self) -> CallToolResult {
        CallToolResult::error(vec![ContentBlock::text(self.to_string())])
    }
}

/// Every way to the client leads through here.
impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&visible::lines(&cut(&self.message, LONGEST)))?;
        match &self.hint {
            Some(hint) => write!(f, ". {}", visible::lines(&cut(hint, LONGEST))),
            None => Ok(()),
        }
    }
}

impl From<NameError> for Trouble {
    fn from(error: NameError) -> Self {
        OfficeError::from(error).into()
    }
}

impl From<OfficeError> for Trouble {
    fn from(error: OfficeError) -> Self {
        Self { message: error.to_string(), hint: hint(&error) }
    }
}

/// The names that were meant, or what shows them.
pub(crate) fn did_you_mean(nearest: &[String], wanted: &str, otherwise: &str) -> String {
    let others: Vec<_> = nearest.iter().filter(|name| *name != wanted).map(String::as_str).collect();
    if others.is_empty() { otherwise.to_owned() } else { format!("Did you mean {}?", others.join(", ")) }
}

fn hint(error: &OfficeError) -> Option<String> {
    Some(match error {
        OfficeError::NoTeam { nearest, wanted } => did_you_mean(nearest, wanted, "team_create makes a team"),
        OfficeError::NoTeams { .. } => "team_create makes a team".to_owned(),
        OfficeError::WhichTeam { choices } => format!("Give team_name, one of: {}", choices.join(", ")),
        OfficeError::NoMember { nearest, wanted, .. } => {
            did_you_mean(nearest, wanted, "read_config shows the members")
        }
        OfficeError::WhichMessage { choices, .. } => format!("One of: {}", choices.join(", ")),
        OfficeError::NotRecorded { .. } | OfficeError::NoMessage { .. } => {
            "read_inbox and search_mail show the ids".to_owned()
        }
        OfficeError::EmptyMessage => "Put the text into content".to_owned(),
        OfficeError::NobodyElse { .. } => "spawn_teammate starts a member".to_owned(),
        OfficeError::Store(StoreError::Busy { .. }) => "Nothing was written; try again".to_owned(),
        OfficeError::Store(StoreError::BadContent { .. }) => {
            "Nothing was changed; a person has to mend the file".to_owned()
        }
        OfficeError::Partly { done, source } => {
            let done: Vec<String> = done.iter().map(ToString::to_string).collect();
            let advice = hint(source).filter(|advice| !advice.to_lowercase().contains("nothing was"));
            let advice = advice.map(|advice| format!(". {advice}")).unwrap_or_default();
            format!("Done before it failed: {}{advice}", done.join(", "))
        }
        OfficeError::NotInTime { .. } | OfficeError::NoAnswer { .. } => {
            "It is written and stays so; the answer will come as mail".to_owned()
        }
        OfficeError::Spawn(error) => return error.hint(),
        OfficeError::Ledger(_) => {
            "Mail goes without it; a person can mend it with `atm doctor --fix`".to_owned()
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides_in_what_a_client_is_told() {
        let trouble = Trouble::new("no team a\u{202e}b").hint("Did you mean \u{e0041}?");
        assert_eq!(trouble.to_string(), "no team a\\u{202e}b. Did you mean \\u{e0041}?");
    }
}
