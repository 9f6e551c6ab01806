//! Waiting for mail in an idle session that it is not pushed into, and sessions that wait for their user.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use atm_store::{Receipt, SessionNote};
use atm_support::wait_until;
use atm_wire::TeamName;
use serde_json::json;

use super::*;
use crate::people::members::MemberPlan;
use crate::people::teams::TeamPlan;
use crate::view::{Remedy, TeamPicture};

/// The line that a session is woken with, if there is one for it now.
pub(super) fn woken(scene: &Scene, session: &str) -> Option<String> {
    let (once, deadline) = (Ladder(vec![Duration::ZERO]), Instant::now() + Duration::from_millis(1));
    let told = scene.office.wait_in_session((session, false), &once, Some(deadline), || true).unwrap();
    told.map(|(_, line)| line)
}

/// The same of one with a socket, for mail that nobody has pushed for so long.
fn woken_after(scene: &Scene, grace: Duration) -> Option<String> {
    let (once, deadline) =
        (Ladder(vec![Duration::ZERO]), Instant::now() + grace * 5 + Duration::from_millis(1));
    let way = (ONE, Some(grace));
    let told = scene.office.wait_in_session_for(way, &once, Some(deadline), || true).unwrap();
    told.map(|(_, line)| line)
}

/// Nobody waited for mail in a session that is no member's: it lay until its user said something.
#[test]
fn mail_wakes_the_session_that_may_take_it_once() {
    let scene = Scene::new();
    let shop = scene.make("shop");
    for (session, pid) in [(ONE, 11), (TWO, 12)] {
        scene.office.register_session(&arrival(session, &shop, pid)).unwrap();
    }
    assert_eq!(woken(&scene, ONE), None, "nobody has written");
    assert!(!scene.folder.path().join("root/teams").exists(), "nothing is made for one that waits");
    scene.send(TWO, "for the second");
    assert_eq!(woken(&scene, ONE), None, "it is another's");
    assert!(woken(&scene, TWO).unwrap().starts_with("You have 1 unread message from user."));
    assert_eq!(woken(&scene, TWO), None, "the woken turn ends, and waits again");
    scene.send(ONE, "for the first");
    assert!(woken(&scene, ONE).is_some());
    assert_eq!((woken(&scene, TWO), woken(&scene, ONE)), (None, None), "one does not forget for another");
    // What is before its model is no news.
    scene.send(ONE, "presented");
    assert_eq!(offered(&scene.office, &arrival(ONE, &shop, 11)), 2);
    assert_eq!(woken(&scene, ONE), None);
    // What names a session that ended is for who is left.
    scene.send(TWO, "who is there?");
    scene.office.end_session(TWO).unwrap();
    assert!(woken(&scene, ONE).is_some());
}

#[test]
fn a_session_that_may_be_pushed_into_or_ends_with_its_turn_is_not_woken_at_once() {
    for (more, is_noted, expected) in [
        (json!({ "entrypoint": "cli" }), true, true),
        // Who pushes comes first.
        (json!({ "entrypoint": "cli", "messagingSocketPath": "/run/s.sock" }), true, false),
        (json!({ "entrypoint": "sdk-cli" }), true, false),
        (json!({ "entrypoint": "cli" }), false, false),
    ] {
        let scene = Scene::new();
        let shop = scene.make("shop");
        scene.lists(ONE, &shop, 11, &more);
        if is_noted {
            scene.office.register_session(&arrival(ONE, &shop, 11)).unwrap();
        }
        let to = scene.office.make_mailbox_of_folder(&shop).unwrap();
        let letter = Letter::new(format!("{to}@{TEAM}").parse().unwrap(), "hello");
        scene.office.send(&team_name(), &"user".parse().unwrap(), &letter, SendOptions::default()).unwrap();
        assert_eq!(woken(&scene, ONE).is_some(), expected, "{more} {is_noted}");
    }
}

/// What is noted of a conversation in a scene, for a letter with this receipt.
type Note<'a> = &'a dyn Fn(&Scene, &str) -> Value;

