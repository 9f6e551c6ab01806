//! What becomes of frames that their client shows late, never, or cannot be given: each letter is shown once, and nobody is told that
//! it was not when it was.

use super::*;
use crate::mail::recall::WhyKept;

const CLEARED: &str = "77aa88bb-1111-4a9e-9d0f-1f2e3d4c5b6a";

fn recalled(scene: &Scene, id: &str) -> Result<Stage, Option<WhyKept>> {
    let recalled = scene.office.recall(Some(&sessions::team_name()), &"user".parse().unwrap(), id);
    match recalled {
        Ok(recalled) => Ok(recalled.stage),
        Err(OfficeError::NotRecallable { why, .. }) => Err(Some(why)),
        Err(_) => Err(None),
    }
}

/// What was in a frame on its way was taken back, with exit code 0, and shown all the same.
#[test]
fn what_a_client_may_show_at_any_moment_is_not_taken_back() {
    let mut scene = Scene::new();
    let id = scene.send("secret");
    scene.pass();
    assert_eq!(scene.given().len(), 1);
    assert_eq!(recalled(&scene, &id), Err(Some(WhyKept::Pushed)));
    scene.shows(SESSION, &scene.given()[0].0.clone());
    scene.pass();
    assert_eq!(scene.stage(&id), Stage::Seen);
    assert_eq!(recalled(&scene, &id), Err(Some(WhyKept::Seen)));
    // A client that has ended shows nothing any more.
    let mut scene = Scene::new();
    let id = scene.send("secret");
    scene.pass();
    let mut record = Record::read(&scene.note()).unwrap().unwrap();
    record.pushed[0].client = Some((u64::from(u32::MAX), "1".into()));
    record.write(&scene.note()).unwrap();
    assert_eq!(recalled(&scene, &id), Ok(Stage::Recalled));
    scene.pass();
    assert_eq!(scene.given().len(), 1);
}

/// A model wrote one long answer, which ended the turn: what came at its start was called lost before the client could show it, and
/// shown twice.
#[test]
fn what_came_during_a_long_answer_is_not_lost_when_that_ends() {
    let mut scene = Scene::new();
    scene.pusher.client.doing = Doing::Turn;
    scene.send("while it writes");
    scene.pass();
    scene.looks_for(90_000);
    scene.pusher.client.doing = Doing::Nothing;
    scene.pusher.client.since = Some(scene.clock.now().as_millis());
    scene.looks_for(29_000);
    assert_eq!(scene.given().len(), 1, "it is about to be shown");
    scene.looks_for(1_000);
    assert_eq!(scene.given().len(), 2, "nobody showed it");
}

/// A slash command in a long tool makes a session look idle for a moment, and a turn may begin and end between two looks.
#[test]
fn a_session_that_looks_idle_for_a_moment_has_lost_nothing() {
    let mut scene = Scene::new();
    scene.pusher.client.doing = Doing::Turn;
    scene.send("while a tool runs");
    scene.pass();
    scene.looks_for(60_000);
    scene.pusher.client.doing = Doing::Nothing;
    scene.looks_for(2_000);
    scene.pusher.client.doing = Doing::Turn;
    scene.looks_for(60_000);
    assert_eq!(scene.given().len(), 1);
    scene.pusher.client.doing = Doing::Nothing;
    for _ in 0..10 {
        scene.pusher.client.since = Some(scene.clock.now().as_millis());
        scene.looks_for(20_000);
    }
    assert_eq!(scene.given().len(), 1, "turns that nobody saw");
}

/// The clock of a machine that slept goes on, and no client showed anything meanwhile.
#[test]
fn time_in_which_nobody_looked_does_not_count() {
    let mut scene = Scene::new();
    scene.pusher.client.since = Some(NOON);
    scene.send("before the lid was closed");
    scene.pass();
    scene.after(8 * 3_600_000);
    scene.pass();
    scene.looks_for(29_000);
    assert_eq!(scene.given().len(), 1);
    scene.looks_for(2_000);
    assert_eq!(scene.given().len(), 2);
}

/// `/clear` within a second after a frame was shown: nobody had looked, and its letters came again.
#[test]
fn what_a_conversation_showed_at_its_end_does_not_come_again_in_the_next_one() {
    for by_hook in [false, true] {
        let mut scene = Scene::new();
        let ids = [scene.send("shown"), scene.send("not shown")];
        scene.pusher.budget = 250;
        scene.pass();
        let (frame, text) = scene.given()[0].clone();
        assert!(text.contains("] shown") && !text.contains("] not shown"), "{text}");
        scene.shows(SESSION, &frame);
        if by_hook {
            scene.hook(HookMoment::Ends);
        }
        let shop = scene.folder.path().join("shop");
        scene.office.register_session(&arrival(&shop, CLEARED)).unwrap();
        scene.pusher.client.session = Some(CLEARED.to_owned());
        scene.looks_for(2_000);
        let texts: Vec<String> = scene.given()[1..].iter().map(|(_, text)| text.clone()).collect();
        assert!(texts.len() == 1 && texts[0].contains("] not shown"), "{by_hook}: {texts:?}");
        assert_eq!(scene.stage(&ids[0]), Stage::Seen);
        assert!(scene.stage(&ids[1]) < Stage::Seen);
    }
}

/// A client that lives without its socket was tried every two seconds, with two events each time.
#[test]
fn a_client_that_cannot_be_given_anything_is_left_to_its_hooks() {
    let mut scene = Scene::new();
    scene.pusher.client.refuses = true;
    let id = scene.send("by the hook, then");
    scene.looks_for(3_600_000);
    let tried = scene.words(&id).matches("put into frame").count();
    assert_eq!(tried, usize::try_from(crate::mail::push::channel::MOST_LOST).unwrap());
    assert_eq!(scene.hook(HookMoment::Works), ["by the hook, then"]);
    // It listens again, and is found out some time.
    scene.pusher.client.refuses = false;
    scene.send("and this one is pushed");
    scene.looks_for(10_000);
    assert_eq!(scene.given().len(), 1);
}

/// Of two words that came between two looks only the last was recorded, and why, never.
#[test]
fn all_that_a_client_says_of_a_frame_is_evidence() {
    let mut scene = Scene::new();
    let id = scene.send("may I?");
    scene.pass();
    let frame = scene.given()[0].0.clone();
    let said = |status, reason: Option<&str>| Receipt {
        frame: frame.clone(),
        status,
        reason: reason.map(ToOwned::to_owned),
    };
    scene.pusher.client.receipts = vec![said(Status::Held, None), said(Status::Denied, Some("not today"))];
    scene.pass();
    let words = scene.words(&id);
    assert!(words.contains("receipt: held") && words.contains("receipt: denied, not today"), "{words}");
    let mut scene = Scene::new();
    let id = scene.send("to a session that takes none");
    scene.pass();
    let frame = scene.given()[0].0.clone();
    let reason = Some("refused".to_owned());
    scene.pusher.client.receipts = vec![Receipt { frame, status: Status::Expired, reason }];
    scene.pass();
    let words = scene.words(&id);
    assert!(words.contains("the session takes no frames (its receipt: expired, refused)"), "{words}");
    assert_eq!(scene.hook(HookMoment::Works), ["to a session that takes none"]);
}
