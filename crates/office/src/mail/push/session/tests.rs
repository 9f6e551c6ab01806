mod refusals;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;

use atm_ledger::Stage;
use atm_store::{Root, SessionNote, State};
use atm_support::{SessionDouble, wait_until};

use super::*;
use crate::clock::Clock;
use crate::mail::send::{Letter, SendOptions};
use crate::people::ancestry::ClientProcess;
use crate::people::probe::{Agent, Nameless, ProcessProbe, SystemProbe};
use crate::sessions::team_name;

const NOON: i64 = 1_794_768_000_000;
const SESSION: &str = "0b7e1c52-3f6a-4a9e-9d0f-1f2e3d4c5b6a";

/// A clock that tests move.
#[derive(Debug, Clone)]
struct Hand(Arc<AtomicI64>);

impl Clock for Hand {
    fn now(&self) -> Stamp {
        Stamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// A session with the client's real limits, by the test's clock; this process is its client and its child.
struct Scene {
    _folder: tempfile::TempDir,
    shop: PathBuf,
    push: Push,
    office: Office,
    clock: Hand,
    double: SessionDouble,
    pusher: Pusher<Claude>,
    mailbox: MemberName,
}

impl Scene {
    fn new(budget: usize) -> Self {
        Self::with_probe(budget, SystemProbe)
    }

    fn with_probe(budget: usize, probe: impl ProcessProbe + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (root, shop) = (folder.path().join("root"), folder.path().join("shop"));
        fs::create_dir_all(&shop).unwrap();
        let clock = Hand(Arc::new(AtomicI64::new(NOON)));
        let office = Office::new(Root::new(root.clone()), State::new(folder.path().join("state")))
            .with_clock(clock.clone())
            .with_probe(probe);
        let time = Arc::clone(&clock.0);
        let now = move || u64::try_from(time.load(Ordering::SeqCst)).unwrap();
        let sockets = folder.path().join("s");
        let double = SessionDouble::by_clock(&root, &shop, &sockets, SESSION, now);
        let own = u64::from(std::process::id());
        let socket = sockets.join(format!("{own}.sock"));
        let push = Push { socket, session: SESSION.into(), cwd: shop.clone(), parent: own, budget };
        let claude = push.client(&office).unwrap().unwrap();
        let mailbox = office.mailbox_of_session(SESSION).unwrap().unwrap();
        let pusher = push.pusher(claude, mailbox.clone());
        Self { _folder: folder, shop, push, office, clock, double, pusher, mailbox }
    }

    fn send(&self, texts: impl IntoIterator<Item = String>) -> Vec<String> {
        let to = format!("{}@sessions", self.mailbox);
        let letters: Vec<Letter> =
            texts.into_iter().map(|text| Letter::new(to.parse().unwrap(), &text)).collect();
        let team = self.office.team(&team_name()).unwrap();
        let sent = team.send_all(&"user".parse().unwrap(), &letters, SendOptions::default()).unwrap();
        sent.into_iter().map(|sent| sent.unwrap().id).collect()
    }

    /// One pass, and the time until the next.
    fn pass(&mut self) {
        let now = self.clock.now().as_millis();
        let until = match self.pusher.pass().unwrap() {
            Passed::Given => now,
            Passed::Until(until) => until.unwrap_or(now + 1_000),
            Passed::Over => panic!("the session runs"),
        };
        self.after(until.max(now + 1) - now);
    }

    fn after(&self, millis: i64) {
        self.clock.0.fetch_add(millis, Ordering::SeqCst);
        self.double.go_on();
    }

    fn stage(&self, id: &str) -> Stage {
        self.office.recorded(None, id).unwrap().stage
    }
}

/// By the client's own limits: 30 frames at once, then one each two seconds, 50 unread, no equal words.
#[test]
fn ten_thousand_letters_arrive_whole_in_order_and_once_within_the_clients_limits() {
    const BUDGET: usize = 15_000;
    let mut scene = Scene::new(BUDGET);
    scene.send((0..10_000).map(|number| format!("letter {number:05}.")));
    let shown = |scene: &Scene| {
        let text = scene.double.shown().concat();
        let letters = text.split("letter ").skip(1).filter_map(|rest| rest.get(..5)?.parse().ok());
        letters.collect::<Vec<usize>>()
    };
    let mut passes = 0;
    while shown(&scene).len() < 10_000 {
        scene.pass();
        passes += 1;
        assert!(passes < 5_000, "{} after {passes} passes", shown(&scene).len());
    }
    assert_eq!(shown(&scene), (0..10_000).collect::<Vec<_>>(), "each once, in order");
    assert_eq!(scene.double.dropped(), Vec::<String>::new());
    let (turns, largest) = scene.double.turns();
    assert!(turns > 30 && largest <= BUDGET, "{turns} turns, {largest} bytes in the largest");
    let took = scene.clock.now().as_millis() - NOON;
    let earliest = i64::try_from(turns - 30).unwrap() * 2_000;
    assert!(took >= earliest, "{took} ms are too few for {turns} frames");
}

#[test]
fn what_a_client_loses_in_a_turn_is_offered_again_and_seen_once() {
    let mut scene = Scene::new(8_000);
    scene.double.begin_turn();
    let ids = scene.send(["lost in a turn".to_owned(), "with another".to_owned()]);
    scene.pass();
    assert_eq!(scene.double.lose(), 1, "it was taken, and never shown");
    scene.after(600_000);
    scene.pass();
    assert_eq!(scene.stage(&ids[0]), Stage::Written, "a tool may take long");
    // The next turn does not show it.
    scene.double.end_turn();
    let mut passes = 0;
    while scene.stage(&ids[0]) < Stage::Seen {
        scene.pass();
        passes += 1;
        assert!(passes < 100, "{:?}", scene.double.shown());
    }
    let shown = scene.double.shown();
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(shown[0].contains("Offered again") && shown[0].contains("lost in a turn"), "{shown:?}");
    assert_eq!(ids.iter().map(|id| scene.stage(id)).collect::<Vec<_>>(), [Stage::Seen; 2]);
    assert_eq!(scene.double.dropped(), Vec::<String>::new());
}

/// A budget beyond what the client takes at once made every frame fail.
#[test]
fn no_frame_is_longer_than_the_client_takes() {
    let mut scene = Scene::new(40_000_000);
    let ids = scene.send((0..3).map(|number| format!("{number} {}", "x".repeat(600_000))));
    let mut passes = 0;
    while scene.stage(&ids[2]) < Stage::Seen {
        scene.pass();
        passes += 1;
        assert!(passes < 100, "{:?}", scene.double.dropped());
    }
    assert_eq!(scene.double.shown().len(), 3);
    assert_eq!(scene.double.dropped(), Vec::<String>::new());
}

/// Processes of which the number of each is another's after a while.
#[derive(Debug, Clone, Default)]
struct Recycled(Arc<AtomicI64>);

impl ProcessProbe for Recycled {
    fn started(&self, pid: u64) -> Option<String> {
        Some(format!("{pid}.{}", self.0.load(Ordering::SeqCst)))
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
            start: self.started(parent)?,
            agent_id: None,
            invocation: atm_clients::Invocation::default(),
        })
    }
}

