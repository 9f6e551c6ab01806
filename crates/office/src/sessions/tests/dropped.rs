//! What a hook said and its client dropped.

use std::time::Duration;

use atm_store::{Receipt, SessionNote};

use super::*;
use crate::mail::hook::Record;

/// A line of Codex's conversation in which its model answers, a second from now.
fn answer(office: &Office) -> String {
    let at = office.now().saturating_add(Duration::from_secs(1));
    let payload = json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Done." }] });
    format!("{}\n", json!({ "timestamp": at.to_string(), "type": "response_item", "payload": payload }))
}

fn stop(office: &Office, arrival: &Arrival<'_>) -> usize {
    taken(office, arrival, Moment::Stops { held_by: HeldBy::Wanted })
}

/// A prompt was taken back after its hook had said the mail. It counted as before the model, was marked with the next turn's end, and nobody
/// ever saw it.
#[test]
fn mail_that_a_client_dropped_is_told_again_once() {
    let scene = Scene::new();
    let (shop, conversation) = (scene.make("shop"), scene.make("codex").join(rollout()));
    let codex = codex(&shop, &conversation);
    scene.office.register_session(&codex).unwrap();
    let id = scene.send("shop", "the build is red");
    let unread = || scene.office.sessions().unwrap()[0].unread;
    let stage = || scene.office.track(Some(&team_name()), &id).unwrap().stage;
    assert_eq!(offered(&scene.office, &codex), 1);
    // The next prompt is answered, and what the first one's hook said is nowhere.
    assert_eq!(offered(&scene.office, &codex), 0);
    fs::write(&conversation, answer(&scene.office)).unwrap();
    assert_eq!(stop(&scene.office, &codex), 0);
    assert_eq!((unread(), stage() < Stage::Seen), (1, true));
    assert_eq!(offered(&scene.office, &codex), 1, "with the next prompt");
    // Where it is not found after that either, it is not told for ever.
    fs::write(&conversation, answer(&scene.office)).unwrap();
    assert_eq!(stop(&scene.office, &codex), 0);
    assert_eq!((unread(), stage() >= Stage::Seen), (0, true));
}

#[test]
fn mail_is_marked_where_it_stands_and_where_nothing_is_known() {
    // What the conversation's file has at the turn's end, if there is one.
    let texts: [fn(&Office, &str) -> Option<String>; 5] = [
        |office, id| Some(shown_by_codex(office, id) + &answer(office)),
        |office, id| Some(shown_by_codex(office, id)),
        |_, _| None,
        |_, _| Some(String::new()),
        // The client writes late: the last answer is an earlier turn's.
        |office, _| Some(answer(office).replace(&office.now().to_string()[..4], "2020")),
    ];
    for (case, text) in texts.into_iter().enumerate() {
        let scene = Scene::new();
        let (shop, conversation) = (scene.make("shop"), scene.make("codex").join(rollout()));
        let codex = codex(&shop, &conversation);
        scene.office.register_session(&codex).unwrap();
        let id = scene.send("shop", "the build is red");
        assert_eq!(offered(&scene.office, &codex), 1);
        if let Some(text) = text(&scene.office, &id) {
            fs::write(&conversation, text).unwrap();
        }
        assert_eq!(stop(&scene.office, &codex), 0);
        assert_eq!(scene.office.sessions().unwrap()[0].unread, 0, "{case}");
    }
}

/// A letter of another machine, whose clock is ahead, stood there and was told again.
#[test]
fn what_stands_there_by_its_id_may_have_been_sent_later() {
    let scene = Scene::new();
    let (shop, conversation) = (scene.make("shop"), scene.make("codex").join(rollout()));
    let codex = codex(&shop, &conversation);
    scene.office.register_session(&codex).unwrap();
    let id = scene.send("shop", "the build is red");
    assert_eq!(offered(&scene.office, &codex), 1);
    let late = scene.office.now().saturating_sub(Duration::from_secs(60)).to_string();
    let shown = shown_by_codex(&scene.office, &id);
    let at = scene.office.now().to_string();
    fs::write(&conversation, shown.replace(&at[..16], &late[..16]) + &answer(&scene.office)).unwrap();
    assert_eq!(stop(&scene.office, &codex), 0);
    assert_eq!(scene.office.sessions().unwrap()[0].unread, 0);
}

