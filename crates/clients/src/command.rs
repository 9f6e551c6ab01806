//! A command of a client, as data.

use std::fmt;

use crate::shell;

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The program's name, which is looked for on the path.
    pub program: &'static str,
    /// Its arguments.
    pub args: Vec<String>,
}

impl CommandLine {
    /// A call of `program`.
    pub(crate) fn new(program: &'static str, args: &[&str]) -> Self {
        Self { program, args: args.iter().map(ToString::to_string).collect() }
    }
}

/// As a shell would take it.
impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [self.program].into_iter().chain(self.args.iter().map(String::as_str));
        f.write_str(&shell::join(words))
    }
}
