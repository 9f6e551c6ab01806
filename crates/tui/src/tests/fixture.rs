//! A state as it is in the middle of a day: one team at work, one without mail.

use atm_ledger::{Evidence, Stage};
use atm_office::people::members::MemberView;
use atm_office::people::presence::Presence;
use atm_office::protocol::plan::{PlanState, PlanView};
use atm_office::tasks::{LeaseView, TaskView};
use atm_office::trail::history::Remembered;
use atm_office::trail::pending::{Looked, Waiting, Why};
use atm_office::trail::track::{Heading, Track, TrackStage};
use atm_office::view::{Attention, Reason, TaskCounts, TeamPicture};
use atm_office::watch::{EventView, Happening};
use atm_wire::task::Status;
use atm_wire::{Stamp, TeamName};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

use crate::draw::draw;
use crate::event::{Event, Loaded, MailKey, Opened, TeamKnown};
use crate::state::State;
use crate::theme::Theme;
use crate::update::update;

const NOON: i64 = 1_794_830_400_000;

/// So many minutes before noon.
pub(super) fn ago(minutes: i64) -> Stamp {
    Stamp::from_millis(NOON - minutes * 60_000)
}

pub(super) fn team(name: &str) -> TeamName {
    name.parse().unwrap()
}

pub(super) fn message(id: &str, from: &str, to: &str, minutes: i64, stage: Stage, text: &str) -> Remembered {
    Remembered {
        id: format!("01a1e542-0000-7000-8000-0000{id:0>8}"),
        team: "dev".into(),
        from: from.into(),
        to: to.into(),
        timestamp: ago(minutes),
        stage,
        unproved: false,
        r#type: "message".into(),
        text: text.into(),
        summary: None,
        reply_to: None,
        files: Vec::new(),
        origin: None,
        found: None,
    }
}

fn member(name: &str, state: Presence, color: &str, unread: usize) -> MemberView {
    MemberView {
        name: name.into(),
        agent_id: format!("{name}@dev"),
        state,
        evidence: vec!["its process runs".into()],
        why: "its process runs".into(),
        unread,
        pending: 0,
        oldest_pending: None,
        last_seen: Some(ago(3)),
        agent_type: None,
        model: Some("sonnet".into()),
        color: Some(color.into()),
        lead: name == "team-lead",
        machine: None,
        has_entry: true,
        has_pane: true,
        activity: None,
        activity_since: None,
        since: Some(ago(42)),
        metadata: serde_json::Map::new(),
        warnings: Vec::new(),
    }
}

fn task(id: u64, subject: &str, status: Status, owner: Option<&str>) -> TaskView {
    TaskView {
        id: id.to_string().parse().unwrap(),
        subject: subject.into(),
        description: "Until the tests pass on both machines.".into(),
        active_form: None,
        ready: owner.is_none(),
        status,
        owner: owner.map(Into::into),
        blocks: Vec::new(),
        blocked_by: Vec::new(),
        waits_for: Vec::new(),
        lease: None,
        made_on: None,
        metadata: None,
    }
}

pub(super) fn mail() -> Vec<Remembered> {
    vec![
        message("a11ce", "alice", "user", 1, Stage::Written, "login is fixed, may I merge?"),
        message(
            "b0b02",
            "user",
            "bob",
            12,
            Stage::Seen,
            "please look at the build\n\nIt fails on the second machine only.",
        ),
        message("b0b01", "team-lead", "bob", 130, Stage::Written, "review fix-login"),
        Remembered {
            unproved: true,
            ..message("ca201", "bob", "carol", 1500, Stage::Taken, "漢字 and ümläuts 👨\u{200d}👩\u{200d}👧")
        },
    ]
}

pub(super) fn opened() -> Opened {
    let shown = &mail()[1];
    let stage = |stage, minutes, what: &str| TrackStage {
        stage,
        at: ago(minutes),
        evidence: Evidence::certain(what),
    };
    Opened {
        track: Track {
            message: Heading {
                id: shown.id.clone(),
                team: "dev".into(),
                from: "user".into(),
                to: "bob".into(),
                timestamp: shown.timestamp,
                summary: None,
            },
            stage: Stage::Seen,
            arrived: true,
            processed: true,
            waits_for: None,
            stages: vec![
                TrackStage {
                    evidence: Evidence::certain("accepted by atm").by("user"),
                    ..stage(Stage::Accepted, 12, "")
                },
                TrackStage {
                    evidence: Evidence::certain("written into the inbox")
                        .in_file("/r/teams/dev/inboxes/bob.json"),
                    ..stage(Stage::Written, 12, "")
                },
                stage(Stage::Seen, 11, "in the recipient's conversation"),
            ],
        },
        thread: vec![shown.clone(), message("b0b03", "bob", "user", 5, Stage::Written, "on it")],
    }
}

