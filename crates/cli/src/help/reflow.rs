//! Paragraphs of help texts, which are written in lines of the source's width and read in lines of the terminal's.

/// The text with each paragraph on one line, for the terminal to wrap. Indented lines are kept as they are.
pub(super) fn paragraphs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut was_prose = false;
    for line in text.lines() {
        let is_prose = !line.is_empty() && !line.starts_with(' ');
        if !out.is_empty() {
            out.push(if is_prose && was_prose { ' ' } else { '\n' });
        }
        out.push_str(line);
        was_prose = is_prose;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::paragraphs;

    #[test]
    fn prose_is_joined_and_code_is_not() {
        let text = "One\ntwo.\n\nIn the settings:\n  [a]\n  b = 1\nAnd\nso on.\n";
        assert_eq!(paragraphs(text), "One two.\n\nIn the settings:\n  [a]\n  b = 1\nAnd so on.");
    }
}
