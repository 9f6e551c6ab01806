use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use atm_clients::{AgentClient, Invocation};
use atm_ledger::Stage;
use atm_store::{Root, State};
use atm_wire::brief;
use atm_wire::team::Manner;
use serde_json::{Value, json};

mod dropped;
mod replies;
mod resumed;
mod running;
mod waiting;

use super::*;
use crate::chores::wake::{Ladder, Waking};
use crate::chores::{Chore, Parts, Snapshot};
use crate::mail::hook::{HeldBy, Moment, Remembers};
use crate::mail::send::{Letter, SendOptions};
use crate::office::Office;
use crate::people::ancestry::ClientProcess;
use crate::people::probe::{Agent, Nameless, ProcessProbe};
use crate::team::Team;

const ONE: &str = "0b7e1c52-3f6a-4a9e-9d0f-1f2e3d4c5b6a";
const TWO: &str = "1c8f2d63-3f6a-4a9e-9d0f-1f2e3d4c5b6a";

/// A machine on which every process runs, and each is a client. In another generation, all numbers are other processes'.
#[derive(Debug, Clone, Default)]
struct AllRun {
    generation: Arc<AtomicU64>,
    /// How some of them were started.
    invocations: Arc<Mutex<HashMap<u64, Invocation>>>,
}

impl ProcessProbe for AllRun {
    fn started(&self, pid: u64) -> Option<String> {
        Some(format!("{pid}.{}", self.generation.load(Ordering::SeqCst)))
    }

    fn pid_space(&self) -> String {
        String::new()
    }

    fn agents(&self) -> Vec<Agent> {
        Vec::new()
    }

    fn nameless(&self) -> Vec<Nameless> {
        Vec::new()
    }

    fn client_above(&self, parent: u64) -> Option<ClientProcess> {
        let invocation = self.invocations.lock().unwrap().get(&parent).cloned().unwrap_or_default();
        Some(ClientProcess { pid: parent, start: self.started(parent)?, agent_id: None, invocation })
    }
}

struct Scene {
    folder: tempfile::TempDir,
    office: Office,
    probe: AllRun,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (root, state) = (folder.path().join("root"), folder.path().join("state"));
        let probe = AllRun::default();
        let office = Office::new(Root::new(root), State::new(state)).with_probe(probe.clone());
        Self { folder, office, probe }
    }

    /// Every process has ended, and its number is another's.
    fn recycle_numbers(&self) {
        self.probe.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// A process was started by this command line, in a terminal.
    fn starts(&self, pid: u64, line: &str) {
        let words = line.split(' ').map(ToOwned::to_owned).collect();
        let invocation = Invocation { words, is_split: false, has_terminal: Some(true) };
        self.probe.invocations.lock().unwrap().insert(pid, invocation);
    }

    /// What Claude Code's registry says of a session, with more keys.
    fn lists(&self, session: &str, folder: &Path, pid: u64, more: &Value) {
        let mut entry =
            json!({ "pid": pid, "sessionId": session, "cwd": folder, "procStart": self.probe.started(pid) });
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let registry = self.folder.path().join("root/sessions");
        fs::create_dir_all(&registry).unwrap();
        fs::write(registry.join(format!("{pid}.json")), entry.to_string()).unwrap();
    }

    fn make(&self, name: &str) -> PathBuf {
        let folder = self.folder.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        folder.canonicalize().unwrap()
    }

    fn send(&self, to: &str, text: &str) -> String {
        let (to, session) = self.office.session_address(to).unwrap();
        let letter = Letter { session, ..Letter::new(to, text) };
        self.office.send(&team_name(), &"user".parse().unwrap(), &letter, SendOptions::default()).unwrap().id
    }
}

fn arrival<'a>(session: &'a str, cwd: &'a Path, parent: u64) -> Arrival<'a> {
    Arrival {
        client: AgentClient::Claude,
        session,
        cwd,
        transcript: None,
        parent,
        begins: false,
        has_socket: false,
    }
}

/// What a hook offers, as it is said to the model.
fn offered(office: &Office, arrival: &Arrival<'_>) -> usize {
    taken(office, arrival, Moment::Works)
}

fn taken(office: &Office, arrival: &Arrival<'_>, moment: Moment) -> usize {
    let Some(handover) = office.hook_session(arrival, moment).unwrap().handover else { return 0 };
    let count = handover.messages().len();
    handover.presented(&vec![true; count]).unwrap();
    count
}