#[test]
fn a_session_is_over_when_its_clients_number_is_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let probe = Recycled::default();
    let office = Office::new(Root::new(folder.path().join("root")), State::new(folder.path().join("state")))
        .with_probe(probe.clone());
    let socket = folder.path().join("s.sock");
    let cwd = folder.path().to_owned();
    let push = Push { socket, session: SESSION.into(), cwd, parent: 11, budget: 1_000 };
    let mut claude = push.client(&office).unwrap().unwrap();
    assert_eq!(claude.session().map(|state| state.session).as_deref(), Some(SESSION));
    probe.0.store(1, Ordering::SeqCst);
    assert!(claude.session().is_none());
}

/// Every folder in which a client had ever run with our server became a mailbox for good, though nobody wrote to it.
#[test]
fn nothing_is_made_for_a_session_before_somebody_writes_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let (root, shop, sockets) =
        (folder.path().join("root"), folder.path().join("shop"), folder.path().join("s"));
    fs::create_dir_all(&shop).unwrap();
    let office = Office::new(Root::new(root.clone()), State::new(folder.path().join("state")));
    let double = SessionDouble::start(&root, &shop, &sockets, SESSION);
    let own = u64::from(std::process::id());
    let socket = sockets.join(format!("{own}.sock"));
    let push = Push { socket, session: SESSION.into(), cwd: shop, parent: own, budget: 8_000 };
    assert_eq!(push.client(&office).unwrap().unwrap().mailbox(), None);
    let (end, apart) = (Stop::default(), office.apart());
    thread::scope(|scope| {
        let running = scope.spawn(|| push.run(&apart, &end));
        wait_until("it is noted", || office.registered_session(SESSION).is_some());
        assert!(!root.join("teams").exists());
        let (to, _) = office.session_address("shop").unwrap();
        let letter = Letter::new(to, "the first");
        office.send(&team_name(), &"user".parse().unwrap(), &letter, SendOptions::default()).unwrap();
        wait_until("it is shown", || double.shown().concat().contains("the first"));
        end.stop();
        running.join().unwrap();
    });
}
