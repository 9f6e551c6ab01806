//! Hooks: a client calls us at certain moments of a conversation and may take text from us for the model.

mod answer;
mod edit;
mod event;
mod input;

pub use answer::{GO_ON, HookAnswer};
pub(crate) use answer::{additional_context, block, deny};
pub use edit::UnreadableCall;
pub(crate) use event::plain;
pub use event::{HeldBy, HookEvent, Moment, Remembers};
pub use input::HookInput;

use crate::client::AgentClient;

/// What Claude Code takes as additional context, in characters as JavaScript counts them; the others take no less.
pub(crate) const LARGEST_TEXT: usize = 10_000;

/// How a client's hooks speak.
#[derive(Debug)]
pub struct HookFormat {
    /// The events that we have hooks for, and what the client calls them.
    pub events: &'static [(HookEvent, &'static str)],
    /// Whether an input is from this client, as far as it shows. The words are the event's name, by which it was called.
    pub recognises: fn(&HookInput, &str) -> bool,
    /// Whether text that it gets at a session's start is kept in the conversation, so that it can be proved. Where it is not,
    /// mail waits for the first prompt.
    pub takes_text_at_start: bool,
    /// What a conversation that is taken up again has before the model of what its hooks put there.
    pub remembers: Remembers,
    /// Whether text gets to the model in the middle of a turn.
    pub takes_text_in_turn: bool,
    /// Which mail keeps an agent going that wants to stop.
    pub stop_is_held_by: HeldBy,
    /// The longest text that it takes, in characters as JavaScript counts them.
    pub largest_text: usize,
    /// The answer that puts a text before the model.
    pub answer: fn(HookEvent, &str) -> HookAnswer,
}

impl HookFormat {
    /// What an event means, if it concerns us.
    pub fn moment(&self, event: HookEvent, input: &HookInput) -> Option<Moment> {
        if input.is_inner_agent() {
            return None;
        }
        Some(match event {
            HookEvent::SessionStart => Moment::Begins {
                tells: self.takes_text_at_start,
                remembers: if input.is_resumed() { self.remembers } else { Remembers::Nothing },
            },
            HookEvent::Prompt | HookEvent::Tool => return self.takes_text_in_turn.then_some(Moment::Works),
            HookEvent::Permission if input.answers_permission() => Moment::Answered,
            HookEvent::Permission => return input.asks_permission().then_some(Moment::Asks),
            HookEvent::Stop | HookEvent::TeammateIdle if input.must_stop() => {
                Moment::Stops { held_by: HeldBy::Nothing }
            }
            HookEvent::Stop => Moment::Stops { held_by: self.stop_is_held_by },
            HookEvent::TeammateIdle => Moment::Stops { held_by: HeldBy::Wanted },
            HookEvent::SessionEnd => Moment::Ends,
            // It is about an edit, not about mail.
            HookEvent::BeforeTool => return None,
        })
    }
}

