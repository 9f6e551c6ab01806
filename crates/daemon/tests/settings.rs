//! Settings that change under a daemon.

use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use atm_daemon::control::Client;
use atm_daemon::{Chores, Daemon, Ended, Settings, SettingsFiles};
use atm_office::Office;
use atm_office::chores::Chore;
use atm_store::Layout;
use atm_support::{TestEnv, wait_until};

/// Nothing to do.
#[derive(Debug)]
struct Nothing;

impl Chores for Nothing {
    fn lend(&self, act: &mut dyn FnMut(&[&dyn Chore])) {
        act(&[]);
    }

    fn keep_house(&self, _: &Office) -> Vec<String> {
        Vec::new()
    }
}

fn daemon(env: &TestEnv) -> (Office, Daemon) {
    let office = Office::new(env.store_root(), env.store_state());
    let daemon = Daemon::begin(office.clone(), "0", "test", None).expect("a daemon begins");
    (office, daemon)
}

/// Ends the daemon of an office if it does not end by itself, so that a test fails and does not hang.
fn end_after(office: &Office, patience: Duration) {
    let hub = office.hub().clone();
    thread::spawn(move || {
        thread::sleep(patience);
        hub.shut_down();
    });
}

/// A folder that comes after the folders were listed and before the one above it is watched gives no event.
#[test]
fn a_file_that_comes_with_its_folder_at_whichever_moment_of_the_start_counts() {
    for round in 0..150_u32 {
        let env = TestEnv::new();
        let (office, mut daemon) = daemon(&env);
        let file = env.state().join(format!("config-{round}/atm/config.toml"));
        let files = SettingsFiles::read([file.clone()]);
        end_after(&office, Duration::from_secs(30));
        let writer = thread::spawn(move || {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_micros(20) * round {
                std::hint::spin_loop();
            }
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            // A while after that the daemon waits, unless it has found the folder by then.
            thread::sleep(Duration::from_millis(20));
            fs::write(&file, "x = 1").unwrap();
        });
        let ended = daemon.run(&Settings { chores: Arc::new(Nothing), files, peers: None }).unwrap();
        writer.join().unwrap();
        assert_eq!(ended, Ended::SettingsChanged, "round {round}");
    }
}

/// Files and threads that this process has now.
#[cfg(target_os = "linux")]
fn held() -> [usize; 2] {
    ["fd", "task"]
        .map(|what| fs::read_dir(format!("/proc/self/{what}")).expect("what this process has").count())
}

#[test]
#[cfg(target_os = "linux")]
fn no_file_and_no_thread_is_left_of_settings_before() {
    let env = TestEnv::new();
    env.team("dev", Layout::Array, &["lead", "bob"]);
    let (office, mut daemon) = daemon(&env);
    end_after(&office, Duration::from_secs(120));
    let file = env.state().join("config.toml");
    let state = env.store_state();
    let mut run = |number: u32| {
        let files = SettingsFiles::read([file.clone()]);
        let client = Client::new(&state, "test");
        let looks = || client.status().unwrap().looks;
        let before = looks();
        let ended = thread::scope(|scope| {
            scope.spawn(|| {
                wait_until("it has looked", || looks() > before);
                fs::write(&file, number.to_string()).unwrap();
            });
            daemon.run(&Settings { chores: Arc::new(Nothing), files, peers: None }).unwrap()
        });
        assert_eq!(ended, Ended::SettingsChanged);
    };
    run(0);
    run(1);
    let before = held();
    (2..30).for_each(&mut run);
    // Threads that were told to end take a moment.
    wait_until("all that was held is given back", || {
        held().into_iter().zip(before).all(|(now, before)| now <= before + 1)
    });
}
