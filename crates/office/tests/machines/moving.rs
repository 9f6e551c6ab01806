//! Members that move to another machine keep their mail.

use std::fs;

use atm_office::machines::{Home, Move, Stage, TakenIn};
use atm_office::mail::send::{Letter, SendOptions};
use atm_office::people::members::MemberPlan;
use atm_office::people::teams::TeamPlan;
use atm_wire::MachineName;
use serde_json::json;

use crate::world::{Machine, carry, introduce, name, reply, said, team};

/// Alice on the laptop, Bob and Carl on the desk, and a cloud with Eve.
fn three() -> (Machine, Machine, Machine) {
    let machines = (
        Machine::new("laptop", &["alice"]),
        Machine::new("desk", &["bob", "carl"]),
        Machine::new("cloud", &["eve"]),
    );
    introduce(&[&machines.0, &machines.1, &machines.2]);
    machines
}

/// What a bridge tells its office when bob has moved; whether that is done.
fn hear(machine: &Machine, home: &Machine, former: &[&Machine]) -> bool {
    let former: Vec<MachineName> = former.iter().map(|machine| machine.name.clone()).collect();
    let is_home = machine.name == home.name;
    let home = if is_home { Home::Here } else { Home::Machine(home.name.clone()) };
    let moved =
        Move { name: "bob", home, leaves: former.contains(&machine.name).then_some(None), former: &former };
    machine.office.machines().set_home(&team(), &moved).unwrap()
}

/// Bob is taken by one machine from another, and these hear of it, with their announcements.
fn moves(to: &Machine, from: &Machine, all: &[&Machine]) {
    to.office.machines().take_member(&team(), &name("bob")).unwrap();
    for machine in all {
        assert!(hear(machine, to, &[from]), "{}", machine.name);
    }
    introduce(all);
}

#[test]
fn what_nobody_has_taken_goes_to_the_new_home_in_order_and_what_was_taken_does_not() {
    let (laptop, desk, cloud) = three();
    let taken = laptop.send("alice", "bob", "taken before");
    carry(&[&laptop, &desk, &cloud]);
    desk.read("bob");
    carry(&[&laptop, &desk, &cloud]);
    let written = laptop.send("alice", "bob", "written at the old home");
    carry(&[&laptop, &desk, &cloud]);
    let waits = laptop.send("alice", "bob", "not carried yet");
    assert_eq!((laptop.stage(&taken.id), laptop.stage(&written.id)), (Stage::Seen, Stage::Written));
    moves(&cloud, &desk, &[&laptop, &desk, &cloud]);
    laptop.send("alice", "bob", "sent after");
    assert!(laptop.outgoing().iter().all(|letter| letter.machine == cloud.name));
    carry(&[&laptop, &desk, &cloud]);
    assert_eq!(cloud.texts("bob"), ["written at the old home", "not carried yet", "sent after"]);
    assert!(desk.inbox("bob").iter().all(|message| message.read), "{:?}", desk.texts("bob"));
    assert!(laptop.outgoing().is_empty());
    // Its receipts are those of the new home.
    cloud.read("bob");
    carry(&[&laptop, &desk, &cloud]);
    for id in [&written.id, &waits.id] {
        let track = laptop.office.track(Some(&team()), id).unwrap();
        assert_eq!(track.stage, Stage::Seen);
        let seen = track.stages.iter().find(|stage| stage.stage == Stage::Seen).unwrap();
        assert_eq!(seen.evidence.machine.as_deref(), Some("cloud"));
    }
}

#[test]
fn a_former_home_that_is_off_for_ever_keeps_nothing() {
    let (laptop, desk, cloud) = three();
    let sent = laptop.send("alice", "bob", "first");
    carry(&[&laptop, &desk]);
    laptop.send("alice", "bob", "second");
    // The desk hears of nothing.
    moves(&cloud, &desk, &[&laptop, &cloud]);
    carry(&[&laptop, &cloud]);
    assert_eq!(cloud.texts("bob"), ["first", "second"]);
    // Back for a moment: what it tells of its own file says nothing any more.
    laptop.send("alice", "bob", "third");
    desk.forget_cursor();
    laptop.confirm(&desk, &desk.receipts());
    assert_eq!(laptop.outgoing().len(), 1);
    // And hears of it after all.
    assert!(hear(&desk, &cloud, &[&desk]));
    assert!(desk.inbox("bob").is_empty());
    assert_eq!(laptop.stage(&sent.id), Stage::Written);
}

