//! `atm --version`, and with `--verbose` how the program was built.

use crate::cmd::Command;

/// The answer, if that is the question: `--version`, with or without `--verbose`, and no command. It is given before any
/// command is described.
pub(crate) fn answer(words: &[String]) -> Option<String> {
    let is_version = |word: &String| word == "--version" || word == "-V";
    let is_verbose = |word: &String| word == "--verbose" || word == "-v";
    let names_command = |word: &String| Command::describe(word).is_some();
    let asked = words.iter().any(is_version) && !words.iter().any(names_command);
    asked.then(|| if words.iter().any(is_verbose) { text() } else { short() })
}

/// Which build this is, to tell it from another of the same version.
pub(crate) fn build() -> String {
    let commit = env!("ATM_BUILD_COMMIT");
    let commit = if commit.is_empty() { "unknown" } else { commit };
    format!("{} {commit} {}", env!("CARGO_PKG_VERSION"), env!("ATM_BUILD_PROFILE"))
}

fn short() -> String {
    format!("atm {}\n", env!("CARGO_PKG_VERSION"))
}

fn text() -> String {
    let or_unknown = |value: &'static str| if value.is_empty() { "unknown" } else { value };
    let features = [("mcp-http", cfg!(feature = "mcp-http"))];
    let features: Vec<&str> = features.iter().filter_map(|(name, is_on)| is_on.then_some(*name)).collect();
    let features = if features.is_empty() { "none".to_owned() } else { features.join(", ") };
    format!(
        "atm {}\ncommit: {}\nprofile: {}\ntarget: {}\ncompiler: {}\nfeatures: {features}\n",
        env!("CARGO_PKG_VERSION"),
        or_unknown(env!("ATM_BUILD_COMMIT")),
        or_unknown(env!("ATM_BUILD_PROFILE")),
        or_unknown(env!("ATM_BUILD_TARGET")),
        or_unknown(env!("ATM_BUILD_COMPILER")),
    )
}
