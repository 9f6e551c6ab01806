//! What did not work, in words for the agent that asked.

use atm_office::{Hint, OfficeError};
use atm_wire::{NameError, visible};
use rmcp::model::{CallToolResult, ContentBlock};

use crate::hint;
use crate::settings::Profile;
use crate::squeeze::cut;

/// Names in it may be anything; nobody needs more of them.
const LONGEST: usize = 1_000;

/// Why a call did not do what was asked, and what to do next.
#[derive(Debug)]
pub(crate) struct Trouble {
    message: String,
    advice: Option<Advice>,
}

/// What to do next.
#[derive(Debug)]
pub(crate) enum Advice {
    /// What may help, worded by the tools that the server offers.
    Hint(Hint),
    /// The words of a tool.
    Words(String),
}

impl From<Hint> for Advice {
    fn from(hint: Hint) -> Self {
        Self::Hint(hint)
    }
}

impl From<String> for Advice {
    fn from(words: String) -> Self {
        Self::Words(words)
    }
}

impl From<&str> for Advice {
    fn from(words: &str) -> Self {
        Self::Words(words.to_owned())
    }
}

impl Trouble {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), advice: None }
    }

    #[must_use]
    pub(crate) fn hint(self, advice: impl Into<Advice>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    /// The answer that says so.
    pub(crate) fn into_result(self, profile: Profile) -> CallToolResult {
        CallToolResult::error(vec![ContentBlock::text(self.words(profile))])
    }

    /// The words for the client of a server with these tools. Every way to the client leads through here.
    pub(crate) fn words(&self, profile: Profile) -> String {
        let message = visible::lines(&cut(&self.message, LONGEST)).into_owned();
        let advice = match &self.advice {
            Some(Advice::Hint(hint)) => hint::words(hint, profile),
            Some(Advice::Words(words)) => Some(words.clone()),
            None => None,
        };
        match advice {
            Some(advice) => format!("{message}. {}", visible::lines(&cut(&advice, LONGEST))),
            None => message,
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
        Self { message: error.to_string(), advice: error.hint().map(Advice::Hint) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides_in_what_a_client_is_told() {
        let trouble = Trouble::new("no team a\u{202e}b").hint("Did you mean \u{e0041}?");
        assert_eq!(trouble.words(Profile::All), "no team a\\u{202e}b. Did you mean \\u{e0041}?");
    }
}