#[test]
fn what_the_former_home_tells_late_counts_if_it_was_taken_there() {
    let (laptop, desk, cloud) = three();
    let sent = laptop.send("alice", "bob", "read at the last moment");
    laptop.confirm(&desk, &said(&desk.take_from(&laptop)));
    desk.read("bob");
    let late = desk.receipts();
    moves(&cloud, &desk, &[&laptop, &cloud]);
    assert_eq!(laptop.outgoing().len(), 1);
    let written: Vec<_> = late.iter().filter(|receipt| receipt.stage == Stage::Written).cloned().collect();
    assert_eq!(laptop.confirm(&desk, &written), 0);
    assert_eq!(laptop.outgoing().len(), 1, "that it was in the former file is no news");
    laptop.confirm(&desk, &late);
    assert_eq!((laptop.stage(&sent.id), laptop.outgoing().len()), (Stage::Seen, 0));
}

#[test]
fn mail_of_the_old_home_itself_goes_with_its_member_also_what_clients_wrote() {
    let (laptop, desk, cloud) = three();
    desk.send("carl", "bob", "from next door");
    laptop.send("alice", "bob", "from the laptop");
    carry(&[&laptop, &desk, &cloud]);
    let mut entries: Vec<serde_json::Value> =
        serde_json::from_str(&fs::read_to_string(desk.file("inboxes/bob.json")).unwrap()).unwrap();
    entries.push(
        json!({ "from": "team-lead", "text": "by my own tool", "timestamp": "2026-11-15T18:42:20.463Z",
        "type": "message", "read": false }),
    );
    fs::write(desk.file("inboxes/bob.json"), serde_json::to_string(&entries).unwrap()).unwrap();
    moves(&cloud, &desk, &[&laptop, &desk, &cloud]);
    assert!(desk.inbox("bob").is_empty(), "{:?}", desk.texts("bob"));
    assert!(
        desk.config().contains("\"machine\": \"cloud\"") || desk.config().contains("\"machine\":\"cloud\"")
    );
    carry(&[&laptop, &desk, &cloud]);
    let mut texts = cloud.texts("bob");
    assert_eq!(
        texts.iter().position(|text| text == "from next door").unwrap() + 1,
        texts.iter().position(|text| text == "by my own tool").unwrap(),
        "{texts:?}"
    );
    texts.sort();
    assert_eq!(texts, ["by my own tool", "from next door", "from the laptop"]);
    // The old home refuses what comes for him.
    let late = laptop.send("alice", "bob", "late");
    let mut letter = laptop.outgoing().remove(0);
    assert_eq!((letter.id.as_str(), &letter.machine), (late.id.as_str(), &cloud.name));
    letter.machine = desk.name.clone();
    assert_eq!(desk.take_letter(&laptop, &letter), TakenIn::NotHome(Some(cloud.name.clone())));
}

#[test]
fn the_new_home_writes_its_own_letters_into_its_own_file() {
    let (laptop, desk, cloud) = three();
    cloud.send("eve", "bob", "one");
    carry(&[&laptop, &desk, &cloud]);
    let two = cloud.send("eve", "bob", "two");
    // Before he is a member there, nothing is done.
    assert!(!hear(&cloud, &cloud, &[&desk]));
    moves(&cloud, &desk, &[&laptop, &desk, &cloud]);
    assert_eq!(cloud.texts("bob"), ["one", "two"]);
    assert_eq!(cloud.stage(&two.id), Stage::Written);
    assert!(cloud.outgoing().is_empty());
    cloud.read("bob");
    assert_eq!(cloud.stage(&two.id), Stage::Seen);
}

