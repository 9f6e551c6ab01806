//! With a real tmux, on a server of each test's own.

use std::fs;
use std::process::Command;
use std::time::Duration;

use atm_support::wait_until;
use tempfile::TempDir;

use super::*;

/// A server at a socket in a throw-away folder; killed on every path.
struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new() -> Self {
        Self { folder: tempfile::Builder::new().prefix("atm'p #%").tempdir().unwrap() }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("tmux")
    }

    fn tmux(&self) -> Tmux {
        Tmux::on(Server::Socket(self.socket()))
    }

    fn spec(&self, place: Place) -> PaneSpec {
        PaneSpec {
            session: "dev".into(),
            title: "bob".into(),
            member: "bob@dev;".into(),
            place,
            cwd: self.folder.path().to_owned(),
        }
    }

    fn program(&self, script: &str) -> Program {
        let command = ["sh", "-c", script].map(ToOwned::to_owned).into();
        Program { command, cwd: self.folder.path().to_owned(), ..Program::default() }
    }

    fn run(&self, script: &str) -> PaneRef {
        let pane = self.tmux().open(&self.spec(Place::Window)).unwrap();
        self.tmux().start(&pane, &self.program(script)).unwrap();
        pane
    }

    fn say(&self, args: &[&str]) -> String {
        let said = Command::new("tmux").arg("-S").arg(self.socket()).args(args).output().unwrap();
        String::from_utf8(said.stdout).unwrap()
    }

    fn until_dead(&self, pane: &PaneRef) -> Option<Exit> {
        let mut exit = None;
        wait_until("it has ended", || match self.tmux().alive(pane).unwrap() {
            Life::Dead(how) => {
                exit = how;
                true
            }
            _ => false,
        });
        exit
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.say(&["kill-server"]);
    }
}

#[test]
fn a_pane_lives_through_open_start_and_exit() {
    let scene = Scene::new();
    let pane = scene.tmux().open(&scene.spec(Place::Window)).unwrap();
    assert_eq!(pane.socket, scene.socket().canonicalize().unwrap());
    assert!(matches!(scene.tmux().alive(&pane).unwrap(), Life::Alive { waiting: true, .. }));

    let gate = scene.folder.path().join("gate");
    let script = format!(
        "while [ ! -e '{}' ]; do sleep 0.01; done; exit 7",
        gate.display().to_string().replace('\'', "'\\''")
    );
    let pid = scene.tmux().start(&pane, &scene.program(&script)).unwrap();
    assert_eq!(scene.tmux().alive(&pane).unwrap(), Life::Alive { pid, waiting: false });

    fs::write(&gate, "").unwrap();
    assert_eq!(scene.until_dead(&pane), Some(Exit::Status(7)));
    scene.tmux().close(&pane).unwrap();
    scene.tmux().close(&pane).unwrap();
    wait_until("the last pane ends its server", || scene.tmux().alive(&pane).unwrap() == Life::NoServer);
    scene.run("sleep 600");
}

#[test]
fn an_exit_at_once_and_a_signal_are_seen() {
    let scene = Scene::new();
    let other = scene.run("sleep 600");
    let quick = scene.run("exit 3");
    assert_eq!(scene.until_dead(&quick), Some(Exit::Status(3)));
    let killed = scene.run("kill -9 $$");
    let exit = scene.until_dead(&killed);
    // Old servers do not say by which signal.
    assert!(matches!(exit, Some(Exit::Signal(9)) | None), "{exit:?}");
    assert!(matches!(scene.tmux().alive(&other).unwrap(), Life::Alive { .. }));
}

#[test]
fn arguments_and_variables_arrive_as_they_are() {
    let scene = Scene::new();
    let pane = scene.tmux().open(&scene.spec(Place::Window)).unwrap();
    let odd = "a'b\"c $HOME `id` #{pane_id} 50% ~ \\;";
    let out = scene.folder.path().join("out");
    let mut program = scene.program("printf '%s\\n' \"$1\" \"$ODD\" >\"$OUT.new\"; mv \"$OUT.new\" \"$OUT\"");
    program.command.extend(["sh".to_owned(), odd.to_owned()]);
    program.env = vec![("ODD".into(), odd.into()), ("OUT".into(), out.clone().into())];
    scene.tmux().start(&pane, &program).unwrap();
    wait_until("it wrote", || out.exists());
    assert_eq!(fs::read_to_string(&out).unwrap(), format!("{odd}\n{odd}\n"));
}

#[test]
fn output_goes_to_the_log_and_the_end_is_told() {
    let scene = Scene::new();
    let keep = scene.run("sleep 600");
    let pane = scene.tmux().open(&scene.spec(Place::Split)).unwrap();
    let log = scene.folder.path().join("out put's 100% #{x}.log");
    let told = scene.folder.path().join("told \"it\" 100% #{x} $y");
    let mut program = scene.program("echo some words; exit 1");
    program.log = Some(log.clone());
    program.on_exit = vec!["touch".into(), told.clone().into()];
    scene.tmux().start(&pane, &program).unwrap();
    wait_until("the end is told", || {
        scene.tmux().alive(&pane).unwrap();
        told.exists()
    });
    wait_until("the log has it", || fs::read_to_string(&log).is_ok_and(|text| text.contains("some words")));
    assert!(matches!(scene.tmux().alive(&keep).unwrap(), Life::Alive { .. }));
}

