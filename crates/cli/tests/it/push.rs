//! Mail that enters a session's conversation as it comes, through the socket that its client hands to our server.
//!
//! The client is a test double with the limits and receipts of the real one; this process is its client, so the server that it
//! starts is the session's child.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use atm_support::{Inbound, SessionDouble, wait_until};
use serde_json::{Value, json};

use crate::mcp::client::Client;
use crate::scene::World;

const SESSION: &str = "0b7e1c52-3f6a-4a9e-9d0f-1f2e3d4c5b6a";

struct Scene {
    world: World,
    double: SessionDouble,
    server: Client,
}

impl Scene {
    fn new() -> Self {
        let world = World::new();
        let folder = world.home().join("shop");
        fs::create_dir_all(&folder).unwrap();
        let double = SessionDouble::start(&world.root(), &folder, &sockets(&world), SESSION);
        let mut command = world.command(&["mcp"]);
        double.hand_to(&mut command);
        let mut server = Client::of(&mut command);
        server.greet();
        Self { world, double, server }
    }

    fn send(&self, text: &str) -> String {
        self.world.json(&["send", "shop", text])["id"].as_str().unwrap().to_owned()
    }

    fn stage(&self, id: &str) -> String {
        self.world.json(&["track", id])["stage"].as_str().unwrap().to_owned()
    }

    fn unread(&self) -> Value {
        self.world.json(&["sessions"])[0]["unread"].clone()
    }

    fn evidence(&self, id: &str) -> String {
        self.world.json(&["track", id])["stages"].to_string()
    }
}

/// Paths of sockets are short.
fn sockets(world: &World) -> PathBuf {
    world.home().join("socks")
}

#[test]
fn mail_enters_an_idle_session_is_proved_and_marked() {
    let scene = Scene::new();
    let id = scene.send("the API is deployed");
    wait_until("it is shown", || !scene.double.shown().is_empty());
    wait_until("it is seen", || scene.stage(&id) == "seen");
    wait_until("and marked", || scene.unread() == 0);
    let shown = scene.double.shown();
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(shown[0].contains("the API is deployed") && shown[0].contains("is no consent"), "{shown:?}");
    assert!(scene.evidence(&id).contains("put into frame"), "{}", scene.evidence(&id));
    assert_eq!(scene.double.dropped(), Vec::<String>::new());
    let own: Vec<_> =
        fs::read_dir(sockets(&scene.world)).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(own.len(), 2, "the session's and ours: {own:?}");
    assert_eq!(scene.server.close(), Some(0));
    assert_eq!(fs::read_dir(sockets(&scene.world)).unwrap().count(), 1, "ours is gone with the server");
}

#[test]
fn in_a_turn_it_comes_between_two_tool_calls_and_by_no_hook() {
    let scene = Scene::new();
    scene.double.begin_turn();
    let id = scene.send("while you work");
    let pushed = || scene.evidence(&id).contains("put into frame");
    wait_until("it is pushed", pushed);
    let said = json!({ "session_id": SESSION, "cwd": scene.world.home().join("shop"), "hook_event_name": "PostToolUse" });
    let hooked = scene.world.pipe(&["hook", "PostToolUse", "--client", "claude"], said.to_string());
    assert_eq!((hooked.code, hooked.stdout.as_str()), (Some(0), ""), "it is on its way: {hooked:?}");
    assert_ne!(scene.stage(&id), "seen");
    scene.double.end_tool();
    wait_until("it is seen", || scene.stage(&id) == "seen");
    scene.double.end_turn();
    assert_eq!(scene.double.shown().len(), 1);
}

