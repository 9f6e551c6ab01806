//! Which sessions run, what each of them takes, and what is said of one among several.

use std::path::PathBuf;

use atm_store::watch::Stop;
use atm_store::{Receipt, SessionNote};
use atm_wire::Stamp;
use serde_json::json;

use super::waiting::woken;
use super::*;
use crate::clock::FixedClock;
use crate::mail::push::Push;
use crate::people::members::MemberPlan;
use crate::people::presence::Presence;
use crate::people::teams::TeamPlan;

const SCRIPT: &str = "5c1d2e3f-3f6a-4a9e-9d0f-1f2e3d4c5b6a";

/// While a script ran a client in a folder, mail for the folder named nobody, and the script's prompt took what waited there.
#[test]
fn a_single_run_for_a_program_takes_only_what_names_it_and_its_folders_name_does_not_mean_it() {
    let scene = Scene::new();
    let shop = scene.make("shop");
    let (left, script) = (arrival(ONE, &shop, 11), arrival(SCRIPT, &shop, 13));
    scene.office.register_session(&left).unwrap();
    scene.lists(ONE, &shop, 11, &json!({ "entrypoint": "cli", "name": "left" }));
    scene.lists(SCRIPT, &shop, 13, &json!({ "entrypoint": "sdk-cli", "name": "script" }));
    // None of our hooks was called there: nobody would take what names it.
    assert_eq!(scene.office.find_session("script").unwrap_err().code(), "no_such_session");
    scene.office.register_session(&script).unwrap();
    assert_eq!(scene.office.find_session("script").unwrap().session.as_deref(), Some(SCRIPT));
    scene.send("shop", "for who works there");
    scene.send("script", "for the run");
    let unread = |id: &str| {
        let all = scene.office.sessions().unwrap();
        all.iter().find(|view| view.session.as_deref() == Some(id)).map(|view| view.unread)
    };
    assert_eq!((unread(ONE), unread(SCRIPT)), (Some(1), Some(1)));
    assert_eq!(offered(&scene.office, &script), 1, "its own");
    assert_eq!(offered(&scene.office, &left), 1, "what is for the folder");
}

/// A script's run in a folder in which nobody works was taken for a session that does.
#[test]
fn a_single_run_alone_leaves_its_folders_mail_to_the_next_session() {
    let scene = Scene::new();
    let shop = scene.make("shop");
    let script = arrival(SCRIPT, &shop, 13);
    scene.lists(SCRIPT, &shop, 13, &json!({ "entrypoint": "sdk-cli" }));
    scene.office.register_session(&script).unwrap();
    let sent = {
        let (to, session) = scene.office.session_address("shop").unwrap();
        assert_eq!(session, None);
        let letter = Letter::new(to, "for the next one");
        scene.office.send(&team_name(), &"user".parse().unwrap(), &letter, SendOptions::default()).unwrap()
    };
    assert!(sent.warnings.iter().any(|warning| warning.contains("waits for the next one")), "{sent:?}");
    assert_eq!(scene.office.session_presence("shop").unwrap().judgement.state, Presence::Offline);
    assert_eq!(offered(&scene.office, &script), 0);
    let listed: Vec<(Option<String>, usize)> =
        scene.office.sessions().unwrap().into_iter().map(|view| (view.session, view.unread)).collect();
    assert_eq!(listed, [(Some(SCRIPT.to_owned()), 0), (None, 1)]);
    assert_eq!(offered(&scene.office, &arrival(TWO, &shop, 12)), 1);
}

