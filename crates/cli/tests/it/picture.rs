//! The picture in the README: a terminal with what the program prints on a team that needs a look. It is drawn from a real
//! run, and the test fails when the program prints something else than the picture shows.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Duration;

use atm_office::clock::{Clock, SystemClock};
use atm_wire::Stamp;
use serde_json::json;

use crate::scene::World;

const COLUMNS: usize = 92;
/// Of a letter, in pixels.
const WIDE: f64 = 7.8;
const HIGH: usize = 19;
const EDGE: usize = 18;

/// A team at work: two have not read their mail for hours, one is offline, one has answered.
fn team_that_needs_a_look() -> World {
    let world = World::new();
    world.ok(&["team", "create", "web-shop"]);
    for name in ["alice", "bob", "researcher", "tester"] {
        world.ok(&["member", "add", name, "--model", "sonnet"]);
    }
    // As another program wrote it: times are relative to now, so that each run prints the same.
    let now = SystemClock.now().as_millis();
    let ago = |minutes: u64| {
        let millis = i64::try_from(Duration::from_secs(minutes * 60).as_millis()).unwrap();
        Stamp::from_millis(now - millis).to_string()
    };
    for (to, from, minutes, summary, id) in [
        ("bob", "team-lead", 130, "review fix-login", "11111111-0000-4000-8000-000000b0b001"),
        ("researcher", "team-lead", 70, "which library?", "11111111-0000-4000-8000-0000005ea001"),
        ("user", "alice", 0, "login fixed, may I merge?", "11111111-0000-4000-8000-0000000a11ce"),
    ] {
        let entry = json!([{
            "from": from, "text": summary, "summary": summary, "timestamp": ago(minutes), "read": false,
            "messageId": id,
        }]);
        let file = world.root().join(format!("teams/web-shop/inboxes/{to}.json"));
        fs::write(file, entry.to_string()).unwrap();
    }
    world.ok(&["member", "set", "tester", "--active", "false"]);
    world.ok(&["send", "tester", "run the slow tests when you are back"]);
    world
}

/// A piece of a line in one style.
#[derive(Debug, Default, Clone)]
struct Piece {
    text: String,
    classes: String,
}

/// A line with colours as its pieces.
fn pieces(line: &str) -> Vec<Piece> {
    let (mut all, mut classes) = (Vec::new(), Vec::new());
    for (at, part) in line.split("\u{1b}[").enumerate() {
        let text = match part.split_once('m') {
            Some((codes, text)) if at > 0 => {
                for code in codes.split(';') {
                    match code {
                        "0" | "" => classes.clear(),
                        code => classes.push(format!("s{code}")),
                    }
                }
                text
            }
            _ => part,
        };
        if !text.is_empty() {
            all.push(Piece { text: text.to_owned(), classes: classes.join(" ") });
        }
    }
    all
}

/// Colours on a ground of its own: legible on light and on dark pages.
const STYLE: &str = ".s1{font-weight:bold}.s2{fill:#8b98a9}.s31{fill:#ff6e6e}.s32{fill:#8fd460}.s33{fill:#f0c053}\
.s34{fill:#7cb7ff}.s35{fill:#d79bff}.s36{fill:#5fd7d7}";
const FONT: &str = "DejaVu Sans Mono,Menlo,Consolas,monospace";

fn draw(output: &str) -> String {
    let lines: Vec<&str> =
        std::iter::once("\u{1b}[2m$\u{1b}[0m \u{1b}[1matm\u{1b}[0m").chain(output.lines()).collect();
    #[expect(clippy::cast_precision_loss, reason = "columns are few")]
    let x = |column: usize| EDGE as f64 + column as f64 * WIDE;
    let (width, height) = (x(COLUMNS) + 18.0, lines.len() * HIGH + 2 * EDGE);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height}\" \
         viewBox=\"0 0 {width:.0} {height}\" font-family=\"{FONT}\" font-size=\"13\" fill=\"#d6deeb\" role=\"img\" aria-label=\"What atm prints on a team in which two members \
         have not read their mail\">\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#16202c\"/>\n"
    );
    for (at, line) in lines.iter().enumerate() {
        let y = EDGE + at * HIGH + 13;
        let mut column = 0;
        for Piece { text, classes } in pieces(line) {
            let class = if classes.is_empty() { String::new() } else { format!(" class=\"{classes}\"") };
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

#[test]
fn the_readme_shows_what_the_program_prints() {
    let world = team_that_needs_a_look();
    let output = world.command(&["--color", "always"]).env("COLUMNS", COLUMNS.to_string()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let drawn = draw(&String::from_utf8(output.stdout).unwrap());
    assert!(drawn.len() < 40_000);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("docs/screen.svg");
    if env::var_os("ATM_WRITE_PICTURE").is_some() {
        fs::write(&path, &drawn).unwrap();
    }
    assert!(fs::read_to_string(root.join("README.md")).unwrap().contains("(docs/screen.svg)"));
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == drawn, "`cargo xtask picture` draws docs/screen.svg anew; now it is\n{drawn}");
}