#[test]
fn a_stranger_with_the_same_number_is_not_the_member() {
    let scene = Scene::new();
    let pane = scene.run("sleep 600");
    scene.say(&["kill-server"]);
    wait_until("the server is gone", || scene.tmux().alive(&pane).unwrap() == Life::NoServer);
    let stranger = scene.run("sleep 600");
    assert_eq!(pane.id, stranger.id);
    assert_eq!(scene.tmux().alive(&pane).unwrap(), Life::Dead(None));
    assert!(matches!(scene.tmux().capture(&pane, 5), Err(PaneError::Gone { .. })));
    assert!(matches!(scene.tmux().type_line(&pane, "x"), Err(PaneError::Gone { .. })));
    scene.tmux().close(&pane).unwrap();
    assert!(
        matches!(scene.tmux().alive(&stranger).unwrap(), Life::Alive { .. }),
        "it was closed for another"
    );
}

#[test]
fn a_typed_line_is_one_line_of_plain_text() {
    let scene = Scene::new();
    let pane = scene.run("while read -r line; do printf 'got <%s>\\n' \"$line\"; done");
    scene.tmux().type_line(&pane, "two\nlines \u{1b}[31m-t $(id);").unwrap();
    let typed = || scene.tmux().capture(&pane, 20).unwrap();
    wait_until("it was read", || typed().contains("got <two lines [31m-t $(id);>"));
    assert_eq!(typed().matches("got <").count(), 1, "{}", typed());
}

#[test]
fn only_the_last_lines_are_captured() {
    let scene = Scene::new();
    let pane = scene.run("i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo line $i; done; printf '\\033[31mred\\033[0m end\\n'; sleep 600");
    wait_until("it has said all", || scene.tmux().capture(&pane, 3).unwrap().contains("end"));
    assert_eq!(scene.tmux().capture(&pane, 3).unwrap(), "line 299\nline 300\nred end");
    assert_eq!(scene.tmux().capture(&pane, 200).unwrap().lines().count(), 200);
}

#[test]
fn a_shell_at_its_prompt_waits_and_one_at_work_does_not() {
    let scene = Scene::new();
    let pause = Duration::from_millis(50);
    let pane = scene.tmux().open(&scene.spec(Place::Window)).unwrap();
    let shell = Program { command: vec!["sh".into(), "-i".into()], ..scene.program("") };
    scene.tmux().start(&pane, &shell).unwrap();
    let quiet = |pane: &PaneRef| {
        let activity = scene.tmux().busy(pane, pause).unwrap();
        activity.shell_waits && !activity.screen_moves
    };
    wait_until("the shell waits", || quiet(&pane));
    scene.tmux().type_line(&pane, "sleep 600").unwrap();
    wait_until("the shell is at work", || !scene.tmux().busy(&pane, pause).unwrap().shell_waits);

    let script = scene.run("while :; do echo x; sleep 0.01; done");
    wait_until("more lines than fit, all alike", || {
        let seen = scene.say(&["display-message", "-p", "-t", &script.id, "#{history_size}"]);
        seen.trim().parse::<u32>().unwrap() > 10
    });
    let long = Duration::from_millis(500);
    assert!(scene.tmux().busy(&script, long).unwrap().screen_moves);
    assert!(!scene.tmux().busy(&script, pause).unwrap().shell_waits, "a script is no prompt");
}

#[test]
fn a_person_who_scrolls_is_seen() {
    let scene = Scene::new();
    let pane = scene.run("sleep 600");
    scene.say(&["copy-mode", "-t", &pane.id]);
    assert!(scene.tmux().busy(&pane, Duration::ZERO).unwrap().in_mode);
}

#[test]
fn the_callers_own_server_and_pane_are_used() {
    let scene = Scene::new();
    let first = scene.run("sleep 600");
    let here = Server::here(format!("{},123,0", scene.socket().display()).as_ref(), Some(&first.id)).unwrap();
    assert_eq!(here, Server::Here { socket: scene.socket(), pane: Some(first.id.clone()) });
    for (place, windows) in [(Place::Window, 2), (Place::Split, 2)] {
        let pane = Tmux::on(here.clone()).open(&scene.spec(place)).unwrap();
        assert_eq!(pane.socket, first.socket);
        assert_eq!(scene.say(&["list-windows", "-a"]).lines().count(), windows);
    }
    assert_eq!(scene.say(&["list-sessions"]).lines().count(), 1);
    assert_eq!(Server::here("".as_ref(), None), None);
}

#[test]
fn many_at_once_share_one_session() {
    let scene = Scene::new();
    let panes: Vec<PaneRef> = std::thread::scope(|scope| {
        let open = || scene.tmux().open(&scene.spec(Place::Window)).unwrap();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(scene.say(&["list-sessions"]).lines().count(), 1);
    let lives = scene.tmux().lives(&panes).unwrap();
    assert!(lives.iter().all(|life| matches!(life, Life::Alive { waiting: true, .. })), "{lives:?}");
}