/// What waited for a folder was swallowed by a script's run, which ends with its turn.
#[test]
fn single_runs_of_other_clients_leave_their_folders_mail_and_take_what_names_them() {
    for (client, single, session) in [
        (AgentClient::Codex, "codex -c model=o3 exec hi", "codex resume --last"),
        (AgentClient::Gemini, "node /usr/bin/gemini -p hi", "node /usr/bin/gemini -i hi"),
        (AgentClient::Qwen, "node /usr/bin/qwen hi", "node /usr/bin/qwen"),
        (AgentClient::Opencode, "opencode run hi", "opencode serve"),
    ] {
        let scene = Scene::new();
        let shop = scene.make("shop");
        let script = Arrival { client, begins: true, ..arrival(SCRIPT, &shop, 13) };
        let left = Arrival { client, ..arrival(ONE, &shop, 11) };
        scene.starts(13, single);
        scene.starts(11, session);
        scene.office.register_session(&script).unwrap();
        scene.send("shop", "for the next one");
        let judged = scene.office.session_presence("shop").unwrap().judgement;
        assert_eq!(judged.state, Presence::Offline, "{client}");
        assert!(judged.why().starts_with("only a single run"), "{client}: {judged:?}");
        assert_eq!(offered(&scene.office, &script), 0, "{client}");
        let (to, named) = scene.office.session_address(SCRIPT).unwrap();
        let letter = Letter { session: named, ..Letter::new(to, "for the run") };
        let user = "user".parse().unwrap();
        let sent = scene.office.send(&team_name(), &user, &letter, SendOptions::default()).unwrap();
        assert_eq!(sent.warnings, [] as [String; 0], "{client}");
        let listed: Vec<(Option<String>, usize)> =
            scene.office.sessions().unwrap().into_iter().map(|view| (view.session, view.unread)).collect();
        assert_eq!(listed, [(Some(SCRIPT.to_owned()), 1), (None, 1)], "{client}");
        assert_eq!(woken(&scene, SCRIPT), None, "{client}: it ends with its turn");
        assert_eq!(offered(&scene.office, &script), 1, "{client}: its own");
        // It makes no name ambiguous.
        scene.office.register_session(&left).unwrap();
        assert_eq!(scene.office.find_session("shop").unwrap().session, None, "{client}");
        assert_eq!(offered(&scene.office, &left), 1, "{client}: what is for the folder");
        // Its conversation is taken up in a terminal.
        let resumed = Arrival { parent: 14, ..script };
        scene.starts(14, session);
        scene.send(ONE, "for the other one");
        scene.office.end_session(ONE).unwrap();
        assert_eq!(offered(&scene.office, &resumed), 2, "{client}: what is left in the folder");
    }
}

/// Its client's lock may not be held yet when the first hook is called.
#[test]
fn a_single_run_that_is_not_found_running_takes_no_mail_of_its_folder_either() {
    let scene = Scene::new();
    let shop = scene.make("shop");
    scene.make("codex/thread-writer-locks");
    let conversation = scene.make("codex/sessions/2026/11/17").join(rollout());
    let codex = codex(&shop, &conversation);
    scene.starts(codex.parent, "codex exec hi");
    scene.office.register_session(&codex).unwrap();
    scene.send("shop", "for who works there");
    assert_eq!(offered(&scene.office, &codex), 0);
    assert_eq!(offered(&scene.office, &arrival(ONE, &shop, 12)), 1);
}

/// Headless members are single runs that are told by their own name's mail alone: a letter that named such a run was withheld from
/// all others, and nobody took it.
#[test]
fn a_letter_is_not_kept_for_a_run_that_takes_no_mail() {
    let scene = Scene::new();
    let shop = scene.make("shop");
    let left = arrival(ONE, &shop, 11);
    scene.office.register_session(&left).unwrap();
    let to = scene.office.make_mailbox_of_folder(&shop).unwrap();
    let to = format!("{to}@{TEAM}").parse().unwrap();
    let letter = Letter { session: Some(SCRIPT.to_owned()), ..Letter::new(to, "are you there?") };
    scene.office.send(&team_name(), &"user".parse().unwrap(), &letter, SendOptions::default()).unwrap();
    scene.lists(SCRIPT, &shop, 13, &json!({ "entrypoint": "sdk-cli" }));
    assert_eq!(offered(&scene.office, &left), 1);
}