/// A frame waited behind the tool in which the agent read its mail, and the model got it twice; a wait for mail kept the frame from
/// being shown for as long as it went on.
#[test]
fn what_is_on_its_way_is_not_read_and_ends_a_wait() {
    let mut scene = Scene::new();
    scene.double.begin_turn();
    let id = scene.send("while you work");
    wait_until("it is pushed", || scene.evidence(&id).contains("put into frame"));
    for words in [&["read"][..], &["read", "--peek"], &["read", "--wait", "5m"]] {
        let said = scene.double.hand_to(&mut scene.world.command(words)).output().unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        assert_eq!(said, "no new mail; 1 message on the way into this conversation\n", "{words:?}");
    }
    let own = json!({ "team_name": "sessions", "agent_name": "shop" });
    let note = "1 message on the way into this conversation: nothing to do.";
    for tool in ["read_inbox", "poll_inbox"] {
        assert_eq!(scene.server.call(tool, own.clone()), json!({ "result": [] }), "{tool}");
        assert_eq!(scene.server.notes(tool, own.clone()), [note], "{tool}");
    }
    let mut all = own.clone();
    all["unread_only"] = false.into();
    assert_eq!(scene.server.call("read_inbox", all), json!({ "result": [] }));
    assert_eq!(scene.unread(), 1);
    scene.double.end_tool();
    wait_until("it is seen", || scene.stage(&id) == "seen");
    scene.double.end_turn();
    assert_eq!(scene.double.shown().len(), 1);
}

/// The client of a team's member looks into its inbox by itself: what is pushed, too, would come twice. And a member's server
/// hands out its member's mail alone.
#[test]
fn a_server_of_a_member_does_not_push() {
    let world = World::with_team();
    let folder = world.home().join("shop");
    fs::create_dir_all(&folder).unwrap();
    let double = SessionDouble::start(&world.root(), &folder, &sockets(&world), SESSION);
    let sent = world.json(&["send", "shop@sessions", "for the session"]);
    let id = sent["id"].as_str().unwrap();
    for (words, variables) in [
        (&["mcp", "--as", "bob", "-t", "dev"][..], &[][..]),
        (&["mcp"], &[("ATM_AS", "bob"), ("ATM_TEAM", "dev")]),
    ] {
        let mut command = world.command(words);
        double.hand_to(&mut command).envs(variables.iter().copied());
        let mut server = Client::of(&mut command);
        server.greet();
        // Longer than a server waits before its first frame.
        assert_eq!(
            server.call("poll_inbox", json!({ "timeout_ms": 3_000 })),
            json!({ "result": [] }),
            "{words:?}"
        );
        let own = fs::read_dir(sockets(&world)).unwrap().count();
        assert_eq!(own, 1, "it listens to nobody: {words:?}");
        assert_eq!(server.close(), Some(0));
    }
    let evidence = || world.json(&["track", id])["stages"].to_string();
    assert!(!evidence().contains("frame"), "{}", evidence());
    assert_eq!(double.shown(), Vec::<String>::new());
    // The same server without a name pushes.
    let mut command = world.command(&["mcp"]);
    let mut server = Client::of(double.hand_to(&mut command));
    server.greet();
    wait_until("it is shown", || double.shown().len() == 1);
    assert_eq!(server.close(), Some(0));
}

/// 1,000 messages in bursts of 100: each is shown once, in order.
#[test]
fn bursts_arrive_whole_in_order_and_once() {
    let scene = Scene::new();
    scene.send("The first makes the mailbox.");
    for burst in 0..10 {
        let lines: Vec<String> = (0..100)
            .map(|number| {
                json!({ "to": "shop", "text": format!("letter {:04}.", burst * 100 + number) }).to_string()
            })
            .collect();
        let sent = scene.world.pipe(&["-t", "sessions", "send", "--batch", "--quiet"], lines.join("\n"));
        assert_eq!(sent.code, Some(0), "{sent:?}");
    }
    let shown = || {
        let text = scene.double.shown().concat();
        let letters = text.split("letter ").skip(1).filter_map(|rest| rest.split('.').next());
        letters.map(|number| number.parse().unwrap()).collect::<Vec<usize>>()
    };
    let mut before = 0;
    // As long as it goes on, it is waited for.
    while shown().len() < 1_000 {
        wait_until("another is shown", || shown().len() > before);
        before = shown().len();
    }
    assert_eq!(shown(), (0..1_000).collect::<Vec<_>>(), "each once, in order");
    assert_eq!(scene.double.dropped(), Vec::<String>::new());
    let (turns, largest) = scene.double.turns();
    assert!(turns > 1 && largest <= 8_000, "{turns} turns, {largest} bytes in the largest");
    wait_until("all are read", || scene.unread() == 0);
}

