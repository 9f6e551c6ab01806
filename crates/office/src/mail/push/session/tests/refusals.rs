//! Whatever the client does with a frame: each letter is before the model exactly once in the end, by one channel or the other.

use std::sync::atomic::AtomicBool;
use std::thread;

use atm_support::{Inbound, wait_until};

use super::*;
use crate::mail::hook::{HeldBy, Moment, Record};
use crate::people::ancestry::ClientProcess;
use crate::people::probe::{Agent, Nameless};

const CLEARED: &str = "77aa88bb-1111-4a9e-9d0f-1f2e3d4c5b6a";
const LETTERS: [&str; 3] = ["letter one.", "letter two.", "letter three."];

impl Scene {
    /// So many passes.
    fn passes(&mut self, count: usize) {
        for _ in 0..count {
            self.pass();
        }
    }

    /// A tool ends, and the turn: what the hooks said.
    fn turn_with_hooks(&self, session: &str) -> String {
        let arrival = Arrival {
            client: AgentClient::Claude,
            session,
            cwd: &self.shop,
            transcript: None,
            parent: u64::from(std::process::id()),
            begins: false,
            has_socket: true,
        };
        let mut said = String::new();
        for moment in [Moment::Works, Moment::Stops { held_by: HeldBy::Wanted }] {
            let Some(handover) = self.office.hook_session(&arrival, moment).unwrap().handover else {
                continue;
            };
            said.extend(handover.messages().iter().map(|message| message.text.as_str()));
            let count = handover.messages().len();
            handover.presented(&vec![true; count]).unwrap();
        }
        said
    }

    fn words(&self, id: &str) -> String {
        format!("{:?}", self.office.track(None, id).unwrap().stages)
    }
}

#[test]
fn whatever_a_client_does_with_a_frame_each_letter_is_seen_once() {
    type Story = fn(&mut Scene);
    let rows: [(&str, Story, &str, bool); 10] = [
        ("takes it", |_| {}, "put into frame", false),
        ("is too fast for it", |scene| scene.double.drop_next("rate-limited"), "rate-limited", false),
        ("has had these words", |scene| scene.double.drop_next("duplicate"), "duplicate", false),
        ("has no room", |scene| scene.double.drop_next("queue-full"), "queue-full", false),
        (
            "drops two, and tells of the second later",
            |scene| {
                scene.double.drop_next("rate-limited");
                scene.double.drop_next("queue-full");
            },
            "several",
            true,
        ),
        (
            "takes none",
            |scene| scene.double.set_inbound(Inbound::Refuse),
            "the session takes no frames (its receipt: expired, refused)",
            true,
        ),
        (
            "asks its user, who does not decide",
            |scene| {
                scene.double.set_inbound(Inbound::Hold);
                scene.pass();
                scene.after(300_000);
                scene.double.expire();
            },
            "its user did not decide in time (its receipt: expired)",
            true,
        ),
        (
            "asks its user, who lets it in late",
            |scene| {
                scene.double.set_inbound(Inbound::Hold);
                scene.pass();
                scene.after(299_000);
                scene.passes(3);
                scene.double.decide(true);
            },
            "receipt: delivered",
            false,
        ),
        (
            "has another conversation, which its registry does not say yet",
            |scene| {
                scene.double.clear_unlisted(CLEARED);
                scene.pass();
                assert_eq!(scene.double.dropped(), ["another conversation"]);
                scene.double.clear(CLEARED);
            },
            "put into frame",
            false,
        ),
        (
            "loses it in a turn",
            |scene| {
                scene.double.begin_turn();
                scene.pass();
                assert_eq!(scene.double.lose(), 1);
                scene.double.end_turn();
            },
            "put into frame",
            false,
        ),
    ];
    for (what, story, evidence, by_hook) in rows {
        let mut scene = Scene::new(8_000);
        let ids = scene.send(LETTERS.map(ToOwned::to_owned));
        story(&mut scene);
        scene.passes(60);
        let session = scene.pusher.client().known.clone();
        let said = scene.turn_with_hooks(&session);
        scene.passes(60);
        let all = scene.double.shown().concat() + &said;
        let times = LETTERS.map(|letter| all.matches(letter).count());
        assert_eq!(times, [1; 3], "a client that {what}: {all}");
        assert_eq!(LETTERS.map(|letter| said.contains(letter)), [by_hook; 3], "a client that {what}");
        for id in &ids {
            assert_eq!(scene.stage(id), Stage::Seen, "a client that {what}");
            assert!(scene.words(id).contains(evidence), "a client that {what}: {}", scene.words(id));
        }
    }
}

