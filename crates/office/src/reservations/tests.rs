//! Reservations over real files, with a clock and processes of the test's own.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use atm_support::TestEnv;

use super::*;
use crate::clock::Clock;
use crate::people::members::MemberPlan;
use crate::people::probe::{Agent, Nameless, ProcessProbe};
use crate::people::teams::TeamPlan;

#[derive(Debug, Clone)]
struct Hand(Arc<Mutex<i64>>);

impl Clock for Hand {
    fn now(&self) -> Stamp {
        Stamp::from_millis(*self.0.lock().unwrap())
    }
}

#[derive(Debug, Clone, Default)]
struct Machine(Arc<Mutex<HashMap<u64, String>>>);

impl ProcessProbe for Machine {
    fn started(&self, pid: u64) -> Option<String> {
        self.0.lock().unwrap().get(&pid).cloned()
    }

    fn pid_space(&self) -> String {
        "here".to_owned()
    }

    fn agents(&self) -> Vec<Agent> {
        Vec::new()
    }

    fn nameless(&self) -> Vec<Nameless> {
        Vec::new()
    }
}

struct Bench {
    env: TestEnv,
    office: Office,
    clock: Hand,
    machine: Machine,
    tree: PathBuf,
}

impl Bench {
    /// A team with bob and alice, and a repository.
    fn new() -> Self {
        let env = TestEnv::new();
        let (clock, machine) = (Hand(Arc::new(Mutex::new(1_000_000))), Machine::default());
        let office = Office::new(env.store_root(), env.store_state())
            .with_clock(clock.clone())
            .with_probe(machine.clone());
        let team = office.create_team(&TeamPlan::new("dev", "dev")).unwrap();
        for name in ["bob", "alice"] {
            office.add_member(&team, &MemberPlan::new(name)).unwrap();
        }
        let tree = env.home().canonicalize().unwrap().join("repo");
        fs::create_dir_all(tree.join(".git")).unwrap();
        Self { env, office, clock, machine, tree }
    }

    fn holder(&self, name: &str) -> Holder {
        let (team, root) = (Some("dev".to_owned()), self.office.root_key());
        Holder { name: name.to_owned(), team, root, ..Holder::default() }
    }

    fn reserve(&self, holder: &Holder, path: &str) -> Result<Vec<ReservationView>, OfficeError> {
        let paths = [path.to_owned()];
        let span = Duration::from_secs(60);
        self.office.reserve(&Ask { holder, cwd: &self.tree, paths: &paths, span, reason: Some("for\nthis") })
    }

    fn conflict(&self, who: &Holder, path: &str) -> Option<EditConflict> {
        let covered = self.office.covering(&[path.to_owned()], &self.tree).unwrap();
        self.office.edit_conflict(covered, who)
    }

    fn held(&self) -> Vec<String> {
        let held = self.office.reservations(&self.tree).unwrap();
        held.iter().map(|one| format!("{} {}", one.holder, one.path)).collect()
    }

    fn files(&self) -> usize {
        fs::read_dir(self.env.state().join("reservations")).map_or(0, Iterator::count)
    }
}

#[test]
fn one_of_two_gets_a_path_until_it_is_over() {
    let bench = Bench::new();
    let (bob, alice) = (bench.holder("bob"), bench.holder("alice"));
    bench.reserve(&bob, "src").unwrap();
    let refused = bench.reserve(&alice, "src/*.rs").unwrap_err();
    assert_eq!((refused.kind(), refused.code()), (crate::ErrorKind::Refused, "path_reserved"));
    let words = refused.to_string();
    assert!(
        words.starts_with("src is reserved by bob@dev until 1970-") && words.ends_with("(for this)"),
        "{words}"
    );
    assert_eq!(bench.conflict(&alice, "src/new.rs").unwrap().path, "src/new.rs");
    assert_eq!(bench.conflict(&bob, "src/new.rs"), None);
    assert_eq!(bench.conflict(&alice, "docs/a.md"), None);
    *bench.clock.0.lock().unwrap() += 60_000;
    assert_eq!(bench.conflict(&alice, "src/new.rs"), None, "it expired by the clock alone");
    assert!(bench.held().is_empty());
    bench.reserve(&alice, "src/*.rs").unwrap();
    assert_eq!(bench.held(), ["alice src/*.rs"]);
}

