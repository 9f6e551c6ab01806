//! Screens, at three sizes.

use crossterm::event::{KeyCode, KeyModifiers};
use insta::assert_snapshot;

use super::fixture::{buffer, empty, known, mail, opened, screen, state, team};
use crate::event::{Act, Deed, Event, Loaded, Outcome, Trouble};
use crate::keys::{Key, Place};
use crate::state::{Dialog, State, Tab};
use crate::theme::Theme;
use crate::update::update;

const SIZES: [(u16, u16); 3] = [(60, 15), (100, 30), (250, 80)];

fn press(state: &mut State, keys: &str) {
    for c in keys.chars() {
        let key = Key { code: KeyCode::Char(c), modifiers: KeyModifiers::NONE };
        drop(update(state, Event::Key(key)));
    }
}

fn loaded(state: &mut State, loaded: Loaded) {
    drop(update(state, Event::Loaded(Box::new(loaded))));
}

/// The scenes that are looked at.
fn scenes(width: u16, height: u16) -> Vec<(&'static str, State)> {
    let mut message = state(width, height);
    press(&mut message, "j");
    let now = message.now;
    loaded(&mut message, Loaded::Message(mail()[1].id.clone(), now, Ok(opened())));
    message.focus = Place::Message;
    let mut members = state(width, height);
    members.focus = Place::Members;
    let mut needs = state(width, height);
    needs.tab = Tab::Needs;
    let mut tasks = state(width, height);
    tasks.tab = Tab::Tasks;
    press(&mut tasks, "jj");
    let mut log = state(width, height);
    log.tab = Tab::Log;
    let mut letter = state(width, height);
    press(&mut letter, "rYes, but first:\u{7}");
    vec![
        ("mail", state(width, height)),
        ("members", members),
        ("message", message),
        ("needs", needs),
        ("tasks", tasks),
        ("log", log),
        ("letter", letter),
    ]
}

#[test]
fn every_part_at_every_size() {
    for (width, height) in SIZES {
        for (name, state) in scenes(width, height) {
            // The largest are looked at where they differ most.
            if width < 250 || ["message", "needs", "tasks"].contains(&name) {
                assert_snapshot!(format!("{name}_{width}x{height}"), screen(&state));
            }
        }
    }
}

#[test]
fn the_help_is_all_of_the_keys() {
    let mut state = state(100, 49);
    press(&mut state, "?");
    assert_snapshot!(screen(&state));
}

#[test]
fn before_anything_is_known_it_says_so() {
    let state = empty(60, 15);
    assert_snapshot!(screen(&state));
    let mut state = empty(100, 30);
    state.team = None;
    loaded(&mut state, Loaded::Teams(Ok(Vec::new())));
    let shown = screen(&state);
    assert!(shown.contains("no team yet"), "{shown}");
    assert!(shown.contains("no mail: there is no team"), "{shown}");
}

#[test]
fn nothing_needs_you_says_what_was_looked_at_and_when() {
    let mut known = known();
    known.plans.clear();
    known.picture.attention.clear();
    known.picture.pending.clear();
    let mut state = state(100, 30);
    loaded(&mut state, Loaded::Team(team("dev"), Ok(known)));
    state.tab = Tab::Needs;
    let shown = screen(&state);
    assert!(shown.contains("Nothing needs you. nothing waits") && shown.contains("4 inboxes"), "{shown}");
    assert!(shown.contains("looked 2 s") && shown.contains("ago."), "{shown}");
}

#[test]
fn a_lost_ledger_is_said_with_its_age_and_what_is_known_stays() {
    let mut state = state(100, 30);
    let trouble = Trouble {
        what: "cannot open the ledger".into(),
        hint: Some("`atm doctor --fix` makes a new one".into()),
    };
    drop(update(&mut state, Event::Followed(Err(trouble.clone()))));
    let later = atm_wire::Stamp::from_millis(state.now.as_millis() + 90_000);
    drop(update(&mut state, Event::Tick(later)));
    drop(update(&mut state, Event::Followed(Err(trouble))));
    let shown = screen(&state);
    assert!(shown.contains("no ledger for 1 min"), "{shown}");
    assert!(shown.contains("may be old: cannot open the ledger; `atm doctor --fix`"), "{shown}");
    assert!(shown.contains("review fix-login"), "{shown}");
}