/// This machine, on which the test says whether processes are stopped.
#[derive(Debug)]
struct Stoppable(Arc<AtomicBool>);

impl ProcessProbe for Stoppable {
    fn started(&self, pid: u64) -> Option<String> {
        SystemProbe.started(pid)
    }

    fn is_stopped(&self, _: u64) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    fn pid_space(&self) -> String {
        SystemProbe.pid_space()
    }

    fn agents(&self) -> Vec<Agent> {
        Vec::new()
    }

    fn nameless(&self) -> Vec<Nameless> {
        Vec::new()
    }

    fn client_above(&self, parent: u64) -> Option<ClientProcess> {
        SystemProbe.client_above(parent)
    }

    fn is_above(&self, parent: u64, pid: u64) -> bool {
        SystemProbe.is_above(parent, pid)
    }
}

/// Ctrl-Z: the system keeps what is written to a client that was stopped, and its registry says that it is idle. It was offered
/// again after half a minute, and after `fg` the client showed both.
#[test]
fn what_was_given_to_a_client_that_is_stopped_is_shown_once_when_it_goes_on() {
    let is_stopped = Arc::new(AtomicBool::new(true));
    let mut scene = Scene::with_probe(8_000, Stoppable(Arc::clone(&is_stopped)));
    scene.double.stop();
    let ids = scene.send(["for later".to_owned()]);
    scene.passes(150);
    assert!(scene.clock.now().as_millis() > NOON + 90_000);
    is_stopped.store(false, Ordering::SeqCst);
    scene.pass();
    scene.double.resume();
    scene.passes(60);
    let shown = scene.double.shown();
    assert!(shown.len() == 1 && shown[0].contains("for later"), "{shown:?}");
    assert_eq!(scene.stage(&ids[0]), Stage::Seen);
}

/// A hook ends when its frame is given: what the client said at once came to nobody.
#[test]
fn a_hook_hears_what_the_client_says_at_once() {
    for (inbound, evidence) in [(Inbound::Hold, "receipt: held"), (Inbound::Refuse, "expired, refused")] {
        let scene = Scene::new(8_000);
        scene.double.set_inbound(inbound);
        let ids = scene.send(["no hurry".to_owned()]);
        // A hook is another process, with a socket of its own.
        fs::remove_file(scene.push.socket.with_file_name(format!("atm-{}.sock", std::process::id())))
            .unwrap();
        scene.push.once(&scene.office).unwrap();
        assert!(scene.words(&ids[0]).contains(evidence), "{}", scene.words(&ids[0]));
        let inbox = scene.office.mailbox(&team_name(), &scene.mailbox);
        let note = SessionNote::of(&inbox, SESSION, &scene.office.state);
        let record = Record::read(&note).unwrap().unwrap();
        assert!(record.pushed[0].said.is_some() && record.pushed[0].unnoted.is_empty(), "{record:?}");
    }
}

/// In its first second a session may lose a frame.
#[test]
fn a_session_is_given_nothing_in_its_first_second() {
    let folder = tempfile::tempdir().unwrap();
    let (root, cwd) = (folder.path().join("root"), folder.path().join("shop"));
    fs::create_dir_all(&cwd).unwrap();
    let office = Office::new(Root::new(root.clone()), State::new(folder.path().join("state")));
    let sockets = folder.path().join("s");
    let double = SessionDouble::start(&root, &cwd, &sockets, SESSION);
    let parent = u64::from(std::process::id());
    let socket = sockets.join(format!("{parent}.sock"));
    let push = Push { socket, session: SESSION.into(), cwd, parent, budget: 8_000 };
    push.client(&office).unwrap().unwrap();
    let mailbox = office.mailbox_of_session(SESSION).unwrap().unwrap();
    let letter = Letter::new(format!("{mailbox}@sessions").parse().unwrap(), "waits already");
    office.send(&team_name(), &"user".parse().unwrap(), &letter, SendOptions::default()).unwrap();
    let (stop, started) = (Stop::default(), Instant::now());
    let took = thread::scope(|scope| {
        scope.spawn(|| push.run(&office, &stop));
        wait_until("it is shown", || !double.shown().is_empty());
        let took = started.elapsed();
        stop.stop();
        took
    });
    assert!(took >= Duration::from_secs(1), "after {took:?}");
}