#[test]
fn of_many_at_once_one_gets_it() {
    let bench = Bench::new();
    let won: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|number| {
                let holder =
                    Holder { session: Some(number.to_string()), name: "user".into(), ..Holder::default() };
                let bench = &bench;
                scope.spawn(move || usize::from(bench.reserve(&holder, "src").is_ok()))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(won, 1);
}

#[test]
fn what_is_released_is_free_and_leaves_nothing_behind() {
    let bench = Bench::new();
    let (bob, alice, lead) = (bench.holder("bob"), bench.holder("alice"), bench.holder("team-lead"));
    let give = |who: &Holder, paths: &[&str]| {
        let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
        bench.office.release(who, &bench.tree, Give::Paths(&paths)).map(|all| all.len())
    };
    assert_eq!(give(&bob, &["src"]).unwrap_err().code(), "not_reserved");
    assert_eq!(bench.files(), 0);
    bench.reserve(&bob, "src/a").unwrap();
    bench.reserve(&bob, "src/b").unwrap();
    bench.reserve(&bob, "docs").unwrap();
    assert_eq!(give(&alice, &["src/a"]).unwrap_err().code(), "not_yours");
    assert_eq!(give(&bob, &["src", "none"]).unwrap_err().code(), "not_reserved");
    assert_eq!(bench.held().len(), 3, "all or none");
    let within = give(&bob, &["docs/a.md"]).unwrap_err();
    assert!(matches!(
        within,
        OfficeError::Reservation(ReservationError::NotReserved { within: Some(_), .. })
    ));
    assert_eq!(give(&bob, &["src"]).unwrap(), 2);
    assert_eq!(give(&lead, &["docs"]).unwrap(), 1);
    assert_eq!(bench.files(), 0);
    bench.reserve(&bob, "x").unwrap();
    let person = Holder { name: "user".to_owned(), ..Holder::default() };
    assert_eq!(bench.office.release(&person, &bench.tree, Give::Everything).unwrap(), [], "it has none");
    assert_eq!(give(&person, &["x"]).unwrap(), 1, "the person at the keyboard decides");
    bench.reserve(&bob, "x").unwrap();
    assert_eq!(bench.office.release(&bob, &bench.tree, Give::Tree).unwrap().len(), 1);
}

#[test]
fn a_reservation_ends_with_its_holder() {
    let bench = Bench::new();
    let (bob, alice) = (bench.holder("bob"), bench.holder("alice"));
    let process = HolderProcess { pid: 42, start: "7".to_owned(), space: "here".to_owned() };
    bench.machine.0.lock().unwrap().insert(42, "7".to_owned());
    bench.reserve(&Holder { process: Some(process.clone()), ..bob.clone() }, "src").unwrap();
    assert!(bench.conflict(&alice, "src/a").is_some());
    bench.machine.0.lock().unwrap().insert(42, "8".to_owned());
    assert_eq!(bench.conflict(&alice, "src/a"), None, "another process has its number");
    let elsewhere = HolderProcess { space: "moon".to_owned(), ..process };
    bench.reserve(&Holder { process: Some(elsewhere), ..bob.clone() }, "src").unwrap();
    assert!(bench.conflict(&alice, "src/a").is_some(), "nobody can tell from here");

    let session = |id: &str| Holder { session: Some(id.to_owned()), ..bob.clone() };
    bench.reserve(&session("one"), "docs").unwrap();
    bench.office.release_at_exit(&session("two")).unwrap();
    assert!(bench.held().contains(&"bob docs".to_owned()), "{:?}", bench.held());
    bench.office.release_at_exit(&session("one")).unwrap();
    assert_eq!(bench.held(), [] as [&str; 0]);

    bench.reserve(&bob, "src").unwrap();
    let (team, name) = ("dev".parse().unwrap(), "bob".parse().unwrap());
    bench.office.team(&team).unwrap().record_offline(&name, false, "its pane is gone").unwrap();
    assert_eq!(bench.conflict(&alice, "src/a"), None, "its pane has ended");

    bench.reserve(&alice, "lib").unwrap();
    assert!(bench.conflict(&bob, "lib/a").is_some());
    bench.office.remove_member(&team, &"alice".parse().unwrap()).unwrap();
    assert_eq!(bench.conflict(&bob, "lib/a"), None, "she has left");
}

#[test]
fn trees_are_apart_and_folders_without_git_are_not() {
    let bench = Bench::new();
    let (bob, alice) = (bench.holder("bob"), bench.holder("alice"));
    let worktree = bench.tree.join(".claude/worktrees/x");
    fs::create_dir_all(&worktree).unwrap();
    fs::write(worktree.join(".git"), "gitdir: elsewhere").unwrap();
    bench.reserve(&bob, ".").unwrap();
    assert!(bench.conflict(&alice, "a.rs").is_some());
    assert_eq!(bench.conflict(&alice, ".claude/worktrees/x/a.rs"), None);

    let plain = bench.env.home().canonicalize().unwrap().join("notes");
    fs::create_dir_all(plain.join("deep")).unwrap();
    let ask = |cwd: &std::path::Path, holder: &Holder, path: &str| {
        let paths = [path.to_owned()];
        bench
            .office
            .reserve(&Ask { holder, cwd, paths: &paths, span: DEFAULT_SPAN, reason: None })
            .map(|_| ())
    };
    ask(&plain, &bob, "deep/a.md").unwrap();
    assert!(ask(&plain.join("deep"), &alice, "a.md").is_err(), "the same file, named from below");
    ask(&plain.join("deep"), &alice, "b.md").unwrap();
    let shown = bench.office.reservations(&plain.join("deep")).unwrap();
    assert_eq!(shown.len(), 2);
    assert_eq!(shown[0].path, plain.join("deep/a.md").display().to_string());
    let other = bench.env.home().canonicalize().unwrap().join("other");
    fs::create_dir_all(&other).unwrap();
    assert_eq!(bench.office.reservations(&other).unwrap(), []);
    assert_eq!(bench.office.all_reservations().unwrap().reservations.len(), 3);
    // What is given back in one folder stays in the others.
    assert_eq!(bench.office.release(&bob, &other, Give::Tree).unwrap(), []);
    assert_eq!(bench.office.release(&bob, &plain, Give::Tree).unwrap().len(), 1);
    assert_eq!(bench.office.release(&bob, &plain, Give::Everything).unwrap().len(), 1);
}

/// A file of ours that cannot be read must not stop an edit, and must be reported to an agent that reserves.
#[test]
fn a_file_that_cannot_be_read_is_an_error_and_is_left_alone() {
    let bench = Bench::new();
    let bob = bench.holder("bob");
    bench.reserve(&bob, "src").unwrap();
    let folder = bench.env.state().join("reservations");
    let file = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    for (text, code) in [("{", "bad_data"), (r#"{"version":9,"claims":{}}"#, "newer_format")] {
        fs::write(&file, text).unwrap();
        assert_eq!(bench.reserve(&bob, "src").unwrap_err().code(), code);
        assert!(bench.office.covering(&["src/a".to_owned()], &bench.tree).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn the_chore_clears_away_what_is_over_once() {
    let bench = Bench::new();
    let team = "dev".parse().unwrap();
    bench.reserve(&bench.holder("bob"), "src").unwrap();
    let tend = || {
        let pass = bench.office.tend(&team, &[&crate::chores::Reservations], false).unwrap();
        (pass.steps.len(), pass.next)
    };
    assert_eq!(tend(), (0, Some(Stamp::from_millis(1_060_000))));
    *bench.clock.0.lock().unwrap() += 60_000;
    assert_eq!(tend(), (1, None));
    assert_eq!((tend(), bench.files()), ((0, None), 0));
}

/// One file that a newer atm wrote, or that was damaged, kept everything that stands behind it reserved.
#[test]
fn what_cannot_be_read_keeps_nothing_else_from_being_released_cleared_or_listed() {
    let bench = Bench::new();
    let bob = Holder { session: Some("one".to_owned()), ..bench.holder("bob") };
    let other = bench.env.home().canonicalize().unwrap().join("other");
    fs::create_dir_all(other.join(".git")).unwrap();
    let (paths, span) = ([String::from("src")], Duration::from_secs(60));
    let reserve = || {
        for cwd in [&bench.tree, &other] {
            let ask = Ask { holder: &bob, cwd, paths: &paths, span, reason: None };
            bench.office.reserve(&ask).unwrap();
        }
    };
    let trees = || {
        let held = bench.office.kept_reservations(&"dev".parse().unwrap()).unwrap();
        held.into_iter().map(|kept| kept.view).collect::<Vec<_>>()
    };
    reserve();
    for (name, text) in [("0.json", r#"{"version":99}"#), ("1.json", "{")] {
        fs::write(bench.env.state().join("reservations").join(name), text).unwrap();
    }
    assert_eq!(trees().len(), 2);
    let listed = bench.office.all_reservations().unwrap();
    assert_eq!(listed.reservations.len(), 2);
    let unreadable: Vec<String> = listed.unreadable.iter().map(ToString::to_string).collect();
    assert!(unreadable[0].contains("0.json") && unreadable[1].contains("1.json"), "{unreadable:?}");
    let error = bench.office.release_at_exit(&bob).unwrap_err().to_string();
    assert!(error.contains("0.json"), "{error}");
    assert_eq!(trees(), []);
    reserve();
    let error = bench.office.release(&bob, &bench.tree, Give::Everything).unwrap_err();
    assert_eq!(trees(), []);
    let OfficeError::Partly { done, .. } = &error else { panic!("{error}") };
    assert_eq!(done.len(), 1, "what was released is said: {error}");
    reserve();
    *bench.clock.0.lock().unwrap() += 60_000;
    for view in trees() {
        assert!(bench.office.clear_if_over(&"dev".parse().unwrap(), &view).unwrap(), "{view:?}");
    }
    assert_eq!(trees(), []);
}
