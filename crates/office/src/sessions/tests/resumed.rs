//! What a conversation is told that is taken up again.

use atm_store::SessionNote;

use super::*;
use crate::mail::hook::{FORGOTTEN_AFTER, Record};

/// Mail of a turn that was broken off: what stands in the conversation and is before the model again was told again, and the model
/// had it twice.
#[test]
fn a_conversation_that_is_taken_up_again_is_told_what_it_does_not_have() {
    use Remembers::{All, Nothing, Turns};
    // Whether the killed client had written what it was told, whether that was when the conversation began, and what its model has of
    // the conversation again.
    for (is_written, at_start, remembers, told_again) in [
        (true, false, All, 0),
        (true, false, Turns, 0),
        (true, false, Nothing, 1),
        (true, true, All, 0),
        (true, true, Turns, 1),
        (true, true, Nothing, 1),
        (false, false, All, 1),
        (false, false, Turns, 1),
        (false, true, All, 1),
        (false, false, Nothing, 1),
    ] {
        for (tells, has_socket) in [(true, false), (false, false), (true, true)] {
            let case = format!("{is_written} {at_start} {remembers:?} {tells} {has_socket}");
            let scene = Scene::new();
            let (shop, conversation) = (scene.make("shop"), scene.make("codex").join(rollout()));
            let codex = codex(&shop, &conversation);
            scene.office.register_session(&codex).unwrap();
            let id = scene.send("shop", "the build is red");
            if at_start {
                let (team, mailbox) = (
                    scene.office.team(&team_name()).unwrap(),
                    scene.office.mailbox_of_folder(&shop).unwrap(),
                );
                let begins = Moment::Begins { tells: true, remembers: Nothing };
                team.hook(&mailbox, THREAD, begins).unwrap().handover.unwrap().presented(&[true]).unwrap();
            }
            assert_eq!(offered(&scene.office, &codex), usize::from(!at_start), "{case}");
            if is_written {
                fs::write(&conversation, shown_by_codex(&scene.office, &id)).unwrap();
            }
            // It was killed. The same conversation begins again; its client names a file at first that it does not write.
            let begins = Moment::Begins { tells, remembers };
            let elsewhere = conversation.with_file_name("later").join(rollout());
            let again = Arrival { begins: true, has_socket, transcript: Some(&elsewhere), ..codex };
            let mut told = taken(&scene.office, &again, begins);
            told += taken(&scene.office, &codex, Moment::Works);
            assert_eq!(told, told_again, "{case}");
            // And it is marked with the turn that it was in.
            scene.office.hook_session(&codex, Moment::Stops { held_by: HeldBy::Wanted }).unwrap();
            let view = scene.office.sessions().unwrap();
            assert_eq!(view[0].unread, 0, "{case}");
        }
    }
}

/// It was told once, when the conversation began; the client took the conversation up, was told again and was killed before that was
/// written. Its place from the first time counted as one of the second, and the model never had it again.
#[test]
fn a_place_in_a_conversation_proves_nothing_for_what_is_told_after_it() {
    let scene = Scene::new();
    let (shop, conversation) = (scene.make("shop"), scene.make("codex").join(rollout()));
    let codex = codex(&shop, &conversation);
    scene.office.register_session(&codex).unwrap();
    let id = scene.send("shop", "the build is red");
    let (team, mailbox) =
        (scene.office.team(&team_name()).unwrap(), scene.office.mailbox_of_folder(&shop).unwrap());
    let begins = Moment::Begins { tells: true, remembers: Remembers::Turns };
    team.hook(&mailbox, THREAD, begins).unwrap().handover.unwrap().presented(&[true]).unwrap();
    fs::write(&conversation, shown_by_codex(&scene.office, &id)).unwrap();
    let again = Arrival { begins: true, ..codex };
    for kill in 1..=3 {
        assert_eq!(
            taken(&scene.office, &again, Moment::Begins { tells: false, remembers: Remembers::Turns }),
            0
        );
        assert_eq!(taken(&scene.office, &codex, Moment::Works), 1, "after kill {kill}");
    }
    // With the turn's end it is read, and the note of the conversation is as short as before.
    scene.office.hook_session(&codex, Moment::Stops { held_by: HeldBy::Wanted }).unwrap();
    let note = SessionNote::of(&scene.office.mailbox(&team_name(), &mailbox), THREAD, &scene.office.state);
    let record = Record::read(&note).unwrap().unwrap();
    assert_eq!((record.presented, record.told_at_start, record.told_before), (vec![], vec![], vec![]));
}

