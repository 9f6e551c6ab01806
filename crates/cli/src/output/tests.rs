//! Each kind of output at three widths, as it would be on a terminal, in plain text.

use atm_ledger::{Evidence, Stage};
use atm_office::people::members::{MemberView, Presence};
use atm_office::trail::history::Remembered;
use atm_office::trail::pending::{Looked, Waiting, Why};
use atm_office::trail::track::{Heading, Track, TrackStage};
use atm_office::view::{
    Attention, Extra, Kind, MessageView, NamedFile, Reason, TaskCounts, TeamPicture, Unchecked,
};
use atm_wire::Stamp;
use jiff::tz::TimeZone;

use super::message::{Extent, Flags};
use super::screen::Screen;
use super::times::Times;
use super::{Out, fit, message, trace};
use crate::cmd::{members, status};

const WIDTHS: [usize; 3] = [60, 80, 120];

fn stamp(text: &str) -> Stamp {
    Stamp::parse(text).unwrap()
}

/// What is shown on a terminal of each width, none of whose lines is too long.
fn at_each_width(show: impl Fn(&mut Out)) -> String {
    let at = |columns: usize| {
        let mut out = Out::keeping();
        out.screen = Screen { columns: Some(columns), rows: None };
        out.times = Times::at(stamp("2026-11-15T12:00:00Z"), TimeZone::UTC);
        show(&mut out);
        let shown = out.take_kept();
        for line in shown.lines() {
            assert!(fit::width(line) <= columns, "{columns}: {line}");
        }
        format!("--- {columns} columns\n{shown}")
    };
    WIDTHS.map(at).join("\n")
}

fn member(name: &str, state: Presence, unread: usize) -> MemberView {
    MemberView {
        since: None,
        activity_since: None,
        name: name.to_owned(),
        agent_id: format!("{name}@web-shop"),
        state,
        evidence: Vec::new(),
        why: "its process 4711 runs, and its conversation grew 20 s ago".to_owned(),
        unread,
        pending: unread / 2,
        oldest_pending: (unread > 1).then(|| stamp("2026-11-15T10:00:00Z")),
        last_seen: Some(stamp("2026-11-15T11:59:40Z")),
        agent_type: None,
        model: Some("claude-opus-4-5-20260101".to_owned()),
        color: Some("blue".to_owned()),
        lead: name == "team-lead",
        machine: None,
        has_entry: true,
        has_pane: true,
        activity: (unread == 3).then(|| "waiting for permission".to_owned()),
        metadata: atm_wire::metadata::Metadata::new(),
        warnings: Vec::new(),
    }
}

fn remembered(id: &str, to: &str, stage: Stage, summary: Option<&str>) -> Remembered {
    Remembered {
        id: format!("01a1e542-c42b-75da-a9bc-d9bd{id}"),
        team: "web-shop".to_owned(),
        from: "team-lead".to_owned(),
        to: to.to_owned(),
        timestamp: stamp("2026-11-15T10:00:00Z"),
        stage,
        unproved: false,
        r#type: "message".to_owned(),
        text: "please check why the login test is flaky".to_owned(),
        summary: summary.map(ToOwned::to_owned),
        reply_to: None,
        files: Vec::new(),
        origin: None,
        found: Some("please check why the login test is flaky".to_owned()),
    }
}

fn mail(text: &str, read: bool) -> MessageView {
    MessageView {
        id: "01a1e542-c42b-75da-a9bc-d9bd7906ec52".to_owned(),
        from: "team-lead".to_owned(),
        to: "a-researcher-with-a-rather-long-name".to_owned(),
        team: "web-shop".to_owned(),
        timestamp: "2026-11-15T09:48:00.000Z".to_owned(),
        read,
        kind: Kind::Text,
        r#type: "message".to_owned(),
        text: text.to_owned(),
        summary: None,
        color: None,
        payload: None,
        delivery_status: None,
        pending: !read,
        ack_by: None,
        ack_id: None,
        unacknowledged: false,
        files: Vec::new(),
        extra: Extra::default(),
    }
}