#[test]
fn a_member_that_comes_back_finds_all_of_it_once() {
    let (laptop, desk, cloud) = three();
    let all = [&laptop, &desk, &cloud];
    let one = laptop.send("alice", "bob", "one");
    let two = desk.send("carl", "bob", "two");
    carry(&all);
    moves(&cloud, &desk, &all);
    carry(&all);
    assert_eq!(cloud.inbox("bob").len(), 2);
    laptop.send("alice", "bob", "three");
    moves(&desk, &cloud, &all);
    for _ in 0..2 {
        carry(&all);
    }
    let mut texts = desk.texts("bob");
    texts.sort();
    assert_eq!(texts, ["one", "three", "two"]);
    assert!(cloud.inbox("bob").is_empty());
    assert!(all.iter().all(|machine| machine.outgoing().is_empty()));
    desk.read("bob");
    carry(&all);
    assert_eq!((laptop.stage(&one.id), desk.stage(&two.id)), (Stage::Seen, Stage::Seen));
}

#[test]
fn a_recall_follows_its_message_to_the_new_home() {
    let (laptop, desk, cloud) = three();
    let sent = laptop.send("alice", "bob", "wrong");
    let own = cloud.send("eve", "bob", "wrong, too");
    carry(&[&laptop, &desk, &cloud]);
    laptop.office.recall(Some(&team()), &name("alice"), &sent.id).unwrap();
    cloud.office.recall(Some(&team()), &name("eve"), &own.id).unwrap();
    moves(&cloud, &desk, &[&laptop, &desk, &cloud]);
    carry(&[&laptop, &desk, &cloud]);
    assert_eq!(cloud.texts("bob"), Vec::<String>::new());
    assert_eq!((laptop.stage(&sent.id), cloud.stage(&own.id)), (Stage::Recalled, Stage::Recalled));
}

#[test]
fn a_name_that_was_held_twice_is_one_after_it_was_taken_over() {
    let (laptop, desk, cloud) = three();
    // A client on the cloud starts a member of that name.
    cloud.office.machines().set_members(&team(), &[]).unwrap();
    cloud.office.add_member(&team(), &MemberPlan::new("bob")).unwrap();
    introduce(&[&laptop, &desk, &cloud]);
    let members = cloud.office.members(&team()).unwrap();
    let said = |name: &str| members.iter().find(|member| member.name == name).unwrap().warnings.clone();
    assert_eq!(said("bob"), ["machine desk has a member of this name, too: bob.desk here"]);
    assert!(said("team-lead").is_empty() && said("eve").is_empty());
    laptop.send("alice", "bob.desk", "to the desk's");
    carry(&[&laptop, &desk, &cloud]);
    laptop.send("alice", "bob.desk", "on its way");
    laptop.send("alice", "bob.cloud", "to the cloud's");
    // Who only has the name does not leave when somebody else moves.
    let stays = Move { name: "bob", home: Home::Machine(desk.name.clone()), former: &[], leaves: None };
    assert!(cloud.office.machines().set_home(&team(), &stays).unwrap());
    assert_eq!(cloud.office.machines().home(&team(), "bob").unwrap(), Home::Here);
    moves(&cloud, &desk, &[&laptop, &desk, &cloud]);
    carry(&[&laptop, &desk, &cloud]);
    let mut texts = cloud.texts("bob");
    texts.sort();
    assert_eq!(texts, ["on its way", "to the cloud's", "to the desk's"]);
    assert!(laptop.outgoing().is_empty());
    let members = laptop.office.members(&team()).unwrap();
    assert!(members.iter().any(|member| member.name == "bob" && member.machine.as_deref() == Some("cloud")));
}

/// A broadcast was for the member, and for another one of its name on the machine that took it over later: the letter to that one
/// stood before all that was sent on.
#[test]
fn mail_for_the_name_on_its_new_home_keeps_its_place_among_the_others() {
    let (laptop, desk, cloud) = three();
    let all = [&laptop, &desk, &cloud];
    laptop.send("alice", "bob", "one");
    carry(&all);
    cloud.office.machines().set_members(&team(), &[]).unwrap();
    cloud.office.add_member(&team(), &MemberPlan::new("bob")).unwrap();
    cloud.others.lock().unwrap().push("bob".to_owned());
    introduce(&all);
    laptop.send("alice", "bob.cloud", "two");
    laptop.send("alice", "bob.desk", "three");
    cloud.others.lock().unwrap().clear();
    moves(&cloud, &desk, &all);
    carry(&all);
    assert_eq!(cloud.texts("bob"), ["one", "two", "three"]);
    assert!(laptop.outgoing().is_empty());
}