/// It was told in one conversation, and again in the next; that it stands in the next was looked for among the first places of mail
/// alone, and it was told twice there.
#[test]
fn a_conversation_has_what_stands_in_it_also_if_an_earlier_one_had_it_first() {
    for (is_written, told_again) in [(true, 0), (false, 1)] {
        let scene = Scene::new();
        let (shop, chats) = (scene.make("shop"), scene.make("codex"));
        let later = THREAD.replace("01a1", "02b2");
        let (one, two) = (chats.join(rollout()), chats.join(rollout().replace(THREAD, &later)));
        let first = codex(&shop, &one);
        scene.office.register_session(&first).unwrap();
        let id = scene.send("shop", "the build is red");
        assert_eq!(offered(&scene.office, &first), 1);
        fs::write(&one, shown_by_codex(&scene.office, &id)).unwrap();
        assert!(scene.office.track(Some(&team_name()), &id).unwrap().stage >= Stage::Seen);
        // Its turn was broken off, and its process has another conversation.
        let second = Arrival { session: &later, ..codex(&shop, &two) };
        scene.office.end_session(THREAD).unwrap();
        scene.office.register_session(&Arrival { begins: true, ..second }).unwrap();
        assert_eq!(offered(&scene.office, &second), 1);
        let text = if is_written { shown_by_codex(&scene.office, &id) } else { String::new() };
        fs::write(&two, text).unwrap();
        let begins = Moment::Begins { tells: true, remembers: Remembers::All };
        let mut told = taken(&scene.office, &Arrival { begins: true, ..second }, begins);
        told += offered(&scene.office, &second);
        assert_eq!(told, told_again, "{is_written}");
    }
}

/// Of a session that was killed, what was noted stayed for ever where mail is told in turns alone.
#[test]
fn the_notes_of_killed_sessions_go_with_the_next_start() {
    let ways: [fn(&Scene, &Arrival<'_>); 2] = [
        |scene, arrival| {
            let begins = Moment::Begins { tells: false, remembers: Remembers::All };
            assert_eq!(taken(&scene.office, arrival, begins), 0);
        },
        |scene, arrival| {
            let mailbox = scene.office.mailbox_of_folder(arrival.cwd).unwrap();
            let team = scene.office.team(&team_name()).unwrap();
            team.leave_to_push(&mailbox, arrival.session, Remembers::All).unwrap();
        },
    ];
    for begin in ways {
        let scene = Scene::new();
        let shop = scene.make("shop");
        let (killed, next) = (arrival(ONE, &shop, 11), arrival(TWO, &shop, 12));
        scene.office.register_session(&killed).unwrap();
        scene.send("shop", "the build is red");
        assert_eq!(offered(&scene.office, &killed), 1);
        let mailbox = scene.office.mailbox(&team_name(), &scene.office.mailbox_of_folder(&shop).unwrap());
        let notes = || SessionNote::all_of(&mailbox, &scene.office.state);
        assert_eq!(notes().len(), 1);
        let long_ago = std::time::SystemTime::now() - FORGOTTEN_AFTER - std::time::Duration::from_secs(60);
        let note = SessionNote::of(&mailbox, ONE, &scene.office.state);
        fs::File::open(note.path()).unwrap().set_modified(long_ago).unwrap();
        scene.office.register_session(&next).unwrap();
        begin(&scene, &Arrival { begins: true, ..next });
        assert_eq!(notes().len(), 0);
    }
}