pub(super) fn known() -> TeamKnown {
    let waiting =
        |message: Remembered, why| Waiting { waited_ms: NOON - message.timestamp.as_millis(), message, why };
    let stuck = mail()[2].clone();
    TeamKnown {
        picture: TeamPicture {
            team: team("dev"),
            as_of: Stamp::from_millis(NOON - 2_000),
            cursor: "c".into(),
            members: vec![
                member("team-lead", Presence::Online, "yellow", 0),
                member("alice", Presence::Online, "blue", 0),
                member("bob", Presence::Stalled, "green", 2),
                member("carol", Presence::Offline, "#123456", 1),
            ],
            pending: vec![
                waiting(stuck.clone(), Why::UnreadLong),
                waiting(
                    message("ca202", "user", "carol", 61, Stage::Queued, "when you are back: the slow tests"),
                    Why::Queued,
                ),
            ],
            attention: vec![
                Attention {
                    reason: Reason::Stalled,
                    who: Some("bob".into()),
                    has_screen: true,
                    message: None,
                    task: None,
                    since: Some(ago(42)),
                    what: "bob does not answer: no sign since its last turn".into(),
                },
                Attention {
                    reason: Reason::UnreadLong,
                    who: Some("bob".into()),
                    has_screen: true,
                    message: Some(stuck.id.clone()),
                    task: None,
                    since: Some(stuck.timestamp),
                    what: format!("message {} from team-lead: lies unread for long", stuck.id),
                },
            ],
            for_you: Vec::new(),
            muted: Vec::new(),
            sessions_waiting: Vec::new(),
            tasks: TaskCounts::default(),
            lead_signs: false,
            looked: Looked { inboxes: 4, unreadable: Vec::new(), unread_after_ms: 600_000, cut: false },
            warnings: Vec::new(),
        },
        tasks: vec![
            task(1, "Mend the login", Status::Completed, Some("alice")),
            TaskView {
                lease: Some(LeaseView { claimed_at: ago(90), expires_at: ago(30), expired: true }),
                ..task(2, "Review fix-login", Status::InProgress, Some("bob"))
            },
            task(3, "Choose a library", Status::InProgress, Some("carol")),
            task(4, "Write the guide", Status::Pending, None),
            TaskView {
                waits_for: vec!["2".parse().unwrap()],
                blocked_by: vec!["2".parse().unwrap()],
                ready: false,
                ..task(5, "Release", Status::Pending, None)
            },
        ],
        plans: vec![PlanView {
            request: "plan-1794830000000@alice".into(),
            from: "alice".into(),
            to: "team-lead".into(),
            timestamp: ago(7),
            state: PlanState::Open,
            summary: Some("Move the session into a cookie".into()),
            plan: Some(
                "1. A cookie that scripts cannot read\n2. Tests first\n3. The old header for one release"
                    .into(),
            ),
            decision: None,
            id: "01a1e542-0000-7000-8000-00000000914a".into(),
        }],
    }
}

pub(super) fn event(cursor: u32, minutes: i64, what: Happening) -> EventView {
    EventView { cursor: cursor.to_string(), at: Some(ago(minutes)), team: "dev".into(), what, evidence: None }
}

/// A state of a size, in which everything is looked up.
pub(super) fn state(width: u16, height: u16) -> State {
    let mut state = empty(width, height);
    let mut take = |event| drop(update(&mut state, event));
    let load = |loaded| Event::Loaded(Box::new(loaded));
    take(load(Loaded::Teams(Ok(vec![team("dev"), team("ops")]))));
    take(load(Loaded::Team(team("dev"), Ok(known()))));
    let of = MailKey { team: Some(team("dev")), ..MailKey::default() };
    take(load(Loaded::Mail(of, Stamp::from_millis(NOON), Ok(mail()))));
    take(Event::Followed(Ok(())));
    let id = mail()[1].id.clone();
    take(Event::News(vec![
        event(1, 12, Happening::Stage { id, to: "bob".into(), stage: Stage::Seen }),
        event(
            2,
            5,
            Happening::Presence { member: "carol".into(), state: "offline".into(), was: Some("idle".into()) },
        ),
        event(
            3,
            1,
            Happening::Message {
                id: mail()[0].id.clone(),
                from: "alice".into(),
                to: "user".into(),
                stage: Stage::Written,
                r#type: "message".into(),
                text: "login is fixed, may I merge?".into(),
                summary: None,
                timestamp: ago(1),
            },
        ),
    ]));
    state
}

/// A state before anything is looked up.
pub(super) fn empty(width: u16, height: u16) -> State {
    State::new(
        "user".parse().unwrap(),
        Some(team("dev")),
        Theme::Mono,
        Stamp::from_millis(NOON),
        (width, height),
    )
}

fn clock(at: Stamp) -> String {
    at.to_string().get(11..19).unwrap_or_default().to_owned()
}

/// What a state looks like.
pub(super) fn buffer(state: &State) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(state.size.0, state.size.1)).unwrap();
    terminal.draw(|frame| draw(state, &clock, frame)).unwrap();
    terminal.backend().buffer().clone()
}

/// The same in lines.
pub(super) fn screen(state: &State) -> String {
    let buffer = buffer(state);
    let area = buffer.area;
    let mut lines = Vec::new();
    for y in 0..area.height {
        let mut line = String::new();
        let mut skip = 0;
        for x in 0..area.width {
            // What is wide stands in its first cell.
            let symbol = buffer[(x, y)].symbol();
            if skip == 0 {
                line.push_str(symbol);
            }
            skip = if skip > 0 { skip - 1 } else { crate::text::width(symbol).saturating_sub(1) };
        }
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n")
}
