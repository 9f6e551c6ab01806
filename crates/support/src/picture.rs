//! A terminal as a picture: drawn by a test from what the program really shows, kept in the documents, and compared with them.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Of a letter, in pixels.
const WIDE: f64 = 7.8;
const HIGH: usize = 19;
const EDGE: usize = 18;
/// Colours on a ground of its own: legible on light and on dark pages.
const STYLE: &str = ".s1{font-weight:bold}.s2{fill:#8b98a9}.s31{fill:#ff6e6e}.s32{fill:#8fd460}.s33{fill:#f0c053}\
.s34{fill:#7cb7ff}.s35{fill:#d79bff}.s36{fill:#5fd7d7}";
const FONT: &str = "DejaVu Sans Mono,Menlo,Consolas,monospace";
/// More is no small picture.
const LARGEST: usize = 60_000;

/// A piece of a line in one style.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its letters, each as wide as every other.
    pub text: String,
    /// `s` and the number by which terminals know a style.
    pub classes: String,
    /// Light and dark are exchanged.
    pub is_reversed: bool,
}

/// An SVG of lines of so many columns. What is said of it to who cannot see it is the label.
pub fn draw(lines: &[Vec<Piece>], columns: usize, label: &str) -> String {
    #[expect(clippy::cast_precision_loss, reason = "columns are few")]
    let x = |column: usize| EDGE as f64 + column as f64 * WIDE;
    let (width, height) = (x(columns) + 18.0, lines.len() * HIGH + 2 * EDGE);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height}\" \
         viewBox=\"0 0 {width:.0} {height}\" font-family=\"{FONT}\" font-size=\"13\" fill=\"#d6deeb\" role=\"img\" aria-label=\"{label}\">\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#16202c\"/>\n"
    );
    for (at, line) in lines.iter().enumerate() {
        let y = EDGE + at * HIGH + 13;
        let mut column = 0;
        for Piece { text, classes, is_reversed } in line {
            let class = if classes.is_empty() { String::new() } else { format!(" class=\"{classes}\"") };
            if *is_reversed {
                let wide = x(text.chars().count()) - x(0);
                let (left, top) = (x(column), y - 14);
                let _ = writeln!(
                    svg,
                    "<rect x=\"{left:.1}\" y=\"{top}\" width=\"{wide:.1}\" height=\"{HIGH}\" fill=\"#3a4f68\"/>"
                );
            }
            // What stands apart has its place and its length, whatever the letters are where the picture is shown.
            for part in text.split_inclusive("  ") {
                let start = column + part.chars().take_while(|c| *c == ' ').count();
                let shown = part.trim().replace('&', "&amp;").replace('<', "&lt;");
                if !shown.is_empty() {
                    let long = x(part.trim().chars().count()) - x(0);
                    let place = format!("x=\"{:.1}\" y=\"{y}\" textLength=\"{long:.1}\"", x(start));
                    let _ = writeln!(
                        svg,
                        "<text {place} lengthAdjust=\"spacingAndGlyphs\"{class}>{shown}</text>"
                    );
                }
                column += part.chars().count();
            }
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Fails unless `docs/NAME` is this picture and the README shows it; with `ATM_WRITE_PICTURE` it is written first.
pub fn keep(name: &str, drawn: &str) {
    assert!(drawn.len() < LARGEST, "{name} has {} bytes", drawn.len());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("docs").join(name);
    if env::var_os("ATM_WRITE_PICTURE").is_some() {
        fs::write(&path, drawn).expect("the documents can be written");
    }
    let readme = fs::read_to_string(root.join("README.md")).expect("there is a README");
    assert!(readme.contains(&format!("(docs/{name})")), "the README does not show docs/{name}");
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == drawn, "`cargo xtask picture` draws docs/{name} anew; now it is\n{drawn}");
}