/// The client that sent this input, called by this name of an event. What no other client claims is Claude Code's.
pub fn sender(input: &HookInput, event: &str) -> AgentClient {
    let claims = |client: &AgentClient| {
        client.profile().hooks.as_ref().is_some_and(|hooks| (hooks.recognises)(input, event))
    };
    AgentClient::ALL.into_iter().find(claims).unwrap_or(AgentClient::Claude)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(text: &str) -> HookInput {
        HookInput::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_client_is_recognised_by_what_it_says() {
        for (event, text, client) in [
            ("Stop", r#"{"session_id":"s"}"#, AgentClient::Claude),
            ("", "", AgentClient::Claude),
            ("Stop", r#"{"session_id":"s","turn_id":"3","model":"m"}"#, AgentClient::Codex),
            ("", r#"{"session_id":"s","turn_id":"3","hook_event_name":"Stop"}"#, AgentClient::Codex),
            // Only one client has teammates.
            ("", r#"{"session_id":"s","turn_id":"3","hook_event_name":"TeammateIdle"}"#, AgentClient::Claude),
            ("stop", r#"{"session_id":"s","hook_event_name":"AfterAgent"}"#, AgentClient::Gemini),
            ("AfterTool", r#"{"session_id":"s","turn_id":"3"}"#, AgentClient::Gemini),
            ("BeforeTool", r#"{"session_id":"s"}"#, AgentClient::Gemini),
            ("", r#"{"session_id":"s","turn_id":"3","hook_event_name":"PreToolUse"}"#, AgentClient::Codex),
            (
                "Stop",
                r#"{"session_id":"s","transcript_path":"/home/me/.qwen/projects/-p/chats/s.jsonl","prompt_id":"s#0"}"#,
                AgentClient::Qwen,
            ),
            ("stop", r#"{"conversation_id":"c","status":"completed"}"#, AgentClient::Cursor),
            ("beforeSubmitPrompt", r#"{"session_id":"s","conversation_id":"c"}"#, AgentClient::Cursor),
        ] {
            assert_eq!(sender(&input(text), event), client, "{event} {text}");
        }
    }

    #[test]
    fn what_each_client_lets_us_do_at_each_event() {
        use HookEvent::{Permission, Prompt, SessionEnd, SessionStart, Stop, TeammateIdle, Tool};
        let stops = |held_by| Some(Moment::Stops { held_by });
        let (wanted, any, nothing) = (stops(HeldBy::Wanted), stops(HeldBy::Any), stops(HeldBy::Nothing));
        for client in AgentClient::ALL {
            let Some(hooks) = &client.profile().hooks else { continue };
            let moment = |event, text| hooks.moment(event, &input(text));
            let is_cursor = client == AgentClient::Cursor;
            let tells = client != AgentClient::Qwen;
            for (said, remembers) in [
                ("{}", Remembers::Nothing),
                (r#"{"source":"startup"}"#, Remembers::Nothing),
                (r#"{"source":"compact"}"#, Remembers::Nothing),
                (r#"{"source":"resume"}"#, hooks.remembers),
            ] {
                assert_eq!(moment(SessionStart, said), Some(Moment::Begins { tells, remembers }), "{client}");
            }
            for event in [Prompt, Tool] {
                assert_eq!(moment(event, "{}"), (!is_cursor).then_some(Moment::Works), "{client}");
            }
            assert_eq!(moment(Stop, "{}"), if is_cursor { any } else { wanted }, "{client}");
            for held in [r#"{"stop_hook_active":true}"#, r#"{"loop_count":1}"#, r#"{"status":"aborted"}"#] {
                assert_eq!(moment(Stop, held), nothing, "{client} {held}");
                assert_eq!(moment(TeammateIdle, held), nothing, "{client} {held}");
            }
            assert_eq!(moment(SessionEnd, "{}"), Some(Moment::Ends), "{client}");
            for (said, expected) in [
                ("{}", Some(Moment::Asks)),
                (r#"{"notification_type":"ToolPermission"}"#, Some(Moment::Asks)),
                (r#"{"notification_type":"permission_answered"}"#, Some(Moment::Answered)),
                (r#"{"notification_type":"idle"}"#, None),
            ] {
                assert_eq!(moment(Permission, said), expected, "{client} {said}");
            }
            assert_eq!(moment(Stop, r#"{"agent_id":"a1"}"#), None, "{client}: an agent inside the session");
            assert_eq!(moment(Stop, r#"{"agent_id":"bob@dev"}"#), moment(Stop, "{}"), "{client}: a member");
        }
    }

    #[test]
    fn an_answer_has_the_keys_that_its_client_knows() {
        let keys = |client: AgentClient, event| {
            let hooks = client.profile().hooks.as_ref().unwrap();
            let answer = (hooks.answer)(event, "text");
            let document = answer.stdout.unwrap();
            let mut keys: Vec<String> = document.as_object().unwrap().keys().cloned().collect();
            let name = document["hookSpecificOutput"]["hookEventName"].as_str().map(ToOwned::to_owned);
            keys.extend(name);
            keys.extend(document["decision"].as_str().map(ToOwned::to_owned));
            keys.join(" ")
        };
        for (client, event, expected) in [
            (AgentClient::Claude, HookEvent::Prompt, "hookSpecificOutput UserPromptSubmit"),
            (AgentClient::Claude, HookEvent::Stop, "decision reason block"),
            (AgentClient::Codex, HookEvent::Tool, "hookSpecificOutput PostToolUse"),
            (AgentClient::Codex, HookEvent::Stop, "decision reason block"),
            (AgentClient::Gemini, HookEvent::Prompt, "hookSpecificOutput BeforeAgent"),
            (AgentClient::Gemini, HookEvent::Tool, "hookSpecificOutput AfterTool"),
            (AgentClient::Gemini, HookEvent::Stop, "decision reason deny"),
            (AgentClient::Claude, HookEvent::BeforeTool, "hookSpecificOutput PreToolUse"),
            (AgentClient::Codex, HookEvent::BeforeTool, "hookSpecificOutput PreToolUse"),
            (AgentClient::Gemini, HookEvent::BeforeTool, "decision reason deny"),
            (AgentClient::Cursor, HookEvent::BeforeTool, "agent_message permission user_message"),
            (AgentClient::Qwen, HookEvent::Prompt, "hookSpecificOutput UserPromptSubmit"),
            (AgentClient::Qwen, HookEvent::Stop, "decision reason block"),
            (AgentClient::Qwen, HookEvent::BeforeTool, "hookSpecificOutput PreToolUse"),
            (AgentClient::Opencode, HookEvent::Tool, "hookSpecificOutput PostToolUse"),
            (AgentClient::Opencode, HookEvent::Stop, "decision reason block"),
            (AgentClient::Cursor, HookEvent::SessionStart, "additional_context"),
            (AgentClient::Cursor, HookEvent::Stop, "followup_message"),
        ] {
            assert_eq!(keys(client, event), expected, "{client} {event:?}");
        }
        let idle =
            (AgentClient::Claude.profile().hooks.as_ref().unwrap().answer)(HookEvent::TeammateIdle, "text");
        assert_eq!(idle, HookAnswer { stdout: None, stderr: Some("text".to_owned()), code: GO_ON });
    }
}
