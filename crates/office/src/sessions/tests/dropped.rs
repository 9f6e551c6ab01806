//! What a hook said and its client dropped.

use std::time::Duration;

use super::*;

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