/// A take that failed left two entries of one member for a moment.
#[test]
fn a_broadcast_reaches_a_member_once_that_two_entries_mean() {
    let (laptop, desk, cloud) = three();
    laptop.office.machines().set_members(&team(), &[]).unwrap();
    laptop.office.add_member(&team(), &MemberPlan::new("bob")).unwrap();
    introduce(&[&laptop, &desk, &cloud]);
    laptop
        .office
        .machines()
        .give_back(&team(), &name("bob"), Some(&Home::Machine(desk.name.clone())))
        .unwrap();
    let config = laptop.config();
    assert!(config.contains("\"bob\"") && config.contains("\"bob.desk\""), "{config}");
    let letter = Letter::new("bob".parse().unwrap(), "to all");
    let options = SendOptions::default();
    laptop.office.broadcast(&team(), &name("alice"), &letter, None, options).unwrap();
    carry(&[&laptop, &desk, &cloud]);
    assert_eq!(desk.texts("bob"), ["to all"]);
}

/// They waited for the former home for ever, and nothing showed it.
#[test]
fn letters_to_a_member_that_has_the_name_of_the_lead_here_follow_it_too() {
    let laptop = Machine::led_by("bob", "laptop", &["alice"]);
    let (desk, cloud) = (Machine::new("desk", &["bob"]), Machine::new("cloud", &["eve"]));
    let all = [&laptop, &desk, &cloud];
    introduce(&all);
    laptop.send("alice", "bob.desk", "one");
    carry(&all);
    let two = laptop.send("alice", "bob.desk", "two");
    moves(&cloud, &desk, &all);
    laptop.send("alice", "bob.cloud", "three");
    carry(&all);
    assert_eq!(cloud.texts("bob"), ["one", "two", "three"]);
    assert_eq!(laptop.stage(&two.id), Stage::Written);
    assert!(laptop.outgoing().is_empty());
    assert!(laptop.texts("bob").is_empty(), "its own lead has none of it");
}

#[test]
fn the_lead_is_told_once_that_a_name_is_held_elsewhere() {
    let (laptop, desk, _cloud) = three();
    laptop.office.machines().set_members(&team(), &[]).unwrap();
    laptop.office.add_member(&team(), &MemberPlan::new("bob")).unwrap();
    for _ in 0..3 {
        let machines = laptop.office.machines();
        machines.tell_refused(&team(), &name("bob"), (&desk.name, 1, &laptop.name)).unwrap();
    }
    let texts = laptop.texts("team-lead");
    assert_eq!(texts.len(), 1);
    assert!(
        texts[0].contains("atm bridge take bob --team demo") && texts[0].contains("bob.laptop"),
        "{texts:?}"
    );
}

#[test]
fn a_member_that_returns_has_the_entry_that_it_left() {
    let (laptop, desk, cloud) = three();
    let change = atm_office::people::members::MemberChange {
        prompt: Some("mind the build".into()),
        ..Default::default()
    };
    desk.office.set_member(&team(), &name("bob"), &change).unwrap();
    moves(&cloud, &desk, &[&laptop, &desk, &cloud]);
    assert!(!desk.config().contains("mind the build"));
    moves(&desk, &cloud, &[&laptop, &desk, &cloud]);
    assert!(desk.config().contains("mind the build"));
}

