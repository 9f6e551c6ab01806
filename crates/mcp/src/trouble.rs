//! What did not work, in words for the agent that asked.

use atm_office::tasks::TaskError;
use atm_office::{Hint, OfficeError};
use atm_wire::{NameError, visible};
use rmcp::model::{CallToolResult, ContentBlock};

use crate::hint::{self, Toolbox};
use crate::squeeze::cut;

/// Names in it may be anything; nobody needs more of them.
const LONGEST: usize = 1_000;

/// Why a call did not do what was asked, and what to do next.
#[derive(Debug)]
pub(crate) struct Trouble {
    message: String,
    advice: Option<Advice>,
    /// What was asked for and is not there.
    wanted: Option<String>,
    /// The call itself was wrong: a correct one helps.
    is_wrong_call: bool,
    example: Option<String>,
}

/// What to do next.
#[derive(Debug)]
pub(crate) enum Advice {
    /// What may help, worded by the tools that the server offers.
    Hint(Box<Hint>),
    /// The words of a tool.
    Words(String),
}

impl From<Hint> for Advice {
    fn from(hint: Hint) -> Self {
        Self::Hint(Box::new(hint))
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
        Self { message: message.into(), advice: None, wanted: None, is_wrong_call: false, example: None }
    }

    /// An argument is missing, or not as it must be.
    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self { is_wrong_call: true, ..Self::new(message) }
    }

    /// It is about this value of an argument.
    #[must_use]
    pub(crate) fn about(self, value: &str) -> Self {
        Self { wanted: Some(value.to_owned()), ..self }
    }

    /// In a call of this tool, with these arguments of few words: says which of them is meant, and shows a correct call.
    #[must_use]
    pub(crate) fn in_call(mut self, tool: &str, example: &str, given: &[(String, String)]) -> Self {
        let is_wanted = |(_, value): &&(String, String)| {
            self.wanted
                .as_deref()
                .is_some_and(|wanted| value == wanted || value.starts_with(&format!("{wanted}@")))
        };
        if let Some((name, _)) = given.iter().find(is_wanted) {
            self.message = format!("{name}: {}", self.message);
        }
        if self.is_wrong_call {
            self.example = Some(format!("For example {tool} {example}"));
        }
        self
    }

    #[must_use]
    pub(crate) fn hint(self, advice: impl Into<Advice>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    /// The answer that says so.
    pub(crate) fn into_result(self, toolbox: Toolbox) -> CallToolResult {
        CallToolResult::error(vec![ContentBlock::text(self.words(toolbox))])
    }

    /// The words for the client of a server with these tools. Every way to the client leads through here.
    pub(crate) fn words(&self, toolbox: Toolbox) -> String {
        let message = visible::lines(&cut(&self.message, LONGEST)).into_owned();
        let advice = match &self.advice {
            Some(Advice::Hint(hint)) => hint::words(hint, toolbox),
            Some(Advice::Words(words)) => Some(words.clone()),
            None => None,
        };
        let advice = advice.map(|advice| visible::lines(&cut(&advice, LONGEST)).into_owned());
        let said = [Some(message), advice, self.example.clone()];
        said.into_iter().flatten().collect::<Vec<_>>().join(". ")
    }
}

impl From<NameError> for Trouble {
    fn from(error: NameError) -> Self {
        OfficeError::from(error).into()
    }
}

impl From<OfficeError> for Trouble {
    fn from(error: OfficeError) -> Self {
        let wanted = match &error {
            OfficeError::NoTeam { wanted, .. }
            | OfficeError::NoMember { wanted, .. }
            | OfficeError::NoSession { wanted, .. }
            | OfficeError::NoAlias { wanted, .. }
            | OfficeError::WhichSession { wanted, .. } => Some(wanted.clone()),
            OfficeError::NoMessage { id, .. }
            | OfficeError::NotRecorded { id, .. }
            | OfficeError::WhichMessage { id, .. } => Some(id.clone()),
            OfficeError::NotOpen { request, .. } => request.clone(),
            OfficeError::Task(TaskError::NoTask { id, .. }) => Some(id.to_string()),
            OfficeError::Name(error) => Some(error.name().to_owned()),
            _ => None,
        };
        let advice = error.hint().map(Advice::from);
        let is_wrong_call = matches!(error, OfficeError::Name(_) | OfficeError::EmptyMessage);
        Self { advice, wanted, is_wrong_call, ..Self::new(error.to_string()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides_in_what_a_client_is_told() {
        let trouble = Trouble::new("no team a\u{202e}b").hint("Did you mean \u{e0041}?");
        assert_eq!(trouble.words(Toolbox::Leads), "no team a\\u{202e}b. Did you mean \\u{e0041}?");
    }

    #[test]
    fn what_is_not_there_is_said_with_the_argument_that_asked_for_it() {
        let no_bob = || OfficeError::NoMember {
            team: "dev".parse().unwrap(),
            wanted: "bbo".to_owned(),
            nearest: vec!["bob".to_owned()],
        };
        let given = [("content".to_owned(), "hi".to_owned()), ("recipient".to_owned(), "bbo".to_owned())];
        let said = |trouble: Trouble| trouble.in_call("send_message", "{}", &given).words(Toolbox::Leads);
        assert_eq!(said(no_bob().into()), "recipient: team dev has no member \"bbo\". Did you mean bob?");
        assert_eq!(said(Trouble::new("it failed")), "it failed");
        assert_eq!(
            said(OfficeError::EmptyMessage.into()),
            "the message is empty. Put the text into content. For example send_message {}"
        );
        assert_eq!(
            said(Trouble::argument("type is missing")),
            "type is missing. For example send_message {}"
        );
    }
}
