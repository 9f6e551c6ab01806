use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use atm_clients::AgentClient;
use atm_ledger::Stage;
use atm_store::{Root, State};

use super::*;
use crate::mail::hook::{Moment, PushedFrame};
use crate::mail::pages::{Pages, Reader};
use crate::mail::send::{Letter, SendOptions};
use crate::people::ancestry::ClientProcess;
use crate::people::probe::{Agent, Nameless, ProcessProbe};
use crate::sessions::{Arrival, team_name};

const LEFT: &str = "0b7e1c52-3f6a-4a9e-9d0f-1f2e3d4c5b6a";
const RIGHT: &str = "1c8f2d63-3f6a-4a9e-9d0f-1f2e3d4c5b6a";
/// No such process runs.
const DEAD: u64 = 4_000_000_000;

/// A machine on which all processes run but one, and each is a client.
#[derive(Debug)]
struct Machine;

impl ProcessProbe for Machine {
    fn started(&self, pid: u64) -> Option<String> {
        (pid != DEAD).then(|| pid.to_string())
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
        Some(ClientProcess {
            pid: parent,
            start: parent.to_string(),
            agent_id: None,
            invocation: atm_clients::Invocation::default(),
        })
    }
}

/// Two sessions in one folder.
struct Scene {
    _folder: tempfile::TempDir,
    office: Office,
    shop: PathBuf,
    mailbox: MemberName,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (root, state) = (folder.path().join("root"), folder.path().join("state"));
        let office = Office::new(Root::new(root), State::new(state)).with_probe(Machine);
        let shop = folder.path().join("shop");
        fs::create_dir_all(&shop).unwrap();
        let shop = shop.canonicalize().unwrap();
        let scene =
            Self { _folder: folder, mailbox: office.make_mailbox_of_folder(&shop).unwrap(), office, shop };
        for (session, pid) in [(LEFT, 11), (RIGHT, 12)] {
            scene.office.register_session(&scene.arrival(session, pid)).unwrap();
        }
        scene
    }

    fn arrival<'a>(&'a self, session: &'a str, parent: u64) -> Arrival<'a> {
        let (client, cwd) = (AgentClient::Claude, self.shop.as_path());
        Arrival { client, session, cwd, transcript: None, parent, begins: false, has_socket: false }
    }

    fn send(&self, session: Option<&str>, text: &str) -> String {
        let to = format!("{}@sessions", self.mailbox).parse().unwrap();
        let letter = Letter { session: session.map(ToOwned::to_owned), ..Letter::new(to, text) };
        self.office.send(&team_name(), &"user".parse().unwrap(), &letter, SendOptions::default()).unwrap().id
    }

    fn team(&self, session: Option<&str>) -> Team<'_> {
        self.office.team(&team_name()).unwrap().in_session(session.map(ToOwned::to_owned))
    }

    fn note(&self, session: &str) -> SessionNote {
        SessionNote::of(&self.office.mailbox(&team_name(), &self.mailbox), session, &self.office.state)
    }

    /// The client of a session has this message in a frame.
    fn push(&self, session: &str, id: &str, said: Option<Status>) {
        let pid = if session == LEFT { 11 } else { 12 };
        let inbox = self.office.mailbox(&team_name(), &self.mailbox);
        let messages = inbox.list().unwrap().messages;
        let receipts = messages.iter().filter(|message| message.id == id).map(receipt).collect();
        let frame = PushedFrame {
            frame: format!("frame of {id}"),
            at: self.office.now().as_millis(),
            ids: vec![id.to_owned()],
            receipts,
            client: Some((pid, pid.to_string())),
            said,
            ..PushedFrame::default()
        };
        // Somebody pushes there.
        let pusher = Some((77, "77".to_owned()));
        let record = Record { pushed: vec![frame], pusher, ..Record::default() };
        record.write(&self.note(session)).unwrap();
    }

    /// What `atm read` and a tool of the server's show a session, without marking it, and how much is on its way.
    fn shown(&self, session: Option<&str>) -> (Vec<String>, usize) {
        let team = self.team(session);
        let peeked = team.peek(&self.mailbox, 9).unwrap();
        let texts = |reading: &crate::mail::read::Reading| -> Vec<String> {
            reading.messages().iter().map(|message| message.text.clone()).collect()
        };
        let taken = team.begin_read_from(&self.mailbox, None, 9).unwrap();
        assert_eq!((texts(&peeked), peeked.on_its_way()), (texts(&taken), taken.on_its_way()));
        drop(taken);
        let reader = Reader { team: &team_name(), who: &self.mailbox, session, front: "a test" };
        let pages = Pages::default();
        let page = pages.take(&self.office, reader, |_| true).unwrap();
        assert_eq!((texts(&peeked), peeked.on_its_way()), (texts(&page), page.on_its_way()));
        (texts(&peeked), peeked.on_its_way())
    }

    fn has_mail(&self, session: Option<&str>) -> bool {
        self.team(session).wait_for_mail(&self.mailbox, Duration::ZERO).unwrap()
    }
}

fn text(words: &str) -> (Vec<String>, usize) {
    (vec![words.to_owned()], 0)
}

