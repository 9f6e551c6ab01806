//! What events do, in tables.

use atm_ledger::Stage;
use atm_office::sessions::WaitingSession;
use atm_office::view::mute::{Mute, Muted};
use atm_office::watch::Happening;
use crossterm::event::{KeyCode, KeyModifiers};

use super::fixture::{ago, empty, event, known, mail, message, screen, state, team};
use crate::event::{Act, Deed, Effect, Event, Load, Loaded, MailKey, Outcome, Trouble};
use crate::keys::{Key, Place};
use crate::layout;
use crate::state::{Dialog, Link, State, Tab};
use crate::update::{begin, update};

fn key(code: KeyCode) -> Event {
    Event::Key(Key { code, modifiers: KeyModifiers::NONE })
}

/// Presses keys, and gives what is wanted after the last of them.
fn press(state: &mut State, keys: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    for c in keys.chars() {
        effects = update(state, key(KeyCode::Char(c)));
    }
    effects
}

fn control(state: &mut State, c: char) -> Vec<Effect> {
    update(state, Event::Key(Key { code: KeyCode::Char(c), modifiers: KeyModifiers::CONTROL }))
}

fn act(deed: Deed) -> Vec<Effect> {
    vec![Effect::Do(Act { team: team("dev"), deed })]
}

fn id(at: usize) -> String {
    mail()[at].id.clone()
}

#[test]
fn it_begins_with_the_teams_and_looks_at_each() {
    let mut state = empty(100, 30);
    let of = MailKey { team: Some(team("dev")), ..MailKey::default() };
    let wanted = [Load::Teams, Load::Team(team("dev")), Load::Mail(of)].map(Effect::Load);
    assert_eq!(begin(&state), wanted);
    let teams = Loaded::Teams(Ok(vec![team("dev"), team("ops")]));
    let effects = update(&mut state, Event::Loaded(Box::new(teams)));
    assert_eq!(effects, [Load::Team(team("dev")), Load::Team(team("ops"))].map(Effect::Load));
}

#[test]
fn keys_do_what_the_table_says() {
    // Where the keys are, what is pressed, and what is wanted then.
    let table: Vec<(Place, &str, Vec<Effect>)> = vec![
        (Place::Mail, "q", vec![Effect::Quit]),
        (Place::Mail, "w", act(Deed::Wake { name: "alice".into() })),
        (Place::Mail, "p", act(Deed::Peek { name: "alice".into() })),
        (Place::Mail, "t", act(Deed::Attach { name: "alice".into() })),
        (Place::Mail, "m", act(Deed::MarkRead { id: id(0) })),
        (Place::Mail, "A", act(Deed::Acknowledge { id: id(0) })),
        (Place::Members, "jjw", act(Deed::Wake { name: "alice".into() })),
        (Place::Members, "w", vec![]),
        (Place::Mail, "jm", vec![]),
        (Place::Mail, "d", vec![]),
        (Place::Mail, "a", vec![]),
    ];
    for (place, keys, wanted) in table {
        let mut state = state(100, 30);
        state.focus = place;
        assert_eq!(press(&mut state, keys), wanted, "{keys:?} in {place:?}");
        if wanted.is_empty() {
            assert!(state.notice.is_some_and(|notice| notice.is_bad), "{keys:?} in {place:?} says why not");
        }
    }
}

