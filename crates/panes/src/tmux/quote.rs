//! Text for other parsers: tmux reads commands, expands formats in some of them, and hands some to a shell.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// An argument as tmux takes it: one that ends in `;` would end the command.
pub(super) fn argument(text: &OsStr) -> OsString {
    match text.as_bytes() {
        [rest @ .., b';'] => OsString::from_vec([rest, b"\\;"].concat()),
        _ => text.to_owned(),
    }
}

/// A word for a shell.
fn shell_word(text: &OsStr) -> Vec<u8> {
    let mut word = vec![b'\''];
    for byte in text.as_bytes() {
        match byte {
            b'\'' => word.extend(b"'\\''"),
            other => word.push(*other),
        }
    }
    word.push(b'\'');
    word
}

/// A shell command of these words, for a tmux command that expands formats (`#`) and times (`%`) in it.
pub(super) fn shell_command(words: &[&OsStr], times: bool) -> Vec<u8> {
    let mut command = Vec::new();
    for word in words {
        if !command.is_empty() {
            command.push(b' ');
        }
        for byte in shell_word(word) {
            if byte == b'#' || (times && byte == b'%') {
                command.push(byte);
            }
            command.push(byte);
        }
    }
    command
}

/// A string within a tmux command that is itself an argument, in double quotes.
pub(super) fn tmux_string(text: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'"'];
    for byte in text {
        if matches!(byte, b'"' | b'\\' | b'$') {
            quoted.push(b'\\');
        }
        quoted.push(*byte);
    }
    quoted.push(b'"');
    quoted
}

/// A text without what a terminal would act on: control characters, and line breaks, which become spaces. What a reader
/// would not see in it is spelled out.
pub(super) fn one_line(text: &str) -> String {
    let spaced = text.replace("\r\n", " ").replace(['\n', '\r', '\t'], " ");
    let plain: String = spaced.chars().filter(|c| !c.is_control()).collect();
    atm_wire::visible::line(&plain).into_owned()
}

/// Lines without control characters.
pub(super) fn plain_lines(text: &str) -> String {
    text.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_one_line_without_control_characters() {
        assert_eq!(one_line("a\r\nb\nc\td\u{1b}[31m\u{7}\u{9b}e\u{3}"), "a b c d[31me");
        assert_eq!(one_line("go\u{200b}\u{e0041}"), "go\\u{200b}\\u{e0041}");
        assert_eq!(plain_lines("a\u{1b}]0;x\u{7}\nb\r"), "a]0;x\nb");
    }

    #[test]
    fn words_survive_both_parsers() {
        let words: Vec<OsString> = ["a b", "it's", "50%", "#{pane_id}"].map(OsString::from).into();
        let words: Vec<&OsStr> = words.iter().map(OsString::as_os_str).collect();
        let command = String::from_utf8(shell_command(&words, true)).unwrap();
        assert_eq!(command, r"'a b' 'it'\''s' '50%%' '##{pane_id}'");
        assert_eq!(tmux_string(br#"a "b" \ $c"#), br#""a \"b\" \\ \$c""#);
        assert_eq!(argument(OsStr::new("echo;")), "echo\\;");
        assert_eq!(argument(OsStr::new("a;b")), "a;b");
    }
}
