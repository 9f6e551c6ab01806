//! What is wrong with a settings file.

/// What is wrong with a settings file.
#[derive(Debug)]
pub(crate) struct Trouble {
    /// All of it, with the line.
    pub(super) message: String,
    /// What is wrong, in one line.
    pub(crate) short: String,
    /// Where, in bytes, if the parser knows.
    pub(crate) at: Option<usize>,
}

impl Trouble {
    pub(super) fn plain(message: String) -> Self {
        Self { short: message.clone(), message, at: None }
    }

    /// What is wrong with `text`, and where, without the line itself: the file may be a way to one of the user's secrets.
    pub(super) fn without_source(&self, text: &str) -> String {
        let Some(before) = self.at.and_then(|at| text.get(..at)) else { return self.short.clone() };
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        format!("line {line}, column {column}: {}", self.short)
    }
}