#[test]
fn a_key_mutes_what_is_meant_and_the_same_key_ends_it() {
    use Muted::{Member, Message, Task};
    // The tab, the focus, what is pressed before it; what is muted then.
    let table = [
        (Tab::Needs, Place::Mail, "", Some((Message, known().plans[0].id.clone()))),
        (Tab::Needs, Place::Mail, "j", Some((Member, "bob".into()))),
        (Tab::Needs, Place::Mail, "jj", Some((Message, id(2)))),
        (Tab::Mail, Place::Mail, "", Some((Message, id(0)))),
        (Tab::Mail, Place::Message, "", Some((Message, id(0)))),
        (Tab::Mail, Place::Members, "jjj", Some((Member, "bob".into()))),
        (Tab::Mail, Place::Members, "", None),
        (Tab::Tasks, Place::Mail, "", Some((Task, "4".into()))),
    ];
    for (tab, focus, keys, wanted) in table {
        let mut state = state(100, 30);
        (state.tab, state.focus) = (tab, focus);
        press(&mut state, keys);
        let effects = press(&mut state, "M");
        let Some((kind, what)) = wanted else {
            assert_eq!(effects, []);
            assert!(state.notice.is_some_and(|notice| notice.is_bad), "{tab:?} {focus:?} says why not");
            continue;
        };
        assert_eq!(effects, act(Deed::Mute { kind, what: what.clone() }), "{tab:?} {focus:?} {keys:?}");
        // The same again, when the team was looked at.
        let mute = Mute { team: "dev".into(), kind, what: what.clone(), since: ago(1), until: ago(-60) };
        let muted = &mut state.teams.as_mut().unwrap()[0].known.as_mut().unwrap().picture.muted;
        muted.push(mute);
        assert_eq!(
            press(&mut state, "M"),
            act(Deed::Unmute { kind, what: what.clone() }),
            "{tab:?} {focus:?}"
        );
        // It is listed last in what needs somebody, and ends there, too.
        state.tab = Tab::Needs;
        assert_eq!(press(&mut state, "GM"), act(Deed::Unmute { kind, what }), "{tab:?} {focus:?}");
    }
}

/// A session that waits for its user was shown in the team of sessions alone.
#[test]
fn a_session_beside_the_team_needs_you_and_no_key_is_for_it() {
    let mut state = state(100, 30);
    state.tab = Tab::Needs;
    let picture = &mut state.teams.as_mut().unwrap()[0].known.as_mut().unwrap().picture;
    picture.sessions_waiting = vec![WaitingSession {
        name: "shop".into(),
        session: "0b7e1c52".into(),
        client: "codex",
        folder: "/w/sh\u{202e}op".into(),
        waits_for: Some("permission".into()),
        since: Some(ago(3)),
        what: "session sh\u{202e}op is waiting for permission".into(),
        has_mailbox: false,
    }];
    for key in ["j", "M", "w", "p", "r", "R"] {
        assert_eq!(press(&mut state, key), [], "{key}");
    }
    assert_eq!(update(&mut state, key(KeyCode::Enter)), []);
    let shown = screen(&state);
    assert!(shown.contains("Needs you 3"), "{shown}");
    assert!(
        shown.contains("waits for you           3 min") && shown.contains("is waiting for permission"),
        "{shown}"
    );
    assert!(shown.contains("codex in /w/sh") && !shown.contains('\u{202e}'), "{shown}");
}

#[test]
fn what_cannot_be_undone_is_asked_once_more() {
    let mut state = state(100, 30);
    state.mail.rows[0] = message("b0b09", "user", "bob", 1, Stage::Written, "never mind");
    assert_eq!(press(&mut state, "d"), []);
    assert!(matches!(state.dialog, Some(Dialog::Confirm(_))));
    assert_eq!(press(&mut state, "n"), []);
    assert!(state.dialog.is_none());
    assert_eq!(press(&mut state, "dy"), act(Deed::Recall { id: state.mail.rows[0].id.clone() }));

    let mut state = self::state(100, 30);
    state.focus = Place::Members;
    press(&mut state, "jjjSthe work is done");
    assert_eq!(update(&mut state, key(KeyCode::Enter)), []);
    let deed = Deed::Shutdown { name: "bob".into(), reason: "the work is done".into() };
    assert_eq!(press(&mut state, "y"), act(deed));
}

