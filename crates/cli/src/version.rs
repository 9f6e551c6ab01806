//! `atm --version --verbose`: how the program was built.

/// The answer, if that is the question: `--version` and `--verbose` in any order, and nothing else.
pub(crate) fn answer(words: &[String]) -> Option<String> {
    let is_version = |word: &String| word == "--version" || word == "-V";
    let is_verbose = |word: &String| word == "--verbose" || word == "-v";
    let asked = words.iter().any(is_version) && words.iter().any(is_verbose);
    (asked && words.iter().all(|word| is_version(word) || is_verbose(word))).then(text)
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