/// Which mail another session has was asked before the inbox was ours alone: two sessions of a folder could both take it.
#[test]
fn of_two_sessions_that_ask_at_once_one_gets_a_letter() {
    let scene = Scene::new();
    let shop = scene.make("shop");
    for (session, parent) in [(ONE, 11), (TWO, 12)] {
        scene.office.register_session(&arrival(session, &shop, parent)).unwrap();
    }
    // It is for any of them: it came while none ran.
    for round in 0..12 {
        let to = scene.office.make_mailbox_of_folder(&shop).unwrap();
        let letter = Letter::new(format!("{to}@{TEAM}").parse().unwrap(), format!("letter {round}"));
        scene.office.send(&team_name(), &"user".parse().unwrap(), &letter, SendOptions::default()).unwrap();
        let start = Barrier::new(2);
        let taken: Vec<usize> = thread::scope(|scope| {
            let ask = |session: &'static str, parent| {
                let (office, shop, start) = (scene.office.apart(), &shop, &start);
                scope.spawn(move || {
                    start.wait();
                    offered(&office, &arrival(session, shop, parent))
                })
            };
            [ask(ONE, 11), ask(TWO, 12)].into_iter().map(|asked| asked.join().unwrap()).collect()
        });
        assert_eq!(taken.iter().sum::<usize>(), 1, "round {round}: {taken:?}");
    }
}

/// A session that was opened and left alone kept the mail from those that worked beside it.
#[test]
fn waiting_mail_goes_to_the_first_that_takes_a_turn_and_not_to_the_first_that_starts() {
    let scene = Scene::new();
    let shop = scene.make("shop");
    scene.office.register_session(&arrival(ONE, &shop, 11)).unwrap();
    scene.office.end_session(ONE).unwrap();
    scene.send("shop", "for the next one");
    let begins = Moment::Begins { tells: true, remembers: Remembers::Nothing };
    let (idle, works) = (arrival(TWO, &shop, 12), arrival("2d9a3e74-3f6a-4a9e", &shop, 13));
    for session in [&idle, &works] {
        assert_eq!(taken(&scene.office, &Arrival { begins: true, ..*session }, begins), 0);
    }
    assert_eq!(offered(&scene.office, &works), 1);
    assert_eq!(offered(&scene.office, &idle), 0);
    // A client that takes no text in a turn is told at its start.
    scene.send(TWO, "for the editor");
    let editor = Arrival { client: AgentClient::Cursor, begins: true, ..idle };
    assert_eq!(taken(&scene.office, &editor, begins), 1);
}

/// A conversation that was taken up again in another folder got the mail of the old one, for ever.
#[test]
fn a_session_works_where_it_was_taken_up_last() {
    let scene = Scene::new();
    let (old, new, elsewhere) = (scene.make("old"), scene.make("new"), scene.make("elsewhere"));
    let folder = |arrival: &Arrival<'_>| scene.office.register_session(arrival).unwrap().folder;
    assert_eq!(folder(&Arrival { begins: true, ..arrival(ONE, &old, 11) }), old);
    assert_eq!(folder(&arrival(ONE, &elsewhere, 11)), old, "a tool went there");
    assert_eq!(folder(&Arrival { begins: true, ..arrival(ONE, &new, 12) }), new);
    assert_eq!(folder(&arrival(ONE, &elsewhere, 12)), new);
    assert_eq!(scene.office.find_session("new").unwrap().folder, new);
    assert_eq!(scene.office.running_sessions().len(), 1);
}

/// Mail for a folder was proved in conversations of Claude Code alone.
#[test]
fn mail_for_a_folder_is_proved_in_any_clients_conversation_and_in_no_other_file() {
    for (name, is_its) in [
        (rollout(), true),
        ("rollout-2026-11-17T12-17-10-01a1e970-0000-7010-b66a-c65fb5cdf6b8.jsonl".to_owned(), false),
        ("notes.jsonl".to_owned(), false),
    ] {
        let scene = Scene::new();
        let (shop, conversation) = (scene.make("shop"), scene.make("codex").join(name));
        let codex = codex(&shop, &conversation);
        scene.office.register_session(&codex).unwrap();
        let id = scene.send("shop", "the build is red");
        assert_eq!(offered(&scene.office, &codex), 1);
        fs::write(&conversation, shown_by_codex(&scene.office, &id)).unwrap();
        let track = scene.office.track(Some(&team_name()), &id).unwrap();
        assert_eq!(track.stage >= Stage::Seen, is_its, "{}: {track:?}", conversation.display());
    }
}