#[test]
fn members_fit() {
    let all = [
        member("team-lead", Presence::Online, 0),
        member("bob", Presence::Stalled, 2),
        member("a-researcher-with-a-rather-long-name", Presence::Idle, 3),
        member("漢字", Presence::Offline, 0),
    ];
    insta::assert_snapshot!(at_each_width(|out| members::show(out, &all, false).unwrap()));
}

#[test]
fn a_trace_fits() {
    let all = [
        remembered("7906ec52", "bob", Stage::Seen, Some("please check why the login test is flaky")),
        remembered("7906ec53", "a-researcher-with-a-rather-long-name", Stage::Queued, None),
    ];
    insta::assert_snapshot!(at_each_width(|out| trace::show(out, &all).unwrap()));
}

#[test]
fn what_waits_fits() {
    let message =
        remembered("7906ec52", "bob", Stage::Written, Some("please check why the login test is flaky"));
    let waiting = [Waiting { message, why: Why::UnreadLong, waited_ms: 7_200_000 }];
    insta::assert_snapshot!(at_each_width(|out| trace::show_waiting(out, &waiting).unwrap()));
}

#[test]
fn a_path_that_is_not_known_to_be_the_teams_file_is_marked() {
    let named =
        |key: &str, path: &str, unchecked| NamedFile { key: key.into(), path: path.into(), unchecked };
    let payload =
        r#"{"type":"plan_approval_request","planFilePath":"/etc/passwd","filePath":"/home/ann/plan.md"}"#;
    let mail = MessageView {
        kind: Kind::Protocol,
        payload: serde_json::from_str(payload).unwrap(),
        files: vec![
            named("planFilePath", "/etc/passwd", Some(Unchecked::Outside)),
            named("filePath", "/home/ann/plan.md", None),
            named("outFilePath", "x", Some(Unchecked::NotAbsolute)),
        ],
        ..mail(payload, false)
    };
    let shown = mail.words();
    let mut lines: Vec<&str> = shown.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "filePath: /home/ann/plan.md",
            "outFilePath: x (unchecked path: no absolute path)",
            "planFilePath: /etc/passwd (unchecked path: outside of the team's folders)",
        ]
    );
}

#[test]
fn mail_that_wants_an_acknowledgment_says_so_with_the_command() {
    let by = Some("2026-11-15T13:00:00.000Z".to_owned());
    let shown = |mail: MessageView| {
        at_each_width(|out| {
            message::show(out, std::slice::from_ref(&mail), Flags::Shown, Extent::Start).unwrap();
        })
    };
    let ours = shown(MessageView { ack_by: by.clone(), ..mail("tell me", false) });
    assert!(ours.contains("  wants an acknowledgment by ") && ours.contains("atm ack 7906ec52"), "{ours}");
    let others = MessageView { ack_id: Some("msg-12345".to_owned()), ..mail("tell me", false) };
    assert!(shown(others).contains("\n  wants an acknowledgment: atm ack 7906ec52\n"));
    let read = MessageView { ack_by: by, ..mail("tell me", true) };
    assert!(!shown(read.clone()).contains("acknowledgment"), "nothing says that it has none");
    let owed = shown(MessageView { unacknowledged: true, ..read });
    assert!(owed.contains("atm ack 7906ec52"), "{owed}");
    assert!(!shown(mail("tell me", false)).contains("acknowledgment"));
}

#[test]
fn messages_fit_and_long_ones_are_cut_with_how_to_see_the_rest() {
    let long = "The login test is flaky since yesterday; it fails about once in twenty runs, always in the second \
                half of the night.\n";
    let all = [
        mail("short", true),
        mail(&long.repeat(20), false),
        mail(&format!("    indented {}", "x".repeat(150)), true),
    ];
    insta::assert_snapshot!(at_each_width(|out| {
        message::show(out, &all, Flags::Shown, Extent::Start).unwrap();
    }));
}

