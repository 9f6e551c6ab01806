//! What the list of tools costs, and for whom it shows what.

use std::path::Path;
use std::time::Duration;

use atm_office::Office;
use atm_office::people::members::MemberPlan;
use atm_office::people::teams::TeamPlan;
use atm_store::{Root, State};
use atm_support::TestEnv;
use serde_json::{Value, json};

use super::*;
use crate::page::BUDGET;
use crate::settings::{Settings, Spawning};

/// In bytes of JSON: every conversation pays for it.
const WHOLE_LIST: usize = 9_000;
const SHORT_LIST: usize = 5_000;

fn desk(env: &TestEnv, identity: Option<&str>, profile: Profile) -> Desk {
    Desk::new(Settings {
        push: None,
        office: office(env),
        identity: identity.map(|name| name.parse().unwrap()),
        team: None,
        cwd: Path::new("/").to_owned(),
        client: None,
        profile,
        spawning: Spawning::default(),
    })
}

fn office(env: &TestEnv) -> Office {
    Office::new(Root::new(env.root()), State::new(env.state()))
}

/// A team with a lead and bob.
fn team() -> TestEnv {
    let env = TestEnv::new();
    let team = office(&env).create_team(&TeamPlan::new("dev", "dev")).unwrap();
    office(&env).add_member(&team, &MemberPlan::new("bob")).unwrap();
    env
}

fn list(desk: &Desk) -> Vec<Value> {
    let tools = listed(desk, &callable(desk));
    tools.iter().map(|tool| serde_json::to_value(tool).unwrap()).collect()
}

fn names(desk: &Desk) -> Vec<String> {
    list(desk).iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn find(desk: &Desk, name: &str) -> Value {
    list(desk).into_iter().find(|tool| tool["name"] == name).unwrap_or_default()
}

#[test]
fn the_lists_are_as_short_as_promised_for_every_caller() {
    let (nobody, team) = (TestEnv::new(), team());
    for (env, identity) in
        [(&nobody, None), (&team, None), (&team, Some("team-lead@dev")), (&team, Some("bob@dev"))]
    {
        for (profile, most) in [(Profile::All, WHOLE_LIST), (Profile::Core, SHORT_LIST)] {
            let tools = list(&desk(env, identity, profile));
            let size = json!({ "tools": tools }).to_string().len();
            let each: Vec<String> =
                tools.iter().map(|tool| format!("{} {tool}", tool.to_string().len())).collect();
            assert!(size <= most, "{identity:?} {profile:?}: {size} bytes\n{}", each.join("\n"));
        }
    }
}

#[test]
fn what_is_for_the_lead_is_listed_by_the_leads_server_alone() {
    let env = team();
    let for_lead = [
        "team_create",
        "team_delete",
        "spawn_teammate",
        "force_kill_teammate",
        "process_shutdown_approved",
        "add_member",
    ];
    let of = |identity| desk(&env, identity, Profile::All);
    let (lead, unbound, bob) =
        (names(&of(Some("team-lead@dev"))), names(&of(None)), names(&of(Some("bob@dev"))));
    assert_eq!(lead, unbound);
    assert_eq!(lead.len(), 26);
    for tool in for_lead {
        assert!(lead.contains(&tool.to_owned()) && !bob.contains(&tool.to_owned()), "{tool}");
    }
    assert_eq!(bob.len() + for_lead.len(), lead.len());
    // Decisions that the table of policies leaves to the lead are kinds of mail.
    let kinds =
        |identity| find(&of(identity), "send_message")["inputSchema"]["properties"]["type"]["enum"].clone();
    for kind in ["shutdown_request", "plan_approval_response"] {
        assert!(kinds(Some("team-lead@dev")).as_array().unwrap().contains(&json!(kind)));
        assert!(!kinds(Some("bob@dev")).as_array().unwrap().contains(&json!(kind)));
        assert!(
            !find(&of(Some("bob@dev")), "send_message")["description"]
                .as_str()
                .unwrap()
                .contains("recipient, request_id")
        );
    }
    assert!(kinds(Some("bob@dev")).as_array().unwrap().contains(&json!("shutdown_response")));
}

#[test]
fn a_team_need_not_be_named_where_there_is_one() {
    let (nobody, team) = (TestEnv::new(), team());
    let required = |env, identity| {
        find(&desk(env, identity, Profile::All), "read_inbox")["inputSchema"]["required"].clone()
    };
    assert_eq!(required(&nobody, None), json!(["team_name", "agent_name"]));
    assert_eq!(required(&team, None), json!(["agent_name"]));
    assert_eq!(required(&team, Some("bob@dev")), Value::Null);
    office(&team).create_team(&TeamPlan::new("ops", "ops")).unwrap();
    assert_eq!(required(&team, None), json!(["team_name", "agent_name"]));
}

#[test]
fn every_example_is_a_correct_call() {
    let env = team();
    let desk = desk(&env, None, Profile::All);
    for offered in callable(&desk) {
        let given: JsonObject =
            serde_json::from_str(offered.example).unwrap_or_else(|_| panic!("{}", offered.name));
        assert!(arguments::check(&given, &offered.accepted).is_ok(), "{}", offered.name);
    }
}

/// The JSON of a call's answer, and its notes.
fn call(desk: &Desk, tool: &str, arguments: Value) -> (Value, Vec<String>) {
    let offered = callable(desk).into_iter().find(|offered| offered.name == tool).unwrap();
    let Value::Object(given) = arguments else { panic!("arguments are an object") };
    let answer = offered.run(desk, given, &Stop::default()).unwrap().into_result();
    let answer = serde_json::to_value(answer).unwrap();
    let mut texts = answer["content"].as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap());
    let json = serde_json::from_str(texts.next().unwrap()).unwrap();
    (json, texts.map(ToOwned::to_owned).collect())
}