#[test]
fn decisions_and_results_show_the_command_that_they_are() {
    let mut state = state(100, 30);
    press(&mut state, "2a");
    let asked = screen(&state);
    assert!(asked.contains("Approve plan-1794830000000@alice, as the lead of dev?"), "{asked}");
    assert!(asked.contains("$ atm -t dev --as team-lead plan approve plan-1794830000000@alice"), "{asked}");
    let effects =
        update(&mut state, Event::Key(Key { code: KeyCode::Char('y'), modifiers: KeyModifiers::NONE }));
    let deed = Deed::Approve { request: "plan-1794830000000@alice".into() };
    let act = Act { team: team("dev"), deed };
    assert_eq!(effects, [crate::event::Effect::Do(act.clone())]);
    assert!(screen(&state).contains("… atm -t dev --as team-lead plan approve"), "{}", screen(&state));
    drop(update(&mut state, Event::Done(act, Ok(Outcome::Said("delivered to alice".into())))));
    let done = screen(&state);
    assert!(done.contains("✓ delivered to alice  $ atm -t dev --as team-lead plan approve"), "{done}");
}

/// Text that would be obeyed by a terminal, or hides something.
const HOSTILE: &str =
    "a\u{1b}[31m\u{202e}b\u{7}\u{9b}2J\u{200b}\u{e0041}\u{e0042}\u{e0043}\u{e0044}\u{e0045}c\r\n\td";

#[test]
fn no_text_on_the_screen_hides_or_does_anything() {
    let spoil = |text: &mut String| HOSTILE.clone_into(text);
    let mut known = known();
    for member in &mut known.picture.members {
        member.activity = Some(HOSTILE.into());
    }
    for attention in &mut known.picture.attention {
        spoil(&mut attention.what);
        attention.who = Some(HOSTILE.into());
    }
    for task in &mut known.tasks {
        spoil(&mut task.subject);
        spoil(&mut task.description);
        task.owner = Some(HOSTILE.into());
    }
    for plan in &mut known.plans {
        plan.plan = Some(HOSTILE.into());
        plan.summary = Some(HOSTILE.into());
        spoil(&mut plan.from);
        spoil(&mut plan.request);
    }
    let mut rows = mail();
    for row in &mut rows {
        for text in [&mut row.text, &mut row.from, &mut row.to, &mut row.r#type] {
            spoil(text);
        }
    }
    let mut opened = opened();
    opened.track.stages[0].evidence.what = HOSTILE.into();
    opened.track.stages[0].evidence.file = Some(HOSTILE.into());
    opened.thread.clone_from(&rows);
    for (width, height) in SIZES {
        for (name, mut state) in scenes(width, height) {
            loaded(&mut state, Loaded::Team(team("dev"), Ok(known.clone())));
            let (of, now) = (state.mail.of.clone(), state.now);
            loaded(&mut state, Loaded::Mail(of, now, Ok(rows.clone())));
            let id = state.message.id.clone();
            loaded(&mut state, Loaded::Message(id, now, Ok(opened.clone())));
            for event in &mut state.log {
                event.team = HOSTILE.into();
            }
            let trouble = Trouble { what: HOSTILE.into(), hint: Some(HOSTILE.into()) };
            drop(update(&mut state, Event::Edited(Err(trouble))));
            if let Some(Dialog::Compose(letter)) = &mut state.dialog {
                letter.text = crate::edit::Edit::new(HOSTILE);
            }
            for cell in &buffer(&state).content {
                let symbol = cell.symbol();
                assert!(!atm_wire::visible::has_hidden(symbol), "{name} {width}x{height}: {symbol:?}");
            }
        }
    }
}

#[test]
fn any_size_can_be_drawn() {
    for (width, height) in [(0, 0), (1, 1), (2, 3), (10, 4), (20, 8), (79, 5), (80, 4), (140, 3), (300, 200)]
    {
        for (_, mut state) in scenes(100, 30) {
            drop(update(&mut state, Event::Resize(width, height)));
            buffer(&state);
            press(&mut state, "?");
            buffer(&state);
        }
    }
}

#[test]
fn without_colours_there_are_none() {
    for (_, state) in scenes(250, 80) {
        for cell in &buffer(&state).content {
            assert_eq!((cell.fg, cell.bg), (ratatui::style::Color::Reset, ratatui::style::Color::Reset));
        }
        let coloured = State { theme: Theme::Terminal, ..state };
        let colours = buffer(&coloured).content;
        assert!(colours.iter().any(|cell| cell.fg != ratatui::style::Color::Reset));
        // The terminal's ground is its own.
        assert!(colours.iter().all(|cell| cell.bg == ratatui::style::Color::Reset));
        assert!(colours.iter().all(|cell| !matches!(cell.fg, ratatui::style::Color::Rgb(..))));
    }
}