#[test]
fn a_whole_text_is_whole() {
    let mut out = Out::keeping();
    let text = "line\n".repeat(500);
    message::show(&mut out, &[mail(&text, false)], Flags::Hidden, Extent::Whole).unwrap();
    assert_eq!(out.take_kept().lines().count(), 501);
}

#[test]
fn a_team_in_one_look_fits() {
    let attention = |reason, who: &str, minutes: i64| {
        Attention {
        reason,
        who: Some(who.to_owned()),
        has_screen: true,
        message: Some("0199e3b2-7c1d-7e00-9a55-0a5301a1e542".to_owned()),
        task: None,
        since: Some(Stamp::from_millis(stamp("2026-11-15T12:00:00Z").as_millis() - minutes * 60_000)),
        what: "message 0199e3b2-7c1d-7e00-9a55-0a5301a1e542 from team-lead: lies unread for long, although its reader is there"
            .to_owned(),
    }
    };
    let picture = TeamPicture {
        cursor: String::new(),
        team: "web-shop".parse().unwrap(),
        as_of: stamp("2026-11-15T12:00:00Z"),
        members: vec![member("team-lead", Presence::Online, 0), member("bob", Presence::Idle, 2)],
        pending: Vec::new(),
        attention: vec![
            attention(Reason::UnreadLong, "bob", 130),
            attention(Reason::UnreadLong, "bob", 100),
            attention(Reason::UnreadLong, "researcher", 70),
            attention(Reason::Stalled, "a-researcher-with-a-rather-long-name", 70),
        ],
        for_you: vec![mail("a race in the session store; the fix is on branch fix-login", false)],
        muted: Vec::new(),
        sessions_waiting: Vec::new(),
        tasks: TaskCounts::default(),
        lead_signs: false,
        looked: Looked { inboxes: 3, unreadable: Vec::new(), unread_after_ms: 600_000, cut: false },
        warnings: vec!["the task list could not be read".to_owned()],
    };
    let repeat = status::show::Repeat { team: false, who: true };
    insta::assert_snapshot!(at_each_width(|out| status::show::picture(out, &picture, repeat).unwrap()));
}

#[test]
fn a_conversation_and_what_was_found_fit() {
    let one = remembered("7906ec52", "bob", Stage::Acked, None);
    insta::assert_snapshot!(at_each_width(|out| {
        message::show_head_of(out, &one).unwrap();
        message::show_text(out, &one.text, &one.id, Extent::Whole).unwrap();
        message::show_found(out, &one).unwrap();
    }));
}

#[test]
fn a_track_fits() {
    let stage = |stage, what: &str, file: Option<&str>| TrackStage {
        stage,
        at: stamp("2026-11-15T10:00:01Z"),
        evidence: Evidence { file: file.map(ToOwned::to_owned), ..Evidence::certain(what) },
    };
    let track = Track {
        message: Heading {
            id: "01a1e542-c42b-75da-a9bc-d9bd7906ec52".to_owned(),
            team: "web-shop".to_owned(),
            from: "team-lead".to_owned(),
            to: "bob".to_owned(),
            timestamp: stamp("2026-11-15T10:00:00Z"),
            summary: Some("please check why the login test is flaky".to_owned()),
        },
        stage: Stage::Seen,
        arrived: true,
        processed: true,
        waits_for: None,
        stages: vec![
            stage(Stage::Accepted, "recorded", None),
            stage(
                Stage::Written,
                "in the inbox file",
                Some("/home/ann/.claude/teams/web-shop/inboxes/bob.json"),
            ),
            stage(
                Stage::Seen,
                "it stands in the recipient's conversation, at entry 812 of the transcript of this session",
                Some("/home/ann/.claude/projects/-home-ann-web-shop/0b3f.jsonl"),
            ),
        ],
    };
    insta::assert_snapshot!(at_each_width(|out| trace::show_track(out, &track).unwrap()));
}
