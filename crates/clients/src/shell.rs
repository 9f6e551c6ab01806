//! Words for a shell.

/// A word as a shell takes it for one.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./@+:".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A command line: the words, each quoted where it has to be.
pub fn join<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_a_path_as_one_word() {
        assert_eq!(quote("/a/b-c"), "/a/b-c");
        assert_eq!(quote("/a b/$(c)'d"), r"'/a b/$(c)'\''d'");
        assert_eq!(quote(""), "''");
        assert_eq!(join(["atm", "--as", "a b"]), "atm --as 'a b'");
    }
}