#[test]
fn mail_of_another_team_follows_and_is_answered_from_the_new_home() {
    let (laptop, desk, cloud) = three();
    let ops = laptop.office.create_team(&TeamPlan::new("ops", "another team")).unwrap();
    laptop.office.add_member(&ops, &MemberPlan::new("eve")).unwrap();
    let write = |text: &str| {
        let letter = Letter::new("bob@demo".parse().unwrap(), text);
        laptop.office.send(&ops, &name("eve"), &letter, SendOptions::default()).unwrap()
    };
    let first = write("written at the old home");
    carry(&[&laptop, &desk, &cloud]);
    write("not carried yet");
    moves(&cloud, &desk, &[&laptop, &desk, &cloud]);
    carry(&[&laptop, &desk, &cloud]);
    assert_eq!(cloud.texts("bob"), ["written at the old home", "not carried yet"]);
    assert!(cloud.inbox("bob").iter().all(|mail| mail.from == "eve.ops.laptop"));
    reply(&cloud, "bob", &first.id, "from the new home");
    carry(&[&laptop, &desk, &cloud]);
    assert_eq!(laptop.mail_in(&ops, "eve")[0].text, "from the new home");
    assert_eq!(laptop.stage(&first.id), Stage::Done);
    // To the sender's own machine: it is mail between two of its teams.
    write("unread");
    carry(&[&laptop, &desk, &cloud]);
    moves(&laptop, &cloud, &[&laptop, &desk, &cloud]);
    let mail = laptop.inbox("bob").pop().unwrap();
    assert_eq!((mail.from.as_str(), mail.text.as_str()), ("eve", "unread"));
    assert_eq!(mail.ours().origin.as_deref(), Some("ops"));
}

/// Two members had one name, and the mail of one was given to the other.
#[test]
fn mail_for_another_member_of_the_name_is_not_sent_on_with_the_one_that_moves() {
    let (laptop, desk, cloud) = three();
    let all = [&laptop, &desk, &cloud];
    moves(&cloud, &desk, &all);
    // Later a client on the desk starts another member of that name: it is refused the name, and is bob.desk elsewhere.
    desk.office.machines().set_members(&team(), &[]).unwrap();
    desk.office.add_member(&team(), &MemberPlan::new("bob")).unwrap();
    desk.others.lock().unwrap().push("bob".to_owned());
    introduce(&all);
    laptop.send("alice", "bob.desk", "for the desk's own bob");
    let to_cloud = laptop.send("alice", "bob.cloud", "for the first bob");
    // The first bob moves on, to the laptop; it was on the desk long ago.
    laptop.office.machines().take_member(&team(), &name("bob")).unwrap();
    assert!(hear(&laptop, &laptop, &[&desk, &cloud]));
    introduce(&all);
    carry(&all);
    assert_eq!(
        (laptop.texts("bob"), desk.texts("bob")),
        (vec!["for the first bob".to_owned()], vec!["for the desk's own bob".to_owned()])
    );
    assert_eq!(laptop.stage(&to_cloud.id), Stage::Written);
}

/// A letter that was in the file during an earlier stay, and left it, is not told of as if it were there.
#[test]
fn a_home_tells_of_its_file_as_it_is_since_the_member_is_back() {
    let (laptop, desk, cloud) = three();
    let all = [&laptop, &desk, &cloud];
    let sent = laptop.send("alice", "bob", "first");
    carry(&all);
    let told = |machine: &Machine| {
        machine.forget_cursor();
        let receipts = machine.receipts().into_iter().filter(|receipt| receipt.id == sent.id);
        receipts.map(|receipt| (receipt.stage, receipt.at)).collect::<Vec<_>>()
    };
    let before = told(&desk);
    assert_eq!(before.iter().map(|(stage, _)| *stage).collect::<Vec<_>>(), [Stage::Written]);
    moves(&cloud, &desk, &all);
    assert!(told(&desk).is_empty(), "it is not there any more: {:?}", told(&desk));
    carry(&all);
    moves(&desk, &cloud, &all);
    assert!(told(&desk).is_empty(), "it is not there yet: {:?}", told(&desk));
    carry(&all);
    let after = told(&desk);
    assert_eq!(after.iter().map(|(stage, _)| *stage).collect::<Vec<_>>(), [Stage::Written]);
    assert_ne!(before, after);
    desk.read("bob");
    carry(&all);
    assert_eq!(laptop.stage(&sent.id), Stage::Seen);
}