/// Of two sessions in a folder, each name gave what both of them did, and all the mail of the folder.
#[test]
fn a_session_that_is_named_is_told_of_alone_and_counts_its_own_mail() {
    for has_mailbox in [false, true] {
        let scene = Scene::new();
        let shop = scene.make("shop");
        for (session, pid, more) in [
            (ONE, 11, json!({ "name": "left", "status": "idle" })),
            (TWO, 12, json!({ "name": "right", "status": "waiting", "waitingFor": "permission" })),
        ] {
            scene.office.register_session(&arrival(session, &shop, pid)).unwrap();
            scene.lists(session, &shop, pid, &more);
        }
        if has_mailbox {
            scene.send("left", "for the left one");
            for _ in 0..2 {
                scene.send("right", "for the right one");
            }
            let unread = |view: &SessionView| (view.session_name.clone().unwrap(), view.unread);
            let unread: Vec<_> = scene.office.sessions().unwrap().iter().map(unread).collect();
            assert_eq!(unread, [("left".to_owned(), 1), ("right".to_owned(), 2)]);
        }
        let told = |name: &str| {
            let judged = scene.office.session_presence(name).unwrap().judgement;
            let why = judged.why();
            (judged.state, judged.activity, why)
        };
        let (state, activity, why) = told("left");
        assert_eq!((state, activity.as_deref()), (Presence::Idle, Some("idle")), "{why}");
        assert_eq!(why, "session 0b7e1c52 runs (process 11, idle)");
        let (state, activity, why) = told("right");
        assert_eq!((state, activity.as_deref()), (Presence::Online, Some("waiting for permission")), "{why}");
        assert_eq!(why, "session 1c8f2d63 runs (process 12, waiting for permission)");
        assert_eq!(scene.office.session_presence("shop").unwrap_err().code(), "which_session");
    }
}

/// A closed thread counted as one that runs as long as its process did, or another of its number.
#[test]
fn a_thread_of_codex_runs_while_its_lock_is_held_whatever_its_process_does() {
    let scene = Scene::new();
    let shop = scene.make("shop");
    let locks = scene.make("codex/thread-writer-locks");
    let conversation = scene.make("codex/sessions/2026/11/17").join(rollout());
    let codex = codex(&shop, &conversation);
    scene.office.register_session(&codex).unwrap();
    if fs::metadata("/proc/locks").is_err() {
        return;
    }
    let running = || -> Vec<u64> { scene.office.running_sessions().iter().map(|live| live.pid).collect() };
    assert_eq!(running(), [] as [u64; 0], "nobody has the thread open");
    let judged = scene.office.session_presence("shop").unwrap().judgement;
    assert_eq!(judged.state, Presence::Offline);
    assert!(judged.why().starts_with("no process has its session"), "{judged:?}");
    assert_eq!(scene.office.find_session(THREAD).unwrap_err().code(), "no_such_session");
    let lock = fs::File::create(locks.join(format!("{THREAD}.lock"))).unwrap();
    lock.lock().unwrap();
    let own = u64::from(std::process::id());
    assert_eq!(running(), [own], "it was taken up again in another process");
    scene.recycle_numbers();
    assert_eq!(running(), [own]);
    assert_eq!(scene.office.session_presence("shop").unwrap().judgement.state, Presence::Online);
    drop(lock);
    assert_eq!(running(), [] as [u64; 0]);
}

/// The number of a process that ended may be another's.
#[test]
fn a_session_is_over_when_its_number_is_another_process() {
    for client in [
        AgentClient::Claude,
        AgentClient::Codex,
        AgentClient::Gemini,
        AgentClient::Qwen,
        AgentClient::Opencode,
    ] {
        let scene = Scene::new();
        let shop = scene.make("shop");
        let session = Arrival { client, ..arrival(ONE, &shop, 11) };
        scene.office.register_session(&session).unwrap();
        scene.send(ONE, "for you alone");
        assert_eq!(scene.office.running_sessions().len(), 1, "{client}");
        scene.recycle_numbers();
        assert_eq!(scene.office.running_sessions().len(), 0, "{client}");
        let judged = scene.office.session_presence("shop").unwrap().judgement;
        assert_eq!(judged.state, Presence::Offline, "{client}: {judged:?}");
        assert!(judged.why().contains("process 11 of") && judged.why().ends_with("has ended"), "{judged:?}");
        assert_eq!(scene.office.session_presence(ONE).unwrap_err().code(), "no_such_session", "{client}");
        // Its mail is for the next one.
        assert_eq!(offered(&scene.office, &arrival(TWO, &shop, 12)), 1, "{client}");
    }
}

