//! What a client sends to a hook.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::edit::{UnreadableCall, edited_paths};
use super::plain;

/// What we want of a hook's input; there is more in it. Each client sends some of these keys.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct HookInput {
    /// The conversation.
    pub session_id: Option<String>,
    /// The conversation, as Cursor calls it.
    pub conversation_id: Option<String>,
    /// The event, as the client calls it.
    pub hook_event_name: Option<String>,
    /// The folder that the agent works in.
    pub cwd: Option<String>,
    /// Where the client keeps the conversation.
    pub transcript_path: Option<String>,
    /// The teammate's team.
    pub team_name: Option<String>,
    /// The teammate that is about to idle.
    pub teammate_name: Option<String>,
    /// The tool that is called.
    pub tool_name: Option<String>,
    /// What it is called with.
    tool_input: Option<Box<RawValue>>,
    pub(crate) turn_id: Option<serde::de::IgnoredAny>,
    stop_hook_active: Option<bool>,
    loop_count: Option<u64>,
    status: Option<String>,
    agent_id: Option<String>,
    /// What a notification is about.
    notification_type: Option<String>,
    /// Why a session starts.
    source: Option<String>,
}

impl HookInput {
    /// Reads an input; one without anything says nothing.
    pub fn parse(bytes: &[u8]) -> serde_json::Result<Self> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self::default());
        }
        serde_json::from_slice(bytes)
    }

    /// The conversation's id.
    pub fn session(&self) -> &str {
        self.session_id.as_deref().or(self.conversation_id.as_deref()).unwrap_or_default()
    }

    /// The member inside the session that it is about, and its team: by its agent's id, or as the one that is about to idle.
    pub fn member_inside(&self) -> Option<(&str, &str)> {
        let by_id = self.agent_id.as_deref().and_then(|id| id.split_once('@'));
        by_id.or_else(|| Some((self.teammate_name.as_deref()?, self.team_name.as_deref()?)))
    }

    /// The files that the tool is about to change, as the call names them; none if it is no tool that edits.
    pub fn edited_paths(&self) -> Result<Vec<String>, UnreadableCall> {
        match (&self.tool_name, &self.tool_input) {
            (Some(tool), Some(input)) => edited_paths(tool, input),
            _ => Ok(Vec::new()),
        }
    }

    /// Whether the event, by which we were called or which the input names, has one of these names.
    pub(crate) fn has_name(&self, event: &str, names: &[&str]) -> bool {
        let said = [Some(event), self.hook_event_name.as_deref()];
        said.iter().flatten().any(|name| names.contains(name))
    }

    /// Whether a conversation is taken up again, as it was left.
    pub(crate) fn is_resumed(&self) -> bool {
        self.source.as_deref() == Some("resume")
    }

    /// Whether the client asks its user for a permission: an event of its own, or one of several kinds of notifications.
    pub(crate) fn asks_permission(&self) -> bool {
        let is_permission = |kind: &str| plain(kind).contains("permission");
        self.notification_type.as_deref().is_none_or(is_permission)
    }

    /// Whether its user has answered a question for a permission, as our plugin for `OpenCode` tells.
    pub(crate) fn answers_permission(&self) -> bool {
        self.notification_type.as_deref() == Some("permission_answered")
    }

    /// Whether it is about an agent inside the session, a member or not.
    pub fn is_inside(&self) -> bool {
        self.is_inner_agent() || self.member_inside().is_some()
    }

    /// Whether an agent inside the session is at work: the mail is not for it.
    pub(crate) fn is_inner_agent(&self) -> bool {
        self.agent_id.as_deref().is_some_and(|id| !id.is_empty() && !id.contains('@'))
    }

    /// Whether the agent has been kept going just now, or was interrupted.
    pub(crate) fn must_stop(&self) -> bool {
        let again = self.stop_hook_active == Some(true) || self.loop_count.is_some_and(|count| count > 0);
        again || self.status.as_deref().is_some_and(|status| status != "completed")
    }
}