/// Notices are told in one line, without their ids: they were looked for in vain, and told again.
#[test]
fn what_is_said_without_a_heading_is_not_looked_for() {
    for (has_heading, unread) in [(false, 0), (true, 1)] {
        let scene = Scene::new();
        let (shop, conversation) = (scene.make("shop"), scene.make("codex").join(rollout()));
        let codex = codex(&shop, &conversation);
        scene.office.register_session(&codex).unwrap();
        let id = scene.send("shop", "the build is red");
        let handover = scene.office.hook_session(&codex, Moment::Works).unwrap().handover.unwrap();
        let heading = brief::heading("user", "", "12:17Z", &id);
        let said = if has_heading { heading } else { "- at work: user".to_owned() };
        let said = format!("{}Mail for you:\n{said}\n{}", brief::OPENING, brief::CLOSING);
        handover.said_as(&said).presented(&[true]).unwrap();
        fs::write(&conversation, answer(&scene.office)).unwrap();
        assert_eq!(stop(&scene.office, &codex), 0);
        assert_eq!(scene.office.sessions().unwrap()[0].unread, unread, "{said}");
    }
}

/// What the agent read by another front stayed in the note for ever.
#[test]
fn what_was_read_otherwise_is_forgotten() {
    let scene = Scene::new();
    let (shop, conversation) = (scene.make("shop"), scene.make("codex").join(rollout()));
    let codex = codex(&shop, &conversation);
    scene.office.register_session(&codex).unwrap();
    scene.send("shop", "the build is red");
    let name = scene.office.mailbox_of_folder(&shop).unwrap();
    let (team, mailbox) =
        (scene.office.team(&team_name()).unwrap(), scene.office.mailbox(&team_name(), &name));
    let stops = Moment::Stops { held_by: HeldBy::Any };
    team.hook(&name, THREAD, stops).unwrap().handover.unwrap().presented(&[true]).unwrap();
    let trusted = || {
        let note = SessionNote::of(&mailbox, THREAD, &scene.office.state);
        Record::read(&note).unwrap().unwrap().trusted.len()
    };
    assert_eq!(trusted(), 1);
    let listed = mailbox.list().unwrap().messages;
    mailbox.mark_read(&listed.iter().map(Receipt::of).collect()).unwrap();
    assert_eq!(stop(&scene.office, &codex), 0);
    assert_eq!(trusted(), 0);
}

/// Not every client keeps what it is told at a turn's end, or at a start.
#[test]
fn what_is_told_at_a_turns_end_or_at_a_start_is_not_looked_for() {
    for moment in
        [Moment::Stops { held_by: HeldBy::Any }, Moment::Begins { tells: true, remembers: Remembers::All }]
    {
        let scene = Scene::new();
        let (shop, conversation) = (scene.make("shop"), scene.make("codex").join(rollout()));
        let codex = codex(&shop, &conversation);
        scene.office.register_session(&codex).unwrap();
        scene.send("shop", "the build is red");
        let (team, mailbox) =
            (scene.office.team(&team_name()).unwrap(), scene.office.mailbox_of_folder(&shop).unwrap());
        team.hook(&mailbox, THREAD, moment).unwrap().handover.unwrap().presented(&[true]).unwrap();
        fs::write(&conversation, answer(&scene.office)).unwrap();
        assert_eq!(stop(&scene.office, &codex), 0, "{moment:?}");
        assert_eq!(scene.office.sessions().unwrap()[0].unread, 0, "{moment:?}");
    }
}
