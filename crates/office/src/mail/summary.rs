//! A short version of a text.

/// The longest summary that we make, in characters.
const LONGEST: usize = 60;

/// The first words of the first line that has any.
pub fn summarize(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut summary = String::new();
    for word in line.split_whitespace() {
        let length = summary.chars().count() + usize::from(!summary.is_empty()) + word.chars().count();
        if length > LONGEST {
            if summary.is_empty() {
                summary.extend(word.chars().take(LONGEST));
            }
            summary.push('…');
            return summary;
        }
        if !summary.is_empty() {
            summary.push(' ');
        }
        summary.push_str(word);
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_words_are_taken_whole() {
        assert_eq!(summarize("\n  please   check\tthe build\nsecond line"), "please check the build");
        let long = summarize(&"word ".repeat(40));
        assert!(long.ends_with("word…") && long.chars().count() <= LONGEST + 1, "{long}");
        assert_eq!(summarize(&"é".repeat(100)).chars().count(), LONGEST + 1);
        assert_eq!(summarize("   "), "");
    }
}
