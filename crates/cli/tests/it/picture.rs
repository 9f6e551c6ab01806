//! The picture in the README: a terminal with what the program prints on a team that needs a look. It is drawn from a real
//! run, and the test fails when the program prints something else than the picture shows.

use std::env;
use std::fs;
use std::path::Path;
use std::time::Duration;

use atm_office::clock::{Clock, SystemClock};
use atm_support::picture::{self, Piece};
use atm_support::wait_until;
use atm_wire::Stamp;
use serde_json::json;

use crate::scene::World;
use crate::terminal::Terminal;

const COLUMNS: usize = 92;
const LABEL: &str = "What atm prints on a team in which two members have not read their mail";

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

/// A line with colours as its pieces.
fn pieces(line: &str) -> Vec<Piece> {
    let (mut all, mut classes, mut is_reversed) = (Vec::new(), Vec::new(), false);
    for (at, part) in line.split("\u{1b}[").enumerate() {
        let text = match part.split_once('m') {
            Some((codes, text)) if at > 0 => {
                // The first sixteen colours have two spellings.
                let codes = codes.replace("38;5;", "3");
                for code in codes.split(';') {
                    match code {
                        "0" | "" => (classes, is_reversed) = (Vec::new(), false),
                        "7" => is_reversed = true,
                        "39" => classes.retain(|class: &String| !class.starts_with("s3")),
                        code => classes.push(format!("s{code}")),
                    }
                }
                text
            }
            _ => part,
        };
        if !text.is_empty() {
            all.push(Piece { text: text.to_owned(), classes: classes.join(" "), is_reversed });
        }
    }
    all
}

/// A screen as it is where the shared tree is in its usual place; the frame behind a path stays where it is.
fn at_home(world: &World, screen: &str) -> String {
    const USUAL: &str = "~/.claude";
    let here = world.root().display().to_string();
    let room = " ".repeat(here.chars().count().saturating_sub(USUAL.len()));
    let line = |line: &str| match line.replace(&here, USUAL) {
        changed if changed == line => changed,
        changed => match changed.rsplit_once('│') {
            // Colours stand before the frame.
            Some((text, frame)) => {
                let end = text.rfind(')').map_or(text.len(), |at| at + 1);
                format!("{}{room}{}│{frame}", &text[..end], &text[end..])
            }
            None => changed,
        },
    };
    screen.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// A picture's words that are the same in every run: without numbers, times and ids.
fn lasting_words(svg: &str) -> Vec<String> {
    let texts = svg.split("<text ").skip(1).filter_map(|text| text.split_once('>')?.1.split_once('<'));
    let texts = texts.map(|(text, _)| text.replace("&amp;", "&").replace("&lt;", "<"));
    let is_lasting = |text: &String| !text.chars().any(|c| c.is_ascii_digit()) && !text.contains("now");
    texts.filter(is_lasting).filter(|text| text.chars().filter(|c| c.is_alphabetic()).count() > 2).collect()
}

/// The terminal UI in a real terminal, on the same team. Times differ from run to run: the rest has to be on the screen.
#[test]
fn the_readme_shows_the_terminal_ui_of_a_real_run() {
    const SIZE: (usize, usize) = (112, 28);
    let terminal = Terminal::new(team_that_needs_a_look(), SIZE.0, SIZE.1);
    terminal.enter("atm ui --theme terminal");
    terminal.wait_for("● live");
    terminal.wait_for("review fix-login");
    // The members are known, too.
    terminal.wait_for("★ online");
    // The message that waits longest, with its stages.
    terminal.press("G");
    terminal.wait_for("team-lead → bob@web-shop");
    terminal.wait_for("in the inbox");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ui.svg");
    if env::var_os("ATM_WRITE_PICTURE").is_some() {
        let shown = at_home(&terminal.world, &terminal.tmux(&["capture-pane", "-e", "-p"]));
        let lines: Vec<Vec<Piece>> = shown.lines().map(pieces).collect();
        fs::write(
            &file,
            picture::draw(&lines, SIZE.0, "atm ui on a team in which two members have not read their mail"),
        )
        .unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap();
    let words = lasting_words(&kept);
    assert!(words.len() > 20 && kept.len() < 60_000, "{words:?}");
    wait_until("the screen is that of the picture", || {
        let screen = at_home(&terminal.world, &terminal.screen());
        words.iter().all(|word| screen.contains(word.as_str()))
    });
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    assert!(readme.contains("docs/ui.svg"), "the README shows it");
    terminal.press("q");
}

#[test]
fn the_readme_shows_what_the_program_prints() {
    let world = team_that_needs_a_look();
    let output = world.command(&["--color", "always"]).env("COLUMNS", COLUMNS.to_string()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let output = String::from_utf8(output.stdout).unwrap();
    let prompt = "\u{1b}[2m$\u{1b}[0m \u{1b}[1matm\u{1b}[0m";
    let lines: Vec<Vec<Piece>> = std::iter::once(prompt).chain(output.lines()).map(pieces).collect();
    picture::keep("screen.svg", &picture::draw(&lines, COLUMNS, LABEL));
}