/// At the end of a turn mail is marked, and then a look finds nothing to prove: its place in the conversation was never recorded.
#[test]
fn mail_of_a_session_is_proved_by_its_place_before_it_is_marked() {
    let scene = Scene::new();
    let (shop, conversation) = (scene.make("shop"), scene.make("codex").join(rollout()));
    let codex = codex(&shop, &conversation);
    scene.office.register_session(&codex).unwrap();
    let id = scene.send("shop", "the build is red");
    assert_eq!(offered(&scene.office, &codex), 1);
    fs::write(&conversation, shown_by_codex(&scene.office, &id)).unwrap();
    scene.office.hook_session(&codex, Moment::Stops { held_by: HeldBy::Wanted }).unwrap();
    let stages = format!("{:?}", scene.office.track(Some(&team_name()), &id).unwrap().stages);
    assert!(stages.contains("in the recipient's conversation"), "{stages}");
}

/// In a first turn a client's file may come after the first look for it: mail was marked without its better proof.
#[test]
fn a_conversation_that_has_no_file_yet_is_looked_for_again() {
    let scene = Scene::new();
    let (shop, conversation) = (scene.make("shop"), scene.make("codex").join(rollout()));
    let codex = codex(&shop, &conversation);
    scene.office.register_session(&codex).unwrap();
    let id = scene.send("shop", "the build is red");
    assert_eq!(offered(&scene.office, &codex), 1);
    let (mailbox, mut looks) = (scene.office.mailbox_of_folder(&shop).unwrap(), 0);
    let write_late = |_| {
        looks += 1;
        if looks == 3 {
            fs::write(&conversation, shown_by_codex(&scene.office, &id)).unwrap();
        }
    };
    scene.office.prove_patiently(&team_name(), (&mailbox, THREAD), &[&id], write_late).unwrap();
    assert_eq!(looks, 3, "and no longer than needed");
    let stages = format!("{:?}", scene.office.track(Some(&team_name()), &id).unwrap().stages);
    assert!(stages.contains("in the recipient's conversation"), "{stages}");
}

/// Nothing said how a session's folder is woken, though its session runs in a client that can be called.
#[test]
fn the_session_that_works_in_a_folder_is_woken_as_its_client_is() {
    let scene = Scene::new();
    let (shop, conversation) = (scene.make("shop"), scene.make("codex").join(rollout()));
    let codex = codex(&shop, &conversation);
    scene.office.register_session(&codex).unwrap();
    scene.send("shop", "are you there?");
    let mailbox = scene.office.mailbox_of_folder(&shop).unwrap();
    let wake = || scene.office.wake(&team_name(), &mailbox, &Ladder::default(), true);
    assert_eq!(wake().unwrap_err().code(), "busy_member", "nothing tells that it waits");
    scene.office.hook_session(&codex, Moment::Stops { held_by: HeldBy::Nothing }).unwrap();
    scene.send("shop", "and this?");
    let woken = wake().unwrap();
    assert_eq!((woken.way, woken.woken), (Some(Manner::Codex), true));
    // The daemon does so by itself.
    let due = || {
        let team = team_name();
        let mut team = scene.office.team(&team).unwrap();
        let snapshot = Snapshot::take(&mut team, Parts { inboxes: true, ..Parts::default() }).unwrap();
        Waking(&Ladder::default()).due(&snapshot, scene.office.now()).len()
    };
    assert_eq!(due(), 1);
    // With two of them nobody says which; a client that has no such command is not called.
    scene.office.register_session(&arrival(TWO, &shop, 12)).unwrap();
    assert_eq!(wake().unwrap_err().code(), "no_way");
    assert_eq!(due(), 0);
    scene.office.end_session(THREAD).unwrap();
    assert_eq!(wake().unwrap_err().code(), "no_way");
}

const THREAD: &str = "01a1e970-8fa8-7010-b66a-c65fb5cdf6b8";

fn rollout() -> String {
    format!("rollout-2026-11-17T12-17-10-{THREAD}.jsonl")
}

fn codex<'a>(folder: &'a Path, conversation: &'a Path) -> Arrival<'a> {
    Arrival { client: AgentClient::Codex, transcript: Some(conversation), ..arrival(THREAD, folder, 11) }
}

/// A line of Codex's conversation with what a hook said.
fn shown_by_codex(office: &Office, id: &str) -> String {
    let heading = brief::heading("user", "", "12:17Z", id);
    let text = format!("{}Mail for you:\n{heading}\n  the build is red\n{}", brief::OPENING, brief::CLOSING);
    let entry = json!({
        "timestamp": office.now().to_string(), "type": "response_item",
        "payload": {
            "type": "message", "id": "msg_1", "role": "developer",
            "content": [{ "type": "input_text", "text": text }],
        },
    });
    format!("{entry}\n")
}