const NOTHING: (Vec<String>, usize) = (Vec::new(), 0);

/// Whichever session of a folder asked first got all mail that waited there, and the one that it was for never saw it.
#[test]
fn mail_for_one_session_is_not_read_by_another_in_the_same_folder() {
    let scene = Scene::new();
    let id = scene.send(Some(RIGHT), "for the right one");
    assert_eq!(scene.shown(Some(LEFT)), NOTHING);
    assert!(!scene.has_mail(Some(LEFT)) && scene.has_mail(Some(RIGHT)));
    let taken = scene.team(Some(LEFT)).begin_read_from(&scene.mailbox, None, 9).unwrap();
    assert!(taken.leaves(&id));
    assert_eq!(taken.confirm().unwrap().marked, 0);
    assert_eq!(scene.shown(Some(RIGHT)), text("for the right one"));
    assert_eq!(scene.shown(None), text("for the right one"), "a person may read all");
    // Should it end before it took the message, the others may have it.
    scene.office.end_session(RIGHT).unwrap();
    assert!(scene.has_mail(Some(LEFT)));
    let taken = scene.team(Some(LEFT)).begin_read_from(&scene.mailbox, None, 9).unwrap();
    assert_eq!(taken.confirm().unwrap().marked, 1);
    assert_eq!(scene.office.recorded(None, &id).unwrap().stage, Stage::Seen);
}

/// What a hook has put before one model was read by another session's agent.
#[test]
fn what_is_before_another_sessions_model_is_not_read() {
    let scene = Scene::new();
    scene.send(None, "for either");
    assert_eq!(scene.shown(Some(LEFT)), text("for either"));
    let hooked = scene.office.hook_session(&scene.arrival(RIGHT, 12), Moment::Works).unwrap();
    hooked.handover.unwrap().presented(&[true]).unwrap();
    assert_eq!(scene.shown(Some(LEFT)), NOTHING);
    assert_eq!(scene.shown(Some(RIGHT)), text("for either"), "who asks for it again gets it again");
}

/// A frame waited behind a tool in which the agent read its mail: the model got it twice.
#[test]
fn what_is_on_its_way_into_a_conversation_is_not_read_and_nothing_overtakes_it() {
    let scene = Scene::new();
    let id = scene.send(None, "in a frame");
    scene.push(LEFT, &id, None);
    assert_eq!(scene.shown(Some(LEFT)), (Vec::new(), 1));
    assert!(scene.has_mail(Some(LEFT)), "its client shows it when the call is over");
    assert_eq!(scene.shown(Some(RIGHT)), NOTHING);
    assert!(!scene.has_mail(Some(RIGHT)));
    scene.send(None, "later");
    assert_eq!(scene.shown(Some(LEFT)), (Vec::new(), 2));
    assert_eq!(scene.shown(Some(RIGHT)), text("later"));
    // Its user decides: there is nothing that an end of the call would bring.
    scene.push(LEFT, &id, Some(Status::Held));
    assert_eq!(scene.shown(Some(LEFT)), NOTHING);
    assert!(!scene.has_mail(Some(LEFT)));
    // What its user did not let in, its agent does not read either.
    let mut record = Record::read(&scene.note(LEFT)).unwrap().unwrap();
    let frame = record.pushed.remove(0);
    record.denied = frame.receipts.clone();
    record.write(&scene.note(LEFT)).unwrap();
    assert_eq!(scene.shown(Some(LEFT)), text("later"));
    // A client that has ended shows nothing any more.
    let client = Some((DEAD, DEAD.to_string()));
    let record = Record { pushed: vec![PushedFrame { client, ..frame }], ..Record::default() };
    record.write(&scene.note(LEFT)).unwrap();
    assert_eq!(scene.shown(Some(LEFT)).0, ["in a frame", "later"]);
}

/// Mail that a session waits for may be another's first, and the inbox looks the same when that one ends.
#[test]
fn who_waits_gets_what_another_session_leaves() {
    let scene = Scene::new();
    scene.send(Some(RIGHT), "for the right one");
    thread::scope(|scope| {
        let waits = || scene.team(Some(LEFT)).wait_for_mail(&scene.mailbox, Duration::from_secs(30)).unwrap();
        let waiting = scope.spawn(waits);
        scene.office.end_session(RIGHT).unwrap();
        assert!(waiting.join().unwrap());
    });
}

/// Without a server and without hooks nobody would have settled a frame that the client lost.
#[test]
fn a_frame_that_no_process_looks_after_is_settled_by_who_reads() {
    let scene = Scene::new();
    let id = scene.send(None, "lost");
    scene.push(LEFT, &id, None);
    let mut record = Record::read(&scene.note(LEFT)).unwrap().unwrap();
    (record.pusher, record.rests, record.pushed[0].at) = (Some((DEAD, "1".into())), true, 0);
    record.write(&scene.note(LEFT)).unwrap();
    let taken = scene.team(Some(LEFT)).begin_read_from(&scene.mailbox, None, 9).unwrap();
    assert_eq!(taken.messages().len(), 1);
    taken.confirm().unwrap();
    assert_eq!(Record::read(&scene.note(LEFT)).unwrap().unwrap().pushed, []);
}
