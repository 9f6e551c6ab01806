//! A team that takes for ever, and house-keeping that does.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, LockResult, Mutex, PoisonError};
use std::thread;

use atm_daemon::control::{Ask, Client};
use atm_daemon::{Chores, Daemon, Ended, Settings, SettingsFiles};
use atm_ledger::{Feed, Ledger};
use atm_office::chores::{Carried, Chore, Effect, Parts, Site, Snapshot, Step};
use atm_office::{Office, OfficeError};
use atm_store::Layout;
use atm_support::{TestEnv, wait_until};
use atm_wire::Stamp;
use serde_json::{Value, json};

/// A chore that takes until it is let go, in one team.
#[derive(Debug, Default)]
struct Endless {
    is_let_go: Mutex<bool>,
    let_go: Condvar,
}

impl Endless {
    fn let_go(&self) {
        *sound(self.is_let_go.lock()) = true;
        self.let_go.notify_all();
    }
}

impl Chore for Endless {
    fn names(&self) -> &'static [&'static str] {
        &["endless"]
    }

    fn needs(&self) -> Parts {
        Parts::default()
    }

    fn due(&self, _: &Snapshot, _: Stamp) -> Vec<Step> {
        vec![Step::new(("endless", Effect::Files), "all", 1, "takes long", &())]
    }

    fn next(&self, _: &Snapshot, _: Stamp) -> Option<Stamp> {
        None
    }

    fn carry_out(&self, site: &Site, _: &Step) -> Result<Carried<Value>, OfficeError> {
        if site.team.as_str() == "slow" {
            self.wait();
        }
        Ok(Carried::Done(Value::Null))
    }
}

impl Endless {
    fn wait(&self) {
        let held = self.let_go.wait_while(sound(self.is_let_go.lock()), |is_let_go| !*is_let_go);
        drop(sound(held));
    }
}

#[derive(Debug)]
struct OneChore(Arc<Endless>, AtomicUsize);

impl Chores for OneChore {
    fn lend(&self, act: &mut dyn FnMut(&[&dyn Chore])) {
        act(&[&*self.0]);
    }

    fn keep_house(&self, _: &Office) -> Vec<String> {
        self.1.fetch_add(1, Ordering::Relaxed);
        vec!["the cellar is full".to_owned()]
    }
}

/// A house that takes until it is let go, and how often it was begun.
#[derive(Debug, Default)]
struct LargeHouse(Endless, AtomicUsize);

impl Chores for LargeHouse {
    fn lend(&self, act: &mut dyn FnMut(&[&dyn Chore])) {
        act(&[]);
    }

    fn keep_house(&self, _: &Office) -> Vec<String> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.wait();
        Vec::new()
    }
}

fn texts(ledger: &Ledger) -> Vec<String> {
    let start = ledger.start().expect("a start");
    match ledger.events_since(&start, 1_000) {
        Ok(Feed::Events { events, .. }) => {
            events.into_iter().filter_map(|event| event.new.map(|new| new.text)).collect()
        }
        other => panic!("a log has a start: {other:?}"),
    }
}

/// What a lock gives, also after a panic: no test goes on after one.
fn sound<T>(lock: LockResult<T>) -> T {
    lock.unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn it_holds_nobody_up_and_does_not_keep_the_daemon_from_ending() {
    let env = TestEnv::new();
    env.team("slow", Layout::Array, &["lead", "bob"]);
    let quick = env.team("quick", Layout::Array, &["lead", "bob"]);
    let office = Office::new(env.store_root(), env.store_state());
    let endless = Arc::new(Endless::default());
    let chores = Arc::new(OneChore(Arc::clone(&endless), AtomicUsize::new(0)));
    let kept = Arc::clone(&chores);
    let mut daemon = Daemon::begin(office, "0", "test", None).unwrap();
    let running = thread::spawn(move || {
        let ended = daemon.run(&Settings { chores, files: SettingsFiles::read([]), peers: None }).unwrap();
        daemon.end(ended);
        ended
    });
    let state = env.store_state();
    let client = Client::new(&state, "test");
    let busy = || client.status().unwrap().busy;
    wait_until("only the slow team is at work", || {
        busy().is_some_and(|busy| busy.contains("tends team slow") && !busy.contains("quick"))
    });
    let entry =
        json!([{ "from": "x", "text": "for bob", "timestamp": "2026-11-17T06:00:00.000Z", "read": false }]);
    quick.write_inbox("bob", entry.to_string());
    let ledger = Ledger::open(&env.state().join("log.db")).unwrap();
    wait_until("the other's mail is recorded", || texts(&ledger).contains(&"for bob".to_owned()));
    assert!(busy().is_some_and(|busy| busy.contains("slow")), "it is at work still");
    client.ask(Ask::Tend { team: Some("quick".parse().unwrap()) }).unwrap();
    assert_eq!(kept.1.load(Ordering::Relaxed), 0, "that is of a team");
    client.ask(Ask::Tend { team: None }).unwrap();
    wait_until("the house is kept, and what went wrong is told", || {
        client.status().unwrap().troubles.iter().any(|trouble| trouble.what == "the cellar is full")
    });
    assert_eq!(kept.1.load(Ordering::Relaxed), 1);
    client.stop().unwrap();
    assert_eq!(running.join().unwrap(), Ended::Asked);
    endless.let_go();
}

/// However often all is ordered to be tended, one thread keeps house, and the others look at mail.
#[test]
fn house_keeping_that_takes_long_is_begun_once_and_holds_nobody_up() {
    let env = TestEnv::new();
    let team = env.team("dev", Layout::Array, &["lead", "bob"]);
    let house = Arc::new(LargeHouse::default());
    let chores = Arc::<LargeHouse>::clone(&house);
    let mut daemon =
        Daemon::begin(Office::new(env.store_root(), env.store_state()), "0", "test", None).unwrap();
    let running = thread::spawn(move || {
        daemon.run(&Settings { chores, files: SettingsFiles::read([]), peers: None }).unwrap();
    });
    let state = env.store_state();
    let client = Client::new(&state, "test");
    for _ in 0..5 {
        client.ask(Ask::Tend { team: None }).unwrap();
        wait_until("the house is kept", || {
            client.status().unwrap().busy.is_some_and(|busy| busy.contains("keeps house"))
        });
    }
    let entry =
        json!([{ "from": "x", "text": "for bob", "timestamp": "2026-11-17T06:00:00.000Z", "read": false }]);
    team.write_inbox("bob", entry.to_string());
    let ledger = Ledger::open(&env.state().join("log.db")).unwrap();
    wait_until("mail is recorded meanwhile", || texts(&ledger).contains(&"for bob".to_owned()));
    assert_eq!(house.1.load(Ordering::SeqCst), 1);
    // What was ordered meanwhile is done, once.
    house.0.let_go();
    wait_until("the house is kept again", || house.1.load(Ordering::SeqCst) == 2);
    wait_until("and that is all", || client.status().unwrap().busy.is_none());
    client.stop().unwrap();
    running.join().unwrap();
    assert_eq!(house.1.load(Ordering::SeqCst), 2);
}