#[test]
fn plans_are_decided_where_they_are_listed() {
    let request = known().plans[0].request.clone();
    let mut state = state(100, 30);
    assert_eq!(press(&mut state, "2ay"), act(Deed::Approve { request: request.clone() }));
    press(&mut state, "xtests first");
    assert_eq!(
        update(&mut state, key(KeyCode::Enter)),
        act(Deed::Reject { request, feedback: "tests first".into() })
    );
    // Without a word there is nothing to change.
    press(&mut state, "x");
    assert_eq!(update(&mut state, key(KeyCode::Enter)), []);
}

#[test]
fn a_shutdown_is_decided_by_the_one_who_is_asked() {
    let mut state = state(100, 30);
    let payload = r#"{"type":"shutdown_request","requestId":"shutdown-1@bob","from":"team-lead"}"#;
    let mut asked = message("5007", "team-lead", "bob", 1, Stage::Written, payload);
    asked.r#type = "shutdown_request".into();
    state.mail.rows[0] = asked;
    assert_eq!(press(&mut state, "a"), [], "it is bob's to decide");
    state.me = "bob".parse().unwrap();
    assert_eq!(press(&mut state, "ay"), act(Deed::ApproveShutdown { request: "shutdown-1@bob".into() }));
    press(&mut state, "xnot yet");
    let deed = Deed::RejectShutdown { request: "shutdown-1@bob".into(), reason: "not yet".into() };
    assert_eq!(update(&mut state, key(KeyCode::Enter)), act(deed));
}

#[test]
fn an_answer_goes_into_its_thread_and_other_mail_to_its_sender() {
    let mut state = state(100, 30);
    press(&mut state, "ryes");
    assert_eq!(control(&mut state, 's'), act(Deed::Reply { id: id(0), text: "yes".into() }));
    // That one was for bob.
    press(&mut state, "jjrI see");
    assert_eq!(control(&mut state, 's'), act(Deed::Send { to: "team-lead".into(), text: "I see".into() }));
}

#[test]
fn a_letter_that_cannot_be_sent_is_not_lost() {
    let mut state = state(100, 30);
    press(&mut state, "chello");
    assert!(control(&mut state, 'o') == [Effect::Edit("hello".into())]);
    drop(update(&mut state, Event::Edited(Ok("hello\nworld\n".into()))));
    let wanted = act(Deed::Send { to: "alice".into(), text: "hello\nworld".into() });
    assert_eq!(control(&mut state, 's'), wanted);
    let Effect::Do(sent) = wanted[0].clone() else { panic!("it is a deed") };
    let trouble = Trouble { what: "busy".into(), hint: None };
    drop(update(&mut state, Event::Done(sent.clone(), Err(trouble))));
    let text = |state: &State| match &state.dialog {
        Some(Dialog::Compose(letter)) => letter.text.text(),
        _ => String::new(),
    };
    assert_eq!(text(&state), "hello\nworld");
    // Left, it is kept for the same recipient.
    drop(update(&mut state, key(KeyCode::Esc)));
    assert!(state.dialog.is_none());
    press(&mut state, "c");
    assert_eq!(text(&state), "hello\nworld");
    assert_eq!(control(&mut state, 's').len(), 1);
    drop(update(&mut state, Event::Done(sent, Ok(Outcome::Said("delivered".into())))));
    press(&mut state, "c");
    assert_eq!(text(&state), "");
    assert_eq!(control(&mut state, 's'), [], "an empty one is not sent");
}

#[test]
fn what_was_chosen_stays_chosen_when_mail_comes() {
    let mut state = state(100, 30);
    press(&mut state, "jj");
    assert_eq!(state.listed().unwrap().id, id(2));
    let new = message("0000f", "carol", "user", 0, Stage::Written, "new");
    let mut rows = mail();
    rows.insert(0, new.clone());
    let (of, now) = (state.mail.of.clone(), state.now);
    let arrive = |state: &mut State| {
        update(state, Event::Loaded(Box::new(Loaded::Mail(of.clone(), now, Ok(rows.clone())))))
    };
    arrive(&mut state);
    assert_eq!(state.listed().unwrap().id, id(2));
    // At the top one sees the newest.
    press(&mut state, "g");
    assert_eq!(state.listed().unwrap().id, new.id);
    let mut state = self::state(100, 30);
    assert_eq!(arrive(&mut state), [Effect::Load(Load::Message(team("dev"), new.id.clone()))]);
}

