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
        let ConversationFormat::JsonLines { shown, .. } = format else { panic!("{client}") };
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

/// Whatever stands in a line, reading it is no reason to fail.
#[test]
fn no_line_makes_a_reader_fail() {
    for client in AgentClient::ALL {
        let Some(conversations) = &client.profile().conversations else { continue };
        let ConversationFormat::JsonLines { shown, .. } = conversations.format else { continue };
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
        }
    }
}
