//! The events that clients have hooks for, and what they mean for mail.

/// An event of a conversation, whatever its client calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookEvent {
    /// A conversation begins, or is taken up again.
    SessionStart,
    /// The user has written something.
    Prompt,
    /// A tool is about to be called.
    BeforeTool,
    /// The client asks its user for a permission.
    Permission,
    /// A tool has ended.
    Tool,
    /// The turn is about to end.
    Stop,
    /// A teammate inside the client is about to idle.
    TeammateIdle,
    /// The conversation is over.
    SessionEnd,
}

/// A moment of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// It begins, or is taken up again.
    Begins {
        /// Whether its client keeps what it is told then. Where it does not, mail waits for the first prompt.
        tells: bool,
        /// What its client puts before the model again of what our hooks said in it.
        remembers: Remembers,
    },
    /// A turn begins, or goes on.
    Works,
    /// The client asks its user for a permission, and the turn waits.
    Asks,
    /// The user has answered, and the turn goes on. Few clients tell it.
    Answered,
    /// A turn ends.
    Stops {
        /// What keeps it from ending.
        held_by: HeldBy,
    },
    /// It is over.
    Ends,
}

/// What is before the model again, of what hooks said in a conversation, when that is taken up again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remembers {
    /// Nothing: it is a new one, or was cleared or compacted.
    Nothing,
    /// What was said in its turns; not what was said when it began.
    Turns,
    /// All of it.
    All,
}

/// Which mail keeps an agent going that wants to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldBy {
    /// None: it was kept going just now, or ends for another reason.
    Nothing,
    /// Mail that wants an acknowledgment, or waited for an agent that was offline.
    Wanted,
    /// Any but idle notices: the client has no other door for mail.
    Any,
}

impl HookEvent {
    /// The event of a name in any client's spelling, or with hyphens.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match plain(name).as_str() {
            "sessionstart" => Self::SessionStart,
            "userpromptsubmit" | "beforeagent" | "beforesubmitprompt" => Self::Prompt,
            "pretooluse" | "beforetool" => Self::BeforeTool,
            "permissionrequest" | "notification" => Self::Permission,
            "posttooluse" | "aftertool" => Self::Tool,
            "stop" | "afteragent" => Self::Stop,
            "teammateidle" => Self::TeammateIdle,
            "sessionend" => Self::SessionEnd,
            _ => return None,
        })
    }

    /// Its usual name.
    pub fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::Prompt => "UserPromptSubmit",
            Self::BeforeTool => "PreToolUse",
            Self::Permission => "PermissionRequest",
            Self::Tool => "PostToolUse",
            Self::Stop => "Stop",
            Self::TeammateIdle => "TeammateIdle",
            Self::SessionEnd => "SessionEnd",
        }
    }
}

/// An event's name without what spellings differ in.
pub(crate) fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_event_is_known() {
        for (names, event) in [
            (&["SessionStart", "session-start", "sessionStart"][..], HookEvent::SessionStart),
            (
                &["UserPromptSubmit", "user-prompt-submit", "BeforeAgent", "beforeSubmitPrompt"],
                HookEvent::Prompt,
            ),
            (&["PreToolUse", "pre-tool-use", "preToolUse", "BeforeTool"], HookEvent::BeforeTool),
            (&["PermissionRequest", "permission-request", "Notification"], HookEvent::Permission),
            (&["PostToolUse", "post-tool-use", "AfterTool"], HookEvent::Tool),
            (&["Stop", "stop", "AfterAgent"], HookEvent::Stop),
            (&["TeammateIdle", "teammate-idle"], HookEvent::TeammateIdle),
            (&["SessionEnd", "session_end"], HookEvent::SessionEnd),
        ] {
            assert!(names.iter().all(|name| HookEvent::parse(name) == Some(event)), "{names:?}");
            assert_eq!(HookEvent::parse(event.name()), Some(event));
        }
        assert_eq!(HookEvent::parse("PreCompact"), None);
        assert_eq!(HookEvent::parse(""), None);
    }
}