#[test]
fn news_has_what_it_is_about_looked_up_again() {
    let mut state = state(100, 30);
    let seen = Happening::Stage { id: id(0), to: "user".into(), stage: Stage::Seen };
    let effects = update(&mut state, Event::News(vec![event(9, 0, seen)]));
    let of = state.mail.of.clone();
    let wanted = [Load::Team(team("dev")), Load::Mail(of), Load::Message(team("dev"), id(0))];
    assert_eq!(effects, wanted.map(Effect::Load));
    let presence = Happening::Presence { member: "bob".into(), state: "idle".into(), was: None };
    let effects = update(&mut state, Event::News(vec![event(10, 0, presence)]));
    assert_eq!(effects, [Effect::Load(Load::Team(team("dev")))]);
    let mut other = event(11, 0, Happening::Reset);
    other.team = "new-team".into();
    let effects = update(&mut state, Event::News(vec![other]));
    assert!(effects.contains(&Effect::Load(Load::Teams)), "{effects:?}");
    assert!(state.notice.unwrap().words.contains("the ledger is another one"));
}

#[test]
fn a_ledger_that_is_back_has_everything_looked_up_again() {
    let mut state = state(100, 30);
    let trouble = Trouble { what: "gone".into(), hint: None };
    assert_eq!(update(&mut state, Event::Followed(Err(trouble))), []);
    assert!(matches!(state.link, Link::Lost(..)));
    let effects = update(&mut state, Event::Followed(Ok(())));
    assert_eq!(effects.len(), 3);
    assert_eq!(state.link, Link::Live);
    assert_eq!(update(&mut state, Event::Followed(Ok(()))), [], "only once");
}

#[test]
fn what_changes_with_the_time_alone_is_looked_at_now_and_then() {
    let mut state = state(100, 30);
    assert_eq!(update(&mut state, Event::Tick(ago(0))), []);
    assert_eq!(update(&mut state, Event::Tick(ago(-1))), [Effect::Load(Load::Team(team("dev")))]);
}

#[test]
fn a_search_is_over_all_teams_and_can_be_left() {
    let mut state = state(100, 30);
    press(&mut state, "/build fails");
    let of = MailKey { words: Some("build fails".into()), ..MailKey::default() };
    assert_eq!(update(&mut state, key(KeyCode::Enter)), [Effect::Load(Load::Mail(of))]);
    let back = MailKey { team: Some(team("dev")), ..MailKey::default() };
    assert_eq!(update(&mut state, key(KeyCode::Esc)), [Effect::Load(Load::Mail(back))]);
    assert_eq!(state.place(), Place::Mail);
}

#[test]
fn a_stale_answer_changes_nothing() {
    let mut state = state(100, 30);
    let of = MailKey { team: Some(team("ops")), ..MailKey::default() };
    let now = state.now;
    drop(update(&mut state, Event::Loaded(Box::new(Loaded::Mail(of, now, Ok(Vec::new()))))));
    assert_eq!(state.mail.rows.len(), mail().len());
}

