//! A picture that is drawn over the last one, on a terminal.

use std::fmt::Write;

use atm_wire::counted;

use super::fit;
use super::screen::Screen;

/// Puts the cursor home. Nothing is cleared before the new lines are there, so that nothing flickers.
const HOME: &str = "\x1b[H";
/// Clears the rest of the line; the rest of the screen.
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";

/// The text over what is there: as many lines as fit, and how many were left out. The cursor stands below the last one, so that
/// who ends it finds the prompt there.
pub(super) fn of(text: &str, screen: Screen) -> String {
    let columns = screen.columns.unwrap_or(80).max(1);
    let height = |line: &str| fit::width(&fit::without_colours(line)).div_ceil(columns).max(1);
    let lines: Vec<&str> = text.lines().collect();
    let all: usize = lines.iter().copied().map(height).sum();
    // The cursor takes a line, and what is said of the rest one more.
    let rows = screen.rows.unwrap_or(usize::MAX).saturating_sub(1).max(1);
    let room = if all > rows { rows - 1 } else { rows };
    let (mut frame, mut used, mut shown) = (HOME.to_owned(), 0, 0);
    for line in &lines {
        used += height(line);
        if used > room {
            break;
        }
        let _ = write!(frame, "{line}{CLEAR_LINE}\r\n");
        shown += 1;
    }
    if shown < lines.len() {
        let _ = write!(frame, "… {}{CLEAR_LINE}\r\n", counted(lines.len() - shown, "more line"));
    }
    frame.push_str(CLEAR_BELOW);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, columns: usize, rows: usize) -> Vec<String> {
        let frame = of(text, Screen { columns: Some(columns), rows: Some(rows) });
        let text = frame.strip_prefix(HOME).unwrap().strip_suffix(CLEAR_BELOW).unwrap();
        text.split_terminator("\r\n").map(|line| line.strip_suffix(CLEAR_LINE).unwrap().to_owned()).collect()
    }

    #[test]
    fn what_fits_is_whole_and_what_does_not_says_so() {
        assert_eq!(lines("a\nb\nc\n", 10, 4), ["a", "b", "c"]);
        assert_eq!(lines("a\nb\nc\nd\n", 10, 4), ["a", "b", "… 2 more lines"]);
        // A line that is wider than the terminal takes several.
        assert_eq!(lines("aaaaaaaaaaaa\nb\nc\n", 10, 4), ["aaaaaaaaaaaa", "… 2 more lines"]);
        assert_eq!(lines("a\nb\n", 10, 1), ["… 2 more lines"]);
    }
}