/// Mail that follows a denial comes as any other does, also when its turn is cleared: a denied frame that nobody remembered as
/// denied was waited for, and held all later mail back for as long as the turn went on.
#[test]
fn what_its_user_holds_or_denies_and_what_was_cleared_is_told_and_not_lost() {
    let scene = Scene::new();
    scene.double.set_inbound(Inbound::Hold);
    let first = scene.send("may I?");
    wait_until("it is held", || scene.stage(&first) == "held");
    scene.double.decide(true);
    wait_until("it is seen", || scene.stage(&first) == "seen");
    let second = scene.send("and now?");
    wait_until("receipt: held", || scene.evidence(&second).contains("receipt: held"));
    scene.double.decide(false);
    wait_until("receipt: denied", || scene.evidence(&second).contains("receipt: denied"));
    assert_eq!((scene.stage(&second).as_str(), scene.unread()), ("held", json!(1)));
    // `/clear` in the middle of a turn: what waited in the old conversation is gone, and ours is not.
    scene.double.set_inbound(Inbound::Accept);
    scene.double.begin_turn();
    let third = scene.send("for the next conversation, too");
    wait_until("put into frame", || scene.evidence(&third).contains("put into frame"));
    scene.double.clear("77aa88bb-1111-4a9e-9d0f-1f2e3d4c5b6a");
    scene.double.end_turn();
    wait_until("it is seen", || scene.stage(&third) == "seen");
}

#[test]
fn a_socket_that_is_not_our_clients_is_told_nothing() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let world = World::new();
    let folder = world.home().join("shop");
    fs::create_dir_all(&folder).unwrap();
    let (path, heard) = (world.home().join("s.sock"), world.home().join("heard"));
    let listen = "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1])\ns.listen()\n\
        open(sys.argv[2],'wb').close()\n\
        while True:\n c,_=s.accept()\n d=c.recv(65536)\n f=open(sys.argv[2],'ab')\n f.write(d)\n f.close()\n c.close()";
    let stranger =
        Command::new("python3").args(["-c", listen]).args([&path, &heard]).stdin(Stdio::null()).spawn();
    let mut stranger = stranger.unwrap();
    wait_until("the stranger listens", || heard.exists());
    let mut command = world.command(&["mcp"]);
    command
        .env("CLAUDE_CODE_MESSAGING_SOCKET", &path)
        .env("CLAUDE_CODE_SESSION_ID", SESSION)
        .current_dir(&folder);
    let mut server = Client::of(&mut command);
    server.greet();
    let is_known = || world.json(&["sessions"]).as_array().is_some_and(|all| !all.is_empty());
    wait_until("the session is known", is_known);
    let id = world.json(&["send", "shop", "not for strangers"])["id"].as_str().unwrap().to_owned();
    let evidence = || world.json(&["track", &id])["stages"].to_string();
    wait_until("the stranger is known", || evidence().contains("not the client that started us"));
    assert_eq!(fs::read(&heard).unwrap(), b"");
    // The hooks have it.
    let said = json!({ "session_id": SESSION, "cwd": folder, "hook_event_name": "UserPromptSubmit" });
    let hooked = world.pipe(&["hook", "UserPromptSubmit", "--client", "claude"], said.to_string());
    assert!(hooked.stdout.contains("not for strangers"), "{hooked:?}");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

/// A session with hooks and without a server.
struct Hooks {
    world: World,
    double: SessionDouble,
}

impl Hooks {
    fn new() -> Self {
        let world = World::new();
        let folder = world.home().join("shop");
        fs::create_dir_all(&folder).unwrap();
        let double = SessionDouble::start(&world.root(), &folder, &sockets(&world), SESSION);
        let scene = Self { world, double };
        scene.hook("SessionStart");
        scene
    }

    /// What a hook says to the model.
    fn hook(&self, event: &str) -> String {
        let command = self.world.command(&["hook", event, "--client", "claude"]);
        self.ask(command, event, SESSION, "shop")
    }

    /// The same in a client that runs in a tool of this one, in a folder of its own.
    fn hook_within(&self, event: &str) -> String {
        let mut command = self.world.shell();
        let line = format!("atm hook {event} --client claude; exit $?");
        command.arg0("claude").args(["-c", &line]).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.ask(command, event, "5d3f2b1a-7c6e-4f80-8a9b-0c1d2e3f4a5b", "inner")
    }