#[test]
fn the_mouse_chooses_and_scrolls() {
    let mut state = state(100, 30);
    let areas = layout::areas(&state);
    let place_of =
        |wanted| areas.panes.iter().find(|(place, _)| *place == wanted).map(|(_, area)| *area).unwrap();
    let mail_area = place_of(Place::Mail);
    update(&mut state, Event::Click(mail_area.x + 5, mail_area.y + 3));
    assert_eq!((state.focus, state.mail.selected()), (Place::Mail, 2));
    let members = place_of(Place::Members);
    update(&mut state, Event::Click(members.x + 3, members.y + 3));
    assert_eq!((state.focus, state.member.as_deref()), (Place::Members, Some("alice")));
    update(&mut state, Event::Wheel(members.x + 3, members.y + 3, true));
    assert_eq!(state.member.as_deref(), Some("bob"));
    // The third tab.
    let tasks = (0..100).find(|column| crate::draw::tab_at(&state, *column) == Some(Tab::Tasks)).unwrap();
    update(&mut state, Event::Click(tasks + 1, 0));
    assert_eq!(state.tab, Tab::Tasks);
    let board = layout::areas(&state).panes[0].1;
    update(&mut state, Event::Click(board.x + board.width / 2, board.y + 3));
    assert_eq!(state.meant_task().unwrap().id.to_string(), "3");
    // Anywhere else, nothing happens.
    for (column, row) in [(0, 29), (99, 28), (500, 500)] {
        assert_eq!(update(&mut state, Event::Click(column, row)), []);
    }
}

#[test]
fn the_board_goes_by_columns() {
    let mut state = state(100, 30);
    press(&mut state, "3");
    let meant = |state: &State| state.meant_task().unwrap().id.to_string();
    assert_eq!(meant(&state), "4");
    press(&mut state, "l");
    assert_eq!(meant(&state), "2");
    press(&mut state, "jl");
    assert_eq!(meant(&state), "1");
    press(&mut state, "lhh");
    assert_eq!(meant(&state), "4");
    press(&mut state, "obob");
    let deed = Deed::Assign { task: "4".parse().unwrap(), to: "bob".into() };
    assert_eq!(update(&mut state, key(KeyCode::Enter)), act(deed));
}

#[test]
fn a_team_that_is_gone_is_not_meant_any_more() {
    let mut state = state(100, 30);
    drop(update(&mut state, Event::Loaded(Box::new(Loaded::Teams(Ok(vec![team("ops")]))))));
    assert_eq!(state.team, Some(team("ops")));
    assert_eq!(state.mail.of.team, Some(team("ops")));
    drop(update(&mut state, Event::Loaded(Box::new(Loaded::Teams(Ok(Vec::new()))))));
    assert_eq!(state.team, None);
    for keys in ["c", "w", "j", "G", "2a", "3o", "4k", "1\u{9}"] {
        press(&mut state, keys);
    }
}

#[test]
fn the_log_stays_where_one_reads_and_is_bounded() {
    let mut state = state(100, 30);
    press(&mut state, "4k");
    let read = state.log[state.log.len() - 1 - state.log_back].cursor.clone();
    let more = (10..1_005).map(|at| event(at, 0, Happening::Reset)).collect();
    drop(update(&mut state, Event::News(more)));
    assert_eq!(state.log[state.log.len() - 1 - state.log_back].cursor, read);
    assert!(state.log.len() <= crate::state::LOG);
    press(&mut state, "G");
    assert_eq!(state.log_back, 0);
}

#[test]
fn a_text_is_scrolled_to_its_end_and_back() {
    let mut state = state(60, 15);
    press(&mut state, "j");
    let now = state.now;
    let opened = super::fixture::opened();
    drop(update(&mut state, Event::Loaded(Box::new(Loaded::Message(id(1), now, Ok(opened))))));
    state.focus = Place::Message;
    press(&mut state, "G");
    let end = state.scroll;
    assert!(
        end > 0 && super::fixture::screen(&state).contains("bob: on it"),
        "{}",
        super::fixture::screen(&state)
    );
    press(&mut state, "jk");
    assert_eq!(state.scroll, end - 1, "one up from the end shows");
    press(&mut state, "gk");
    assert_eq!(state.scroll, 0);
    press(&mut state, "?Gk");
    let Some(Dialog::Help(row)) = state.dialog else { panic!("the help is open") };
    assert!(row > 0 && row < crate::keys::BINDINGS.len(), "{row}");
}