/// Of a server's sessions, the newest alone was found, whichever folders it serves.
#[test]
fn a_process_that_serves_several_folders_has_a_session_in_each() {
    let third = "2d9a3e74-3f6a-4a9e-9d0f-1f2e3d4c5b6a";
    for (client, expected) in [(AgentClient::Opencode, &[TWO, third][..]), (AgentClient::Gemini, &[third])] {
        let scene = Scene::new();
        let (shop, web) = (scene.make("shop"), scene.make("web"));
        // After `/new` the first one is left.
        for (session, folder, at) in [(ONE, &shop, 1), (TWO, &shop, 2), (third, &web, 3)] {
            let begins = Arrival { client, begins: true, ..arrival(session, folder, 11) };
            let then = scene.office.clone().with_clock(FixedClock(Stamp::from_millis(at)));
            then.register_session(&begins).unwrap();
        }
        let mut running: Vec<String> =
            scene.office.running_sessions().into_iter().map(|live| live.id).collect();
        running.sort();
        assert_eq!(running, expected, "{client}");
        // What was called in that process is taken for the newest one's.
        let process = scene.probe.client_above(11).unwrap();
        assert_eq!(scene.office.session_in(&process).as_deref(), Some(third), "{client}");
    }
}

/// The server of a script's run pushed the folder's mail into it, though the hook of such a run does not.
#[test]
fn nothing_is_pushed_into_a_single_run_nor_noted_of_it() {
    let scene = Scene::new();
    let shop = scene.make("shop");
    scene.office.register_session(&arrival(ONE, &shop, 11)).unwrap();
    let id = scene.send("shop", "for who works there");
    scene.lists(SCRIPT, &shop, 13, &json!({ "entrypoint": "sdk-cli" }));
    let push = Push {
        socket: PathBuf::from("/nowhere/s.sock"),
        session: SCRIPT.to_owned(),
        cwd: shop.clone(),
        parent: 13,
        budget: 1_000,
    };
    // It ends by itself.
    push.run(&scene.office, &Stop::default());
    let stages = format!("{:?}", scene.office.track(Some(&team_name()), &id).unwrap().stages);
    assert!(!stages.contains("frame"), "{stages}");
    assert_eq!(scene.office.registered_session(SCRIPT), None);
    assert_eq!(offered(&scene.office, &arrival(ONE, &shop, 11)), 1);
}

/// What was given to a client that ended is not on its way any more, though another process has its number.
#[test]
fn a_frame_is_lost_when_its_clients_number_is_another_process() {
    let scene = Scene::new();
    let shop = scene.make("shop");
    let session = arrival(ONE, &shop, 11);
    scene.office.register_session(&session).unwrap();
    scene.send("shop", "in a frame");
    let mailbox = scene.office.mailbox_of_folder(&shop).unwrap();
    let inbox = scene.office.mailbox(&team_name(), &mailbox);
    let message = inbox.list().unwrap().messages.remove(0);
    let process = |pid: u64| json!([pid, scene.probe.started(pid)]);
    let frame = json!({
        "frame": "f", "at": scene.office.now().as_millis(), "bytes": 10, "ids": [message.id],
        "receipts": [Receipt::of(&message).to_string()], "client": process(11), "is_noted": false,
    });
    let record = json!({ "pushed": [frame], "pusher": process(14) });
    let note = SessionNote::of(&inbox, ONE, scene.office.state());
    note.write(&record.to_string()).unwrap();
    assert_eq!(offered(&scene.office, &session), 0, "it is on its way");
    scene.recycle_numbers();
    assert_eq!(offered(&scene.office, &session), 1);
}

/// The same of a member whose client called its hooks.
#[test]
fn a_member_is_offline_when_its_clients_number_is_another_process() {
    for (client, file) in [
        (AgentClient::Codex, rollout()),
        (AgentClient::Gemini, format!("session-2026-11-17T12-17-{}.jsonl", &THREAD[..8])),
        (AgentClient::Qwen, format!("{THREAD}.jsonl")),
        (AgentClient::Opencode, "opencode.db".to_owned()),
    ] {
        let scene = Scene::new();
        let shop = scene.make("shop");
        let (dev, bob) =
            (scene.office.create_team(&TeamPlan::new("dev", "dev")).unwrap(), "bob".parse().unwrap());
        scene.office.add_member(&dev, &MemberPlan::new("bob")).unwrap();
        let conversation = shop.join(file);
        scene.office.tie_conversation(&dev, &bob, client, THREAD, (&conversation, 11));
        let state = || scene.office.presence(&dev, &bob).unwrap().judgement;
        assert_eq!(state().state, Presence::Online, "{client}: {:?}", state());
        scene.recycle_numbers();
        let judged = state();
        assert_eq!(judged.state, Presence::Offline, "{client}: {judged:?}");
        assert!(judged.why().contains("process 11 of") && judged.why().contains("has ended"), "{judged:?}");
    }
}