    fn ask(&self, mut command: Command, event: &str, session: &str, folder: &str) -> String {
        let folder = self.world.home().join(folder);
        let said = json!({ "session_id": session, "cwd": folder, "hook_event_name": event });
        let mut child = self.double.hand_to(&mut command).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(said.to_string().as_bytes()).unwrap();
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    fn send(&self, text: &str) -> String {
        self.world.json(&["send", "shop", text])["id"].as_str().unwrap().to_owned()
    }

    fn stage(&self, id: &str) -> String {
        self.world.json(&["track", id])["stage"].as_str().unwrap().to_owned()
    }
}

/// What a hook's own words bring before the model, they bring. What does not keep a turn from ending would wait for the next
/// words of its user: the hook pushes it, and it begins a turn of its own.
#[test]
fn at_the_end_of_a_turn_hooks_push_what_waits_and_nothing_comes_twice() {
    let scene = Hooks::new();
    scene.double.begin_turn();
    let first = scene.send("while you work");
    assert!(scene.hook("PostToolUse").contains("while you work"), "a hook's words come at once");
    let second = scene.send("no hurry");
    assert_eq!(scene.hook("Stop"), "", "it does not keep the turn from ending");
    assert_eq!(scene.stage(&first), "seen");
    assert_eq!(scene.double.shown(), Vec::<String>::new(), "the turn has not ended yet");
    // On its way: no hook offers it, nor what came after it.
    let third = scene.send("later");
    assert_eq!(scene.hook("UserPromptSubmit"), "");
    scene.double.end_turn();
    wait_until("it is shown", || scene.double.shown().len() == 1);
    let shown = scene.double.shown().concat();
    assert!(shown.contains("no hurry") && !shown.contains("later") && !shown.contains("while"), "{shown}");
    wait_until("it is seen", || scene.stage(&second) == "seen");
    let next = scene.hook("PostToolUse");
    assert!(next.contains("later") && !next.contains("no hurry"), "{next}");
    assert_eq!(scene.hook("Stop"), "");
    assert_eq!(scene.stage(&third), "seen");
    assert_eq!(scene.world.json(&["sessions"])[0]["unread"], 0);
    assert_eq!(fs::read_dir(sockets(&scene.world)).unwrap().count(), 1, "hooks leave no socket");
    assert_eq!(scene.double.dropped(), Vec::<String>::new());
}

/// Where a server pushes, hooks do not.
#[test]
fn a_hook_leaves_pushing_to_the_server() {
    let scene = Hooks::new();
    let mut command = scene.world.command(&["mcp"]);
    let mut server = Client::of(scene.double.hand_to(&mut command));
    server.greet();
    let id = scene.send("by the server");
    wait_until("it is seen", || scene.stage(&id) == "seen");
    scene.double.set_inbound(Inbound::Hold);
    let held = scene.send("held by its user");
    wait_until("it is held", || scene.stage(&held) == "held");
    let after = scene.send("after it");
    for event in ["PostToolUse", "Stop", "UserPromptSubmit", "Stop"] {
        assert_eq!(scene.hook(event), "", "{event}");
    }
    scene.double.set_inbound(Inbound::Accept);
    scene.double.decide(true);
    wait_until("both are seen", || scene.stage(&held) == "seen" && scene.stage(&after) == "seen");
    let shown = scene.double.shown();
    assert!(shown.len() == 3 && shown[1].contains("held by") && shown[2].contains("after it"), "{shown:?}");
    assert_eq!(server.close(), Some(0));
}

/// What a client starts inherits its socket: mail for a client in a tool of another would have come into the outer conversation.
#[test]
fn a_hook_of_a_client_within_another_does_not_push_into_the_outer_one() {
    let scene = Hooks::new();
    fs::create_dir_all(scene.world.home().join("inner")).unwrap();
    scene.hook_within("SessionStart");
    let id = scene.world.json(&["send", "inner", "for the inner one"])["id"].as_str().unwrap().to_owned();
    let said = scene.hook_within("Stop") + &scene.hook_within("UserPromptSubmit");
    assert_eq!(said.matches("for the inner one").count(), 1, "{said}");
    let stages = scene.world.json(&["track", &id])["stages"].to_string();
    assert!(
        !stages.contains("frame") && !stages.contains("started us"),
        "nobody has tried to push it: {stages}"
    );
    assert_eq!(scene.double.shown(), Vec::<String>::new());
    assert_eq!(scene.double.dropped(), Vec::<String>::new());
}
