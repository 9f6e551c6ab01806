//! What one process has pushed or heard, and another goes on with.

use super::*;

/// A client that was killed loses what it had taken. Its next run in the same conversation gets it again, at once, and what
/// the conversation shows is not given again.
#[test]
fn what_a_dead_process_pushed_is_settled_when_the_conversation_is_taken_up_again() {
    let mut scene = Scene::new();
    let ids = [scene.send("shown"), scene.send("lost")];
    scene.pass();
    let shop = scene.folder.path().join("shop");
    let mailbox = "shop".parse().unwrap();
    let inbox = scene.office.mailbox(&sessions::team_name(), &mailbox);
    let note = SessionNote::of(&inbox, SESSION, &scene.office.state);
    let mut record = Record::read(&note).unwrap().unwrap();
    // As two frames of a process that has ended, one of which is in the conversation.
    let whole = record.pushed.remove(0);
    for (number, frame) in ["f1", "f2"].into_iter().enumerate() {
        let part = |all: &[String]| vec![all[number].clone()];
        let listed = Frame { frame: frame.into(), session: SESSION.into(), messages: part(&whole.ids) };
        let key = scene.office.inbox_key(&sessions::team_name(), &mailbox);
        let evidence = Evidence::certain("put into a frame");
        scene.office.books.with(|ledger| ledger.push(&key, &listed, &evidence, NOON)).unwrap();
        let (ids, receipts) = (part(&whole.ids), part(&whole.receipts));
        let client = Some((u64::from(u32::MAX), "1".into()));
        record.pushed.push(PushedFrame { frame: frame.into(), ids, receipts, client, ..whole.clone() });
    }
    record.pusher = Some((u64::from(u32::MAX), "1".into()));
    record.write(&note).unwrap();
    scene.shows(SESSION, "f1");
    let begins = Arrival { begins: true, has_socket: true, ..arrival(&shop, SESSION) };
    assert!(
        scene
            .office
            .hook_session(&begins, HookMoment::Begins { tells: true, remembers: Remembers::Nothing })
            .unwrap()
            .handover
            .is_none(),
        "push has it"
    );
    assert_eq!(scene.stage(&ids[0]), Stage::Seen);
    scene.pass();
    let text = &scene.given().last().unwrap().1;
    assert!(scene.given().len() == 2 && text.contains("] lost") && !text.contains("] shown"), "{text}");
}

/// A client says once that its user denied a frame. Where that was heard by a process that failed afterwards, the frame was waited
/// for as long as the turn went on, and with it all later mail.
#[test]
fn what_a_client_said_outlives_the_process_that_heard_it() {
    let mut scene = Scene::new();
    let id = scene.send("denied");
    scene.pass();
    scene.denies();
    scene.pusher.client.doing = Doing::Turn;
    // The ledger is out of reach for a moment.
    let log = scene.folder.path().join("state/log.db");
    let aside = scene.folder.path().join("aside.db");
    fs::rename(&log, &aside).unwrap();
    fs::create_dir(&log).unwrap();
    assert!(scene.pusher.pass().is_err());
    fs::remove_dir(&log).unwrap();
    fs::rename(&aside, &log).unwrap();
    let mut next = scene.another();
    next.client.doing = Doing::Turn;
    scene.send("later");
    scene.after(1_000);
    next.pass().unwrap();
    let track = format!("{:?}", scene.office.track(None, &id).unwrap().stages);
    assert!(track.contains("receipt: denied"), "{track}");
    let texts: Vec<&String> = next.client.given.iter().map(|(_, text)| text).collect();
    assert!(texts.len() == 1 && texts[0].contains("later") && !texts[0].contains("denied"), "{texts:?}");
}

/// A session may have two servers of ours: receipts come to the one that gave the frame.
#[test]
fn what_one_server_was_told_another_knows() {
    let mut scene = Scene::new();
    scene.send("may I?");
    scene.pass();
    let frame = scene.given()[0].0.clone();
    scene.pusher.client.receipts = vec![Receipt { frame, status: Status::Held, reason: None }];
    scene.pass();
    let mut other = scene.another();
    for _ in 0..3 {
        scene.after(100_000);
        other.pass().unwrap();
    }
    assert_eq!(other.client.given, [], "its user still decides");
    assert_eq!(scene.hook(HookMoment::Works), Vec::<String>::new());
}

#[test]
fn what_the_conversation_shows_of_a_server_that_ended_is_read_and_later_mail_is_the_hooks() {
    let mut scene = Scene::new();
    scene.pusher.client.doing = Doing::Turn;
    let id = scene.send("first");
    scene.pass();
    scene.send("second");
    scene.end_of_pusher();
    scene.shows(SESSION, &scene.given()[0].0.clone());
    scene.after(1_000);
    assert_eq!(scene.hook(HookMoment::Works), ["second"]);
    assert_eq!(scene.stage(&id), Stage::Seen);
}
