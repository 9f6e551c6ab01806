//! `atm reply`

use insta::assert_snapshot;

use crate::scene::{World, texts};

/// Alice has two messages whose ids begin alike and end differently.
fn world() -> World {
    let world = World::with_team();
    let batch = r#"
        {"to": "alice", "text": "tea?", "id": "0123-4567-aaaaaaaa"}
        {"to": "alice", "text": "cake?", "id": "0123-4567-bbbbbbbb"}
    "#;
    assert_eq!(world.pipe(&["--as", "bob", "send", "--batch"], batch).code, Some(0));
    world
}

#[test]
fn a_message_is_found_by_its_id_or_by_a_part_that_fits_no_other() {
    let world = world();
    let session = world.session(
        "
        atm --as alice reply 0123-4567-aaaaaaaa 'yes, tea'
        atm --as alice reply bbbbbb 'no cake'
        atm --as alice reply 0123-4567-b 'not even a little'
        ",
    );
    assert_snapshot!(session, @"
    $ atm --as alice reply 0123-4567-aaaaaaaa 'yes, tea'
    delivered for bob@dev, id [ID]
    $ atm --as alice reply bbbbbb 'no cake'
    delivered for bob@dev, id [ID]
    $ atm --as alice reply 0123-4567-b 'not even a little'
    delivered for bob@dev, id [ID]
    ");
    let mail = world.json(&["inbox", "bob"]);
    assert_eq!(texts(&mail), ["yes, tea", "no cake", "not even a little"]);
    let answered = |at: usize| mail[at]["extra"]["metadata"]["atm"]["reply_to"].as_str().unwrap().to_owned();
    let (tea, cake) = ("0123-4567-aaaaaaaa", "0123-4567-bbbbbbbb");
    assert_eq!([answered(0), answered(1), answered(2)], [tea, cake, cake]);
}

#[test]
fn a_part_that_fits_two_messages_or_none_answers_nobody() {
    let world = world();
    let session = world.session(
        "
        atm --as alice reply 0123-4567 'to whom?'
        atm --as alice reply 9876-5432 'to nobody'
        atm --as alice reply bbbbb 'five characters are too few'
        atm --as bob reply 0123-4567-aaaaaaaa 'not in my inbox'
        atm --as alice reply '' 'to nobody'
        atm --as alice reply 0123-4567-aaaaaaaa
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm --as alice reply 0123-4567 'to whom?'
    2> error: "0123-4567" fits 2 messages' ids
    2>   hint: one of: 0123-4567-aaaaaaaa, 0123-4567-bbbbbbbb
    [exit 3]
    $ atm --as alice reply 9876-5432 'to nobody'
    2> error: alice has no message "9876-5432" in team dev
    2>   hint: `atm inbox alice` shows the ids
    [exit 3]
    $ atm --as alice reply bbbbb 'five characters are too few'
    2> error: alice has no message "bbbbb" in team dev
    2>   hint: `atm inbox alice` shows the ids
    [exit 3]
    $ atm --as bob reply 0123-4567-aaaaaaaa 'not in my inbox'
    2> error: bob has no message "0123-4567-aaaaaaaa" in team dev
    2>   hint: `atm inbox bob` shows the ids
    [exit 3]
    $ atm --as alice reply '' 'to nobody'
    2> error: alice has no message "" in team dev
    2>   hint: `atm inbox alice` shows the ids
    [exit 3]
    $ atm --as alice reply 0123-4567-aaaaaaaa
    2> error: there is no text to send
    2>   hint: give the text as an argument, `-` for stdin, or --file FILE
    [exit 2]
    "#);
    assert!(texts(&world.json(&["inbox", "bob"])).is_empty());
}

#[test]
fn the_person_at_the_keyboard_can_be_answered() {
    let world = World::with_team();
    world.ok(&["send", "alice", "how far are you?"]);
    let id = world.json(&["inbox", "alice"])[0]["id"].as_str().unwrap().to_owned();
    world.ok(&["--as", "alice", "reply", &id, "nearly done"]);
    let session = world.session(
        "
        atm --as user read
        atm --as alice reply ID-of-nothing hello
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm --as user read
    alice → user  just now  [ID]
      nearly done
    $ atm --as alice reply ID-of-nothing hello
    2> error: alice has no message "ID-of-nothing" in team dev
    2>   hint: `atm inbox alice` shows the ids
    [exit 3]
    "#);
}

#[test]
fn a_thread_keeps_its_first_message() {
    let world = world();
    world.ok(&["--as", "alice", "reply", "0123-4567-aaaaaaaa", "yes"]);
    let id = world.json(&["inbox", "bob"])[0]["id"].as_str().unwrap().to_owned();
    world.ok(&["--as", "bob", "reply", &id, "milk?"]);
    let mail = world.json(&["inbox", "alice"]);
    let ours = &mail[2]["extra"]["metadata"]["atm"];
    assert_eq!(
        (ours["thread"].as_str(), ours["reply_to"].as_str()),
        (Some("0123-4567-aaaaaaaa"), Some(&*id))
    );
}

/// The person at the keyboard is `user`: what is answered is found without a name.
#[test]
fn an_answer_to_the_user_is_read_without_a_name() {
    let world = World::with_team();
    let id = world.json(&["send", "bob", "how far are you?"])["id"].as_str().unwrap().to_owned();
    world.ok(&["--as", "bob", "reply", &id, "half way"]);
    assert_eq!(texts(&world.json(&["inbox"])), ["half way"]);
    assert_eq!(texts(&world.json(&["read"])), ["half way"]);
    assert_eq!(world.json(&["read"]), serde_json::json!([]));
    assert_eq!(world.json(&["reply", "last", "thanks"])["to"], "bob");
}