/// Mail from the lead that lies unread with bob, who is there; everything that lies there is old.
fn unread_mail(env: &TestEnv, profile: Profile) -> impl Fn(Option<&str>) -> Desk {
    call(&desk(env, Some("bob@dev"), profile), "heartbeat", json!({}));
    let letter = json!({ "type": "message", "recipient": "bob", "content": "look at this" });
    call(&desk(env, None, profile), "send_message", letter);
    move |identity| {
        let mut desk = desk(env, identity, profile);
        desk.settings.office = office(env).with_unread_after(Duration::ZERO);
        desk
    }
}

/// `members` had its own account of the team, without what needs a look.
#[test]
fn members_renders_the_picture_that_status_shows() {
    let env = team();
    let desk = unread_mail(&env, Profile::All)(None);
    let (members, notes) = call(&desk, "members", json!({}));
    let picture = desk.office().picture(&"dev".parse().unwrap(), &"team-lead".parse().unwrap()).unwrap();
    let [attention] = picture.attention.as_slice() else { panic!("{picture:?}") };
    let shown = members.as_array().unwrap();
    for (shown, member) in shown.iter().zip(&picture.members) {
        assert_eq!((&shown["name"], &shown["unread"]), (&json!(member.name), &json!(member.unread)));
        assert_eq!(
            (&shown["state"], &shown["evidence"]),
            (&json!(member.state), &json!(member.evidence[..1]))
        );
    }
    let bob = shown.iter().find(|member| member["name"] == "bob").unwrap();
    let (shown, id) = (&bob["attention"][0], attention.message.as_ref().unwrap());
    assert_eq!((&shown["reason"], &shown["message"]), (&json!("unread_long"), &json!(id)));
    assert_eq!((&shown["what"], &shown["since"]), (&json!(attention.what), &json!(attention.since)));
    assert_eq!(shown["try"], r#"check_teammate {"agent_name":"bob"}"#);
    assert_eq!(notes, ["1 needs a look: bob (unread)", "1 unread for team-lead: read_inbox."]);
}

#[test]
fn a_member_sees_in_the_picture_what_is_its_own_business() {
    let env = team();
    office(&env).add_member(&"dev".parse().unwrap(), &MemberPlan::new("carol")).unwrap();
    let desk = unread_mail(&env, Profile::Core);
    let bobs = call(&desk(Some("bob@dev")), "members", json!({}));
    assert_eq!(bobs.1, ["1 needs a look: bob (unread)", "1 unread for bob: read_inbox."]);
    let (members, notes) = call(&desk(Some("carol@dev")), "members", json!({}));
    assert_eq!(notes, ["nothing needs a look"]);
    assert!(!members.to_string().contains("attention"), "{members}");
    let shown = call(&desk(None), "members", json!({})).0.to_string();
    assert!(shown.contains("attention") && !shown.contains("check_teammate"), "no such tool: {shown}");
}

/// A session that waits for its user was in the picture of the team of sessions alone.
#[test]
fn a_lead_is_told_of_sessions_that_wait_for_their_user_and_a_member_is_not() {
    let env = team();
    env.lists_waiting_session("0b7e1c52-3f6a", "sh\u{202e}op");
    for (identity, is_told) in [(None, true), (Some("team-lead@dev"), true), (Some("bob@dev"), false)] {
        let (_, notes) = call(&desk(&env, identity, Profile::All), "members", json!({}));
        let told = notes.iter().find(|note| note.contains("waiting for permission"));
        assert_eq!(told.is_some(), is_told, "{identity:?}: {notes:?}");
        assert!(
            told.is_none_or(|note| note == "session sh\\u{202e}op is waiting for permission"),
            "{notes:?}"
        );
    }
}

#[test]
fn a_picture_with_much_to_look_at_keeps_to_the_budget() {
    let env = team();
    let desk = unread_mail(&env, Profile::All)(None);
    let letter = json!({ "type": "message", "recipient": "bob", "content": "more" });
    for _ in 0..60 {
        call(&desk, "send_message", letter.clone());
    }
    let (members, _) = call(&desk, "members", json!({}));
    let bob = members.as_array().unwrap().iter().find(|member| member["name"] == "bob").unwrap();
    assert_eq!((bob["attention"].as_array().unwrap().len(), &bob["moreAttention"]), (5, &json!(56)));
    assert!(members.to_string().len() < BUDGET / 2, "{members}");
}

#[test]
fn who_is_there_is_told_without_a_ledger_too() {
    let env = team();
    std::fs::create_dir_all(env.state().join("log.db")).unwrap();
    let (members, notes) = call(&desk(&env, None, Profile::All), "members", json!({}));
    assert_eq!(members.as_array().unwrap().len(), 2, "{members}");
    assert!(notes[0].starts_with("What needs a look is not known: "), "{notes:?}");
}

/// What a call is refused with.
fn refused(desk: &Desk, tool: &str, arguments: Value) -> String {
    let offered = callable(desk).into_iter().find(|offered| offered.name == tool).unwrap();
    let Value::Object(given) = arguments else { panic!("arguments are an object") };
    offered.run(desk, given, &Stop::default()).unwrap_err().words(desk.toolbox())
}

/// `send_message` and `request` knew members alone.
#[test]
fn tools_that_take_a_recipient_find_sessions_as_the_command_line_does() {
    let env = team();
    for name in ["a/shop", "b/shop", "api"] {
        let folder = env.root().join("work").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        office(&env).set_session_alias(&name.replace('/', "-"), &folder).unwrap();
    }
    let bob = desk(&env, Some("bob@dev"), Profile::All);
    let api = env.root().join("work/api").display().to_string();
    for recipient in ["api", "work/api", "api@sessions", api.as_str()] {
        let letter = json!({ "recipient": recipient, "content": "is the build green?" });
        let (sent, notes) = call(&bob, "send_message", letter);
        assert_eq!(sent["message"], "queued for api", "{recipient}");
        assert!(notes[0].contains("waits for the next one"), "{notes:?}");
    }
    let (asked, _) =
        call(&bob, "request", json!({ "recipient": "api", "type": "status_request", "timeout_ms": 0 }));
    assert_eq!(asked["answer"], Value::Null);
    let office_here = office(&env);
    let sessions = office_here.team(&"sessions".parse().unwrap()).unwrap();
    let messages = sessions.mailbox(&"api".parse().unwrap()).list().unwrap().messages;
    assert_eq!(messages.len(), 5);
    assert!(
        messages
            .iter()
            .all(|message| message.from == "bob" && message.ours().origin.as_deref() == Some("dev"))
    );
    let to = |recipient: &str| json!({ "recipient": recipient, "content": "x" });
    let which = refused(&bob, "send_message", to("shop"));
    assert!(which.starts_with("recipient: ") && which.contains("Name one of: a/shop, b/shop"), "{which}");
    let none = refused(&bob, "send_message", to("apy"));
    assert!(none.starts_with("recipient: ") && none.contains("Did you mean api?"), "{none}");
    // Where the team is clear, who names it means a member of it.
    let named =
        refused(&bob, "send_message", json!({ "team_name": "dev", "recipient": "api", "content": "x" }));
    assert!(named.contains("recipient: "), "{named}");
    assert_eq!(messages.len(), 5, "nothing was sent");
    // A member of that name comes first.
    office(&env).add_member(&"dev".parse().unwrap(), &MemberPlan::new("api")).unwrap();
    let (sent, _) = call(&bob, "send_message", to("api"));
    assert_eq!(sent["message"], "delivered for api");
}
