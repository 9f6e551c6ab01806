//! A command as service managers spell it.

/// For systemd: words with blanks between them, none of which means more than it says.
pub(crate) fn systemd(command: &[String]) -> String {
    let quote = |word: &String| {
        let word = word.replace('%', "%%").replace('$', "$$");
        let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "/-_.=%$:".contains(c));
        if is_plain { word } else { format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"")) }
    };
    command.iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// For launchd: the elements of an array.
pub(crate) fn launchd(command: &[String]) -> String {
    let escape = |word: &String| word.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let element = |word: &String| format!("    <string>{}</string>\n", escape(word));
    command.iter().map(element).collect::<Vec<_>>().concat()
}