/// It was shown as written, with the evidence of a file that does not have it any more.
#[test]
fn a_letter_that_was_sent_on_and_is_in_no_file_is_accepted_again() {
    let (laptop, desk, cloud) = three();
    let sent = laptop.send("alice", "bob", "first");
    let own = desk.send("carl", "bob", "from next door");
    carry(&[&laptop, &desk, &cloud]);
    assert_eq!((laptop.stage(&sent.id), desk.stage(&own.id)), (Stage::Written, Stage::Written));
    // The cloud does not take it in yet.
    moves(&cloud, &desk, &[&laptop, &desk, &cloud]);
    assert_eq!((laptop.stage(&sent.id), desk.stage(&own.id)), (Stage::Accepted, Stage::Accepted));
    let stages = laptop.office.track(Some(&team()), &sent.id).unwrap().stages;
    assert!(stages.iter().any(|stage| stage.stage == Stage::Written), "what was told stays on record");
    carry(&[&laptop, &desk, &cloud]);
    assert_eq!((laptop.stage(&sent.id), desk.stage(&own.id)), (Stage::Written, Stage::Written));
    // Of what others had sent, its former home says no more than it knew: they ask its new one.
    let pending = desk.office.pending(&team()).unwrap();
    assert!(pending.iter().all(|waiting| waiting.message.id != sent.id), "{pending:?}");
}

#[test]
fn what_an_old_client_wrote_is_unread_when_its_member_is_back() {
    let (laptop, desk, cloud) = three();
    let all = [&laptop, &desk, &cloud];
    fs::write(
        desk.file("inboxes/bob.json"),
        r#"[{"from":"carl","text":"old words","timestamp":"2026-11-15T18:42:20.463Z","messageId":"native-7","read":false}]"#,
    )
    .unwrap();
    moves(&cloud, &desk, &all);
    carry(&all);
    assert_eq!(cloud.texts("bob"), ["old words"]);
    moves(&desk, &cloud, &all);
    carry(&all);
    carry(&all);
    let unread: Vec<String> =
        desk.inbox("bob").into_iter().filter(|message| !message.read).map(|message| message.text).collect();
    assert_eq!(
        (cloud.texts("bob"), unread),
        (Vec::<String>::new(), vec!["old words".to_owned()]),
        "{:?}",
        desk.inbox("bob")
    );
}

#[test]
fn what_an_old_client_wrote_for_a_remote_member_is_unread_when_that_one_comes_here() {
    let (laptop, desk, cloud) = three();
    let all = [&laptop, &desk, &cloud];
    fs::write(
        laptop.file("inboxes/bob.json"),
        r#"[{"from":"alice","text":"old words","timestamp":"2026-11-15T18:42:20.463Z","messageId":"native-7","read":false}]"#,
    )
    .unwrap();
    laptop.office.machines().collect(&team()).unwrap();
    moves(&laptop, &desk, &all);
    carry(&all);
    let unread: Vec<String> =
        laptop.inbox("bob").into_iter().filter(|message| !message.read).map(|message| message.text).collect();
    assert_eq!(unread, ["old words"], "{:?}", laptop.inbox("bob"));
}

/// What had been taken out stood there still, as read, and was not written again beside that.
#[test]
fn in_the_log_layout_a_member_that_comes_back_finds_its_unread_mail() {
    let (laptop, desk, cloud) = three();
    let all = [&laptop, &desk, &cloud];
    fs::remove_dir_all(desk.file("inboxes")).unwrap();
    for name in ["bob", "carl", "team-lead"] {
        fs::create_dir_all(desk.file(&format!("members/{name}"))).unwrap();
        fs::write(desk.file(&format!("members/{name}/inbox")), "").unwrap();
    }
    laptop.send("alice", "bob", "one");
    carry(&all);
    assert!(fs::read_to_string(desk.file("members/bob/inbox")).unwrap().contains("\"one\""));
    moves(&cloud, &desk, &all);
    carry(&all);
    assert_eq!(cloud.texts("bob"), ["one"]);
    moves(&desk, &cloud, &all);
    carry(&all);
    carry(&all);
    let unread = desk.inbox("bob").into_iter().filter(|message| !message.read);
    let unread: Vec<String> = unread.map(|message| message.text).collect();
    assert_eq!((cloud.texts("bob"), unread), (Vec::new(), vec!["one".to_owned()]));
}
