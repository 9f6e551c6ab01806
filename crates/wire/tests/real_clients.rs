//! Files that real clients wrote, of three generations, read in full.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::fs;
use std::path::{Path, PathBuf};

use atm_wire::payload::{Content, Parsed, Payload};
use atm_wire::task::{Status, Task};
use atm_wire::team::{Member, TeamConfig};
use atm_wire::{Color, MemberName, Message, Stamp, TeamName, json};
use rstest::rstest;

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(path)
}

fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
}

/// The files in a folder that end in `.json`.
fn json_files(folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(fixture(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

fn messages(path: impl AsRef<Path>) -> Vec<Message> {
    let text = text(path);
    let elements = json::elements(&text).unwrap();
    elements.into_iter().map(|raw| Message::from_entry(raw).unwrap()).collect()
}

/// `text`, or the payload's type.
fn kinds(path: impl AsRef<Path>) -> Vec<String> {
    messages(path)
        .iter()
        .map(|message| match message.content() {
            Content::Text => "text".to_owned(),
            Content::Protocol(parsed) => parsed.payload.kind().to_owned(),
        })
        .collect()
}

#[rstest]
#[case("claude-code-2.1.77/teams/demo", "team-lead", &["text", "idle_notification", "text", "idle_notification", "idle_notification", "idle_notification", "shutdown_approved"])]
#[case("claude-code-2.1.77/teams/demo", "alice", &["task_assignment", "text", "shutdown_request", "text"])]
#[case("claude-code-2.1.197/teams/session-4492fd52", "team-lead", &["idle_notification", "idle_notification"])]
#[case("claude-code-2.1.197/teams/session-4492fd52", "alice", &["task_assignment", "text"])]
#[case("claude-code-2.1.325/teams/session-ed8ca403", "team-lead", &["text", "idle_notification", "idle_notification"])]
#[case("claude-code-2.1.325/teams/session-ed8ca403", "alice", &["task_assignment"])]
fn inboxes(#[case] team: &str, #[case] member: &str, #[case] expected: &[&str]) {
    assert_eq!(kinds(fixture(team).join(format!("inboxes/{member}.json"))), expected);
}

/// Not a byte of a payload is lost, neither in the text kept nor in the view written anew.
#[rstest]
fn payloads_are_understood_in_full(
    #[values(
        "claude-code-2.1.77/teams/demo",
        "claude-code-2.1.197/teams/session-4492fd52",
        "claude-code-2.1.325/teams/session-ed8ca403"
    )]
    team: &str,
) {
    for path in json_files(&format!("{team}/inboxes")) {
        for message in messages(path) {
            assert!(message.sent_at.is_some(), "{message:?}");
            let Content::Protocol(parsed) = message.content() else { continue };
            assert!(!matches!(parsed.payload, Payload::Unknown { .. }), "{}", message.text);
            assert_eq!(parsed.raw(), message.text);
            assert_eq!(parsed.payload.to_text(), message.text);
            assert_eq!(Parsed::from(parsed.payload.clone()), *parsed);
        }
    }
}

#[test]
fn a_shutdown_handshake_shares_its_id() {
    let request = &messages(fixture("claude-code-2.1.77/teams/demo/inboxes/alice.json"))[2];
    let answer = &messages(fixture("claude-code-2.1.77/teams/demo/inboxes/team-lead.json"))[6];
    let ids = [request, answer]
        .map(|message| message.content().payload().and_then(Payload::request_id).map(str::to_owned));
    assert_eq!(ids[0].as_deref(), Some("shutdown-1794768102564@alice"));
    assert_eq!(ids[0], ids[1]);
}

#[rstest]
#[case("claude-code-2.1.77/teams/demo", "demo", Some("Interop demo team"), 1_794_768_087_987)]
#[case("claude-code-2.1.197/teams/session-4492fd52", "session-4492fd52", None, 1_794_768_140_463)]
#[case("claude-code-2.1.325/teams/session-ed8ca403", "session-ed8ca403", None, 1_794_769_406_733)]
fn teams(#[case] folder: &str, #[case] name: &str, #[case] description: Option<&str>, #[case] created: i64) {
    let config = TeamConfig::parse(&text(fixture(folder).join("config.json"))).unwrap();
    assert_eq!(config.name.as_deref(), Some(name));
    assert_eq!(config.description.as_deref(), description);
    assert_eq!(config.created_at, Some(Stamp::from_millis(created)));
    assert!(config.skipped.is_empty());
    assert_eq!(config.lead_session_id.as_deref().map(str::len), Some(36));

    let lead = config.lead().unwrap();
    assert_eq!(lead.name, "team-lead");
    assert_eq!(lead.agent_id, config.lead_agent_id);
    assert_eq!(lead.index, 0);

    let alice = config.member("alice").unwrap();
    assert_eq!(alice.agent_id.as_deref(), Some(format!("alice@{name}").as_str()));
    assert_eq!(alice.color, Some(Color::Blue));
    assert_eq!(alice.tmux_pane_id.as_deref(), Some("in-process"));
    assert_eq!(alice.plan_mode_required, Some(false));
    assert!(alice.joined_at > lead.joined_at);
    assert!(!config.members.iter().any(Member::is_offline));

    // Names are files and folders: ours must be the ones that the client chose.
    assert_eq!(TeamName::parse(name).unwrap().folder(), name);
    for member in &config.members {
        let inbox = format!("inboxes/{}.json", MemberName::parse(&member.name).unwrap().file_stem());
        assert!(fixture(folder).join(inbox).exists());
    }
}

#[test]
fn only_the_newest_client_records_its_process() {
    let config =
        TeamConfig::parse(&text(fixture("claude-code-2.1.325/teams/session-ed8ca403/config.json"))).unwrap();
    let process = config.lead_process.unwrap();
    assert_eq!(process.pid, Some(4668));
    assert_eq!(process.pid_space.as_deref(), Some("vm#pid:[4026531836]"));
    assert_eq!(process.claimed_at, Some(Stamp::from_millis(1_794_769_406_731)));
    assert_eq!(process.proc_start.as_deref(), Some("194490"));
    let older = TeamConfig::parse(&text(fixture("claude-code-2.1.77/teams/demo/config.json"))).unwrap();
    assert_eq!(older.lead_process, None);
}

#[rstest]
fn tasks(
    #[values(
        "claude-code-2.1.77/tasks/demo",
        "claude-code-2.1.197/tasks/session-4492fd52",
        "claude-code-2.1.325/tasks/session-ed8ca403"
    )]
    folder: &str,
) {
    let files: Vec<String> = json_files(folder).into_iter().map(text).collect();
    let tasks: Vec<Task> = files.iter().map(|file| Task::parse(file).unwrap()).collect();
    let [first, second] = tasks.as_slice() else { panic!("two tasks") };
    assert_eq!((first.id.as_str(), &first.status), ("1", &Status::InProgress));
    assert_eq!(
        (first.owner.as_deref(), first.blocks.as_slice()),
        (Some("alice"), ["2".to_owned()].as_slice())
    );
    assert_eq!((second.id.as_str(), &second.status, &second.owner), ("2", &Status::Pending, &None));
    assert_eq!(second.blocked_by, ["1"]);
    assert!(second.metadata.is_some());
    for (task, file) in tasks.iter().zip(&files) {
        assert_eq!(task.raw(), file);
        assert_eq!(&task.render().unwrap(), file);
    }
}
