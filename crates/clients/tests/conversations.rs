//! What the readers of conversations find in what real clients wrote.

use atm_clients::conversations::ConversationFormat;
use atm_clients::{AgentClient, Shape, Shown};
use atm_wire::brief::headings;

/// The clients were shown mail by hooks: before a prompt, behind a tool's answer, and at a stop. Each of these occurrences
/// is found once, and none of the copies that clients keep of them for their users, their hooks' output among them.
#[test]
fn each_client_keeps_what_its_model_was_shown_once() {
    let rows: [(AgentClient, &str, &[&str]); 4] = [
        (
            AgentClient::Claude,
            include_str!("fixtures/conversations/claude-2.1.325.jsonl"),
            &["960943ca", "52673949", "fedc3f06", "52673949"],
        ),
        (
            AgentClient::Codex,
            include_str!("fixtures/conversations/codex-0.166.0.jsonl"),
            &["9b87feb2", "3b9c2bcb", "3b9c2bcb", "a97f5d84"],
        ),
        (
            AgentClient::Gemini,
            include_str!("fixtures/conversations/gemini-0.61.0.jsonl"),
            &["2a420a17", "51ab9d60", "51ab9d60", "e7d0c992"],
        ),
        // What it was told at the stop is in no file.
        (
            AgentClient::Qwen,
            include_str!("fixtures/conversations/qwen-0.24.4.jsonl"),
            &["54fef631", "dd88a8ad"],
        ),
    ];
    for (client, text, expected) in rows {
        let format = &client.profile().conversations.as_ref().unwrap().format;
        let ConversationFormat::JsonLines { shown, answered, .. } = format else { panic!("{client}") };
        assert!(text.lines().filter_map(answered).count() > 0, "{client}: its model answers");
        let all: Vec<Shown> = text.lines().filter_map(|line| shown(line, false)).collect();
        let listed = all.iter().filter(|shown| shown.shape == Shape::Listed);
        let ids: Vec<String> = listed
            .clone()
            .flat_map(|shown| &shown.texts)
            .flat_map(|text| headings(text))
            .map(|heading| format!("{} {}", heading.from, heading.id))
            .collect();
        assert_eq!(ids, expected.iter().map(|id| format!("user {id}")).collect::<Vec<_>>(), "{client}");
        assert!(listed.clone().all(|shown| shown.entry.is_some() && shown.at.is_some()), "{client}");
        let prompt = |shown: &&Shown| shown.texts.iter().any(|text| text.contains("USE-TOOL hello"));
        assert!(all.iter().any(|shown| prompt(&shown)), "{client}: its user's own words are shown, too");
    }
}

/// What was pushed stands there once under the id that we gave it: as a prompt of its own when the session was idle, as an
/// attachment when it came in a turn. The client's queue and its copies of requests have the same words, and show nothing.
#[test]
fn a_real_conversation_shows_what_was_pushed_into_it_once_under_our_id() {
    for (version, text, expected) in [
        (
            "2.1.325",
            include_str!("fixtures/conversations/claude-2.1.325-pushed.jsonl"),
            [
                ("fdc870ec-fba7-766e-ba76-46e8c1e1b9c7", "idle letter 01"),
                ("f7d7644f-714e-792c-8132-a3378723ce5c", "busy letter 01"),
            ],
        ),
        (
            "2.1.282",
            include_str!("fixtures/conversations/claude-2.1.282-pushed.jsonl"),
            [
                ("794d8f2f-b0e9-713b-9785-4dc2f6d3b9ce", "idle letter 01"),
                ("590cf99f-0edc-7812-9925-086ed6efc6fd", "busy letter 01"),
            ],
        ),
    ] {
        let format = &AgentClient::Claude.profile().conversations.as_ref().unwrap().format;
        let ConversationFormat::JsonLines { shown, .. } = format else { panic!("{version}") };
        let all: Vec<Shown> = text.lines().filter_map(|line| shown(line, false)).collect();
        assert_eq!(all.len(), expected.len(), "{version}: {all:?}");
        for (shown, (id, words)) in all.iter().zip(expected) {
            assert_eq!(shown.shape, Shape::Peer(id.to_owned()), "{version}");
            assert!(shown.texts.iter().any(|text| text.contains(words)), "{version}: {shown:?}");
            assert!(shown.entry.is_some() && shown.at.is_some(), "{version}: {shown:?}");
        }
        for words in ["idle letter 01", "busy letter 01"] {
            assert!(
                text.lines().filter(|line| line.contains(words)).count() > 1,
                "{version}: copies of {words}"
            );
        }
    }
}

/// Whatever stands in a line, reading it is no reason to fail.
#[test]
fn no_line_makes_a_reader_fail() {
    for client in AgentClient::ALL {
        let Some(conversations) = &client.profile().conversations else { continue };
        let ConversationFormat::JsonLines { shown, answered, .. } = conversations.format else { continue };
        for line in [
            "",
            "{",
            "[]",
            "null",
            r#"{"type":7}"#,
            r#"{"type":"user"}"#,
            r#"{"type":"user","message":[]}"#,
            r#"{"type":"user","content":[7,{"functionResponse":"x"}]}"#,
            r#"{"type":"response_item","payload":{"type":"message"}}"#,
            r#"{"type":"attachment","attachment":{"type":"hook_additional_context","content":"x"}}"#,
        ] {
            assert!(shown(line, false).is_none_or(|shown| shown.texts.is_empty()), "{client} {line}");
            assert_eq!(answered(line), None, "{client} {line}");
        }
    }
}