/// Where a client has a socket and no server of ours runs, mail for an idle session lay until its user said something.
#[test]
fn a_session_with_a_socket_is_woken_where_nobody_pushes_and_for_nothing_that_push_has() {
    let process = |scene: &Scene, pid: u64| json!([pid, scene.probe.started(pid)]);
    let frame = |scene: &Scene, receipt: &str| json!({ "frame": "f", "at": 1, "bytes": 1, "ids": ["x"], "receipts": [receipt], "client": process(scene, 11) });
    let cases: [(&str, Note<'_>, bool); 6] = [
        ("nobody ever pushed", &|_, _| json!({}), true),
        ("one pushes", &|scene, _| json!({ "pusher": process(scene, 14) }), false),
        ("the number of one that pushed is another's", &|_, _| json!({ "pusher": [14, "before"] }), true),
        (
            "the hook at the end of the turn has pushed it",
            &|scene, receipt| json!({ "pushed": [frame(scene, receipt)], "pusher": [14, "before"] }),
            false,
        ),
        ("its user denied it", &|_, receipt| json!({ "denied": [receipt] }), false),
        ("something else was denied", &|_, _| json!({ "denied": ["another"] }), true),
    ];
    for (case, note, expected) in cases {
        let scene = Scene::new();
        let shop = scene.make("shop");
        scene.lists(ONE, &shop, 11, &json!({ "entrypoint": "cli", "messagingSocketPath": "/run/s.sock" }));
        scene.office.register_session(&arrival(ONE, &shop, 11)).unwrap();
        scene.send("shop", "hello");
        let inbox = scene.office.mailbox(&team_name(), &scene.office.mailbox_of_folder(&shop).unwrap());
        let receipt = Receipt::of(&inbox.list().unwrap().messages[0]).to_string();
        SessionNote::of(&inbox, ONE, scene.office.state())
            .write(&note(&scene, &receipt).to_string())
            .unwrap();
        assert_eq!(woken_after(&scene, Duration::ZERO).is_some(), expected, "{case}");
    }
}

/// A server may be slower than the hook that waits, and starts at any time.
#[test]
fn who_pushes_has_time_to_do_it_before_a_session_is_woken() {
    let scene = Scene::new();
    let shop = scene.make("shop");
    scene.lists(ONE, &shop, 11, &json!({ "entrypoint": "cli", "messagingSocketPath": "/run/s.sock" }));
    scene.office.register_session(&arrival(ONE, &shop, 11)).unwrap();
    scene.send("shop", "hello");
    let inbox = scene.office.mailbox(&team_name(), &scene.office.mailbox_of_folder(&shop).unwrap());
    let note = SessionNote::of(&inbox, ONE, scene.office.state());
    thread::scope(|scope| {
        let waiting = scope.spawn(|| woken_after(&scene, Duration::from_secs(1)));
        thread::sleep(Duration::from_millis(300));
        note.write(&json!({ "pusher": [14, scene.probe.started(14)] }).to_string()).unwrap();
        assert_eq!(waiting.join().unwrap(), None, "one has begun to push");
    });
    note.write("{}").unwrap();
    let began = Instant::now();
    assert!(woken_after(&scene, Duration::from_secs(1)).is_some());
    assert!(began.elapsed() >= Duration::from_secs(1));
}

/// Waits in a thread until `then` has done what ends the wait.
fn waits(scene: &Scene, then: impl FnOnce()) -> Option<String> {
    let begun = AtomicBool::new(false);
    let is_heard = || {
        begun.store(true, Ordering::SeqCst);
        true
    };
    let (office, deadline) = (scene.office.apart(), Some(Instant::now() + Duration::from_secs(30)));
    thread::scope(|scope| {
        let wait = || office.wait_in_session((ONE, false), &Ladder::default(), deadline, is_heard).unwrap();
        let waiting = scope.spawn(wait);
        wait_until("it waits", || begun.load(Ordering::SeqCst));
        then();
        waiting.join().unwrap().map(|(_, line)| line)
    })
}

#[test]
fn a_wait_ends_with_the_first_letter_with_the_next_turn_and_with_another_wait() {
    let scene = Scene::new();
    let shop = scene.make("shop");
    let session = arrival(ONE, &shop, 11);
    scene.office.register_session(&session).unwrap();
    let began = Instant::now();
    assert_eq!(waits(&scene, || assert_eq!(offered(&scene.office, &session), 0)), None, "a turn begins");
    assert_eq!(waits(&scene, || assert_eq!(woken(&scene, ONE), None)), None, "the last one has the seat");
    // Its mailbox is made while it waits.
    let told = waits(&scene, || drop(scene.send("shop", "the first letter")));
    assert!(told.is_some_and(|line| line.contains("1 unread message")));
    assert!(began.elapsed() < Duration::from_secs(30), "nothing waited for its deadline");
}

/// A session that waited for its user needed nobody's look, unless somebody had written to it.
#[test]
fn sessions_that_wait_for_their_user_are_found_unless_they_are_members() {
    let scene = Scene::new();
    let (shop, led) = (scene.make("shop"), scene.make("led"));
    let asks = |name: &str| json!({ "name": name, "status": "waiting", "waitingFor": "permission" });
    let found = || -> Vec<(String, bool)> {
        let all = scene.office.sessions_beside(&[]).unwrap();
        all.into_iter().map(|one| (one.what, one.has_mailbox)).collect()
    };
    scene.lists(ONE, &shop, 11, &asks("left"));
    assert_eq!(found(), [("session shop is waiting for permission".to_owned(), false)]);
    scene.lists(TWO, &shop, 12, &json!({ "status": "idle" }));
    assert_eq!(found(), [("session left is waiting for permission".to_owned(), false)]);
    scene.send("left", "hello");
    assert_eq!(found(), [("session left is waiting for permission".to_owned(), true)]);
    // A lead is shown with its team.
    scene.lists(THREAD, &led, 13, &asks("lead"));
    assert_eq!(found().len(), 2);
    let dev = scene.office.create_team(&TeamPlan::new("dev", "dev")).unwrap();
    scene.office.add_member(&dev, &MemberPlan::new("bob")).unwrap();
    let config = scene.folder.path().join("root/teams/dev/config.json");
    let mut text: Value = serde_json::from_str(&fs::read_to_string(&config).unwrap()).unwrap();
    text["leadSessionId"] = THREAD.into();
    fs::write(&config, text.to_string()).unwrap();
    assert_eq!(found().len(), 1);
}

/// Programs were told of a session that waits for its user by the picture of the team of sessions alone.
#[test]
fn a_session_that_waits_is_beside_one_picture_and_in_none_that_has_it() {
    let scene = Scene::new();
    let (shop, api) = (scene.make("shop"), scene.make("api"));
    scene.lists(
        ONE,
        &shop,
        11,
        &json!({ "status": "waiting", "waitingFor": "permission", "statusUpdatedAt": 7 }),
    );
    let gemini = Arrival { client: AgentClient::Gemini, ..arrival(TWO, &api, 12) };
    taken(&scene.office, &gemini, Moment::Asks);
    let user = "user".parse().unwrap();
    let mut teams: Vec<_> =
        ["dev", "ops"].map(|name| scene.office.create_team(&TeamPlan::new(name, name)).unwrap()).into();
    let beside = |teams: &[TeamName]| -> Vec<Vec<String>> {
        let mut pictures: Vec<_> =
            teams.iter().map(|team| scene.office.picture(team, &user).unwrap()).collect();
        let essence: Vec<String> = pictures.iter().map(TeamPicture::essence).collect();
        scene.office.put_sessions_beside(&mut pictures);
        let is_told = |(picture, before): (&TeamPicture, &String)| {
            assert_eq!(picture.essence() == *before, picture.sessions_waiting.is_empty());
        };
        pictures.iter().zip(&essence).for_each(is_told);
        let names =
            |picture: &TeamPicture| picture.sessions_waiting.iter().map(|one| one.name.clone()).collect();
        pictures.iter().map(names).collect()
    };
    assert_eq!(beside(&teams), [vec!["api", "shop"], vec![]]);
    let found = scene.office.sessions_beside(&[]).unwrap();
    assert_eq!(
        serde_json::to_value(&found).unwrap(),
        json!([
            {
                "name": "api", "session": TWO, "client": "gemini", "folder": api, "waits_for": "permission",
                "since": found[0].since.unwrap(), "what": "session api is waiting for permission",
            },
            {
                "name": "shop", "session": ONE, "client": "claude", "folder": shop, "waits_for": "permission",
                "since": "1970-01-01T00:00:00.007Z", "what": "session shop is waiting for permission",
            },
        ])
    );
    assert_eq!(found[0].remedy(), Remedy::Why("api".to_owned()));
    scene.send("shop", "hello");
    assert_eq!(beside(&teams)[0].len(), 2, "no picture has it");
    teams.push(team_name());
    assert_eq!(beside(&teams), [vec!["api"], vec![], vec![]]);
    assert_eq!(beside(&[]), [] as [Vec<String>; 0]);
}
