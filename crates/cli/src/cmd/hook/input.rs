//! What a client says on stdin, and which client it is.

use std::io::{self, IsTerminal, Read};

use atm_office::mail::hook::{HeldBy, Moment};
use clap::ValueEnum;
use serde::Deserialize;

/// No client says as much; a tool's output can be large.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Whose hooks these are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// Gemini CLI
    Gemini,
    /// Cursor
    Cursor,
}

/// The moments that clients tell us of, by whatever name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    SessionStart,
    Prompt,
    Tool,
    Stop,
    TeammateIdle,
    SessionEnd,
}

impl Event {
    /// In any client's spelling, or with hyphens.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        Some(match plain.to_ascii_lowercase().as_str() {
            "sessionstart" => Self::SessionStart,
            "userpromptsubmit" | "beforeagent" | "beforesubmitprompt" => Self::Prompt,
            "posttooluse" | "aftertool" => Self::Tool,
            "stop" | "afteragent" => Self::Stop,
            "teammateidle" => Self::TeammateIdle,
            "sessionend" => Self::SessionEnd,
            _ => return None,
        })
    }
}

/// Takes what is left on stdin: a client must not fail because nobody listens.
pub(crate) fn drain() {
    let mut stdin = io::stdin();
    if !stdin.is_terminal() {
        let _ = io::copy(&mut stdin, &mut io::sink());
    }
}

/// What we want of it; there is more.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Input {
    pub(crate) session_id: Option<String>,
    pub(crate) conversation_id: Option<String>,
    pub(crate) hook_event_name: Option<String>,
    pub(crate) cwd: Option<String>,
    pub(crate) team_name: Option<String>,
    pub(crate) teammate_name: Option<String>,
    stop_hook_active: Option<bool>,
    loop_count: Option<u64>,
    status: Option<String>,
    turn_id: Option<serde::de::IgnoredAny>,
    agent_id: Option<String>,
}

impl Input {
    /// All that stands on stdin; nothing, if a person sits there.
    pub(crate) fn read() -> Result<Self, String> {
        let mut stdin = io::stdin();
        if stdin.is_terminal() {
            return Ok(Self::default());
        }
        let mut bytes = Vec::new();
        stdin.by_ref().take(LARGEST).read_to_end(&mut bytes).map_err(|error| format!("stdin: {error}"))?;
        drain();
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self::default());
        }
        serde_json::from_slice(&bytes).map_err(|error| format!("stdin is not what a client says: {error}"))
    }

    /// Which client says such things.
    pub(crate) fn client(&self, event: &str) -> Client {
        let said = [Some(event), self.hook_event_name.as_deref()];
        let says = |names: &[&str]| said.iter().flatten().any(|name| names.contains(name));
        if says(&["BeforeAgent", "AfterAgent", "AfterTool"]) {
            Client::Gemini
        } else if says(&["beforeSubmitPrompt"]) || self.session_id.is_none() && self.conversation_id.is_some()
        {
            Client::Cursor
        } else if self.turn_id.is_some() {
            Client::Codex
        } else {
            Client::Claude
        }
    }

    /// The conversation's id.
    pub(crate) fn session(&self) -> &str {
        self.session_id.as_deref().or(self.conversation_id.as_deref()).unwrap_or_default()
    }

    /// Whether an agent inside the session is at work: the mail is not for it.
    pub(crate) fn is_inner_agent(&self) -> bool {
        self.agent_id.as_deref().is_some_and(|id| !id.is_empty() && !id.contains('@'))
    }

    /// What the office is told, if anything.
    pub(crate) fn moment(&self, event: Event, client: Client) -> Option<Moment> {
        let again = self.stop_hook_active == Some(true) || self.loop_count.is_some_and(|count| count > 0);
        let broken_off = self.status.as_deref().is_some_and(|status| status != "completed");
        Some(match event {
            Event::SessionStart => Moment::Begins,
            // It takes no text there.
            Event::Prompt | Event::Tool if client == Client::Cursor => return None,
            Event::Prompt | Event::Tool => Moment::Works,
            Event::Stop | Event::TeammateIdle if again || broken_off => {
                Moment::Stops { held_by: HeldBy::Nothing }
            }
            Event::Stop if client == Client::Cursor => Moment::Stops { held_by: HeldBy::Any },
            Event::Stop | Event::TeammateIdle => Moment::Stops { held_by: HeldBy::Wanted },
            Event::SessionEnd => Moment::Ends,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_event_is_known() {
        for (names, event) in [
            (&["SessionStart", "session-start", "sessionStart"][..], Event::SessionStart),
            (&["UserPromptSubmit", "user-prompt-submit", "BeforeAgent", "beforeSubmitPrompt"], Event::Prompt),
            (&["PostToolUse", "post-tool-use", "AfterTool"], Event::Tool),
            (&["Stop", "stop", "AfterAgent"], Event::Stop),
            (&["TeammateIdle", "teammate-idle"], Event::TeammateIdle),
            (&["SessionEnd", "session_end"], Event::SessionEnd),
        ] {
            assert!(names.iter().all(|name| Event::parse(name) == Some(event)), "{names:?}");
        }
        assert_eq!(Event::parse("PreCompact"), None);
        assert_eq!(Event::parse(""), None);
    }

    #[test]
    fn a_client_is_told_by_what_it_says() {
        let client = |event: &str, text: &str| serde_json::from_str::<Input>(text).unwrap().client(event);
        assert_eq!(client("Stop", r#"{"session_id":"s"}"#), Client::Claude);
        assert_eq!(client("Stop", r#"{"session_id":"s","turn_id":"3","model":"m"}"#), Client::Codex);
        assert_eq!(client("stop", r#"{"session_id":"s","hook_event_name":"AfterAgent"}"#), Client::Gemini);
        assert_eq!(client("stop", r#"{"conversation_id":"c","status":"completed"}"#), Client::Cursor);
    }
}
