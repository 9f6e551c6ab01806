//! The table of payloads: every type, its fields, and each field's spellings.
//!
//! A field's first key is the one that we write; keys after `+` are written beside it, since one half of the
//! readers knows only this and the other half only that; keys after `|` are understood and never written.

use super::field::{Level, Writer, read};
use crate::json::Object;
use crate::stamp::Stamp;

macro_rules! payloads {
    ($(
        $(#[$doc:meta])*
        $kind:literal $name:ident {
            $( $(#[$field_doc:meta])* $field:ident: $type:ty = $key:literal $(+ $twin:literal)* $(| $alias:literal)*, )*
        }
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, Default, PartialEq)]
            pub struct $name {
                $( $(#[$field_doc])* pub $field: $type, )*
            }

            impl $name {
                fn read(object: &Object<'_>) -> Self {
                    Self { $( $field: read(object, &[$key $(, $twin)* $(, $alias)*]), )* }
                }

                fn write(&self, out: &mut Writer) {
                    $( out.put($key, &self.$field); $( out.put($twin, &self.$field); )* )*
                }
            }

            impl From<$name> for Payload {
                fn from(payload: $name) -> Self {
                    Self::$name(payload)
                }
            }
        )*

        /// What a protocol message says.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Payload {
            $(
                #[doc = concat!("`", $kind, "`")]
                $name($name),
            )*
            /// A type that is not in the table; all that it says is in the text.
            Unknown {
                /// The type.
                kind: String,
            },
        }

        impl Payload {
            /// The types in the table.
            pub const KINDS: &[&str] = &[$($kind),*];

            /// The fields of each type in the table: every spelling, and the type in the view.
            pub const FIELDS: &[(&str, &[(&[&str], &str)])] = &[
                $( ($kind, &[$( (&[$key $(, $twin)* $(, $alias)*], stringify!($type)), )*]), )*
            ];

            /// Reads the fields that a payload of this type has.
            pub(super) fn read(kind: &str, object: &Object<'_>) -> Self {
                match kind {
                    $( $kind => Self::$name($name::read(object)), )*
                    _ => Self::Unknown { kind: kind.to_owned() },
                }
            }

            /// The type, as it stands in the file.
            pub fn kind(&self) -> &str {
                match self {
                    $( Self::$name(_) => $kind, )*
                    Self::Unknown { kind } => kind,
                }
            }

            /// The text that we write for it: a JSON object, `type` first.
            pub fn to_text(&self) -> String {
                let mut out = Writer::new();
                out.put("type", &self.kind());
                match self {
                    $( Self::$name(payload) => payload.write(&mut out), )*
                    Self::Unknown { .. } => {}
                }
                out.finish()
            }
        }
    };
}

payloads! {
    /// A member has nothing to do.
    "idle_notification" IdleNotification {
        /// The member.
        from: Option<String> = "from",
        /// Since when.
        timestamp: Option<Stamp> = "timestamp",
        /// `available`, `interrupted`, `waiting_response`, `task_complete`, or in a log `no_assigned_tasks`.
        idle_reason: Option<String> = "idleReason" | "reason" | "idle_reason",
        /// What the member said last.
        result: Option<String> = "result",
        /// The short version of what it last wrote to a peer.
        summary: Option<String> = "summary",
        /// The task it has just finished with.
        completed_task_id: Option<String> = "completedTaskId" | "completed_task_id",
        /// How that task ended.
        completed_status: Option<String> = "completedStatus" | "completed_status",
        /// Why it failed, if it did.
        failure_reason: Option<String> = "failureReason" | "failure_reason",
        /// The last task it completed, as logs say it.
        last_task_completed: Option<String> = "lastTaskCompleted" | "last_task_completed",
        /// The reason, as logs say it.
        reason: Option<String> = "reason",
    }

    /// A task is now somebody's.
    "task_assignment" TaskAssignment {
        /// The task.
        task_id: Option<String> = "taskId" | "task_id",
        /// Its title.
        subject: Option<String> = "subject",
        /// All of it.
        description: Option<String> = "description",
        /// Who assigned it.
        assigned_by: Option<String> = "assignedBy" | "assigned_by",
        /// When.
        timestamp: Option<Stamp> = "timestamp",
        /// How urgent it is: a number or a word.
        priority: Option<Level> = "priority",
        /// How long it should take.
        estimated_hours: Option<f64> = "estimatedHours" | "estimated_hours",
    }

    /// How far is a task?
    "task_status_request" TaskStatusRequest {
        /// Ties the answer to the question.
        request_id: Option<String> = "requestId" | "request_id",
        /// The task.
        task_id: Option<String> = "taskId" | "task_id",
    }

    /// So far.
    "task_status_response" TaskStatusResponse {
        /// The question's id.
        request_id: Option<String> = "requestId" | "request_id",
        /// The task.
        task_id: Option<String> = "taskId" | "task_id",
        /// `pending`, `in_progress`, `completed`…
        status: Option<String> = "status",
        /// Percent done.
        progress: Option<f64> = "progress" | "progress_percent" | "progressPercent",
        /// When it should be done, in the member's own words or as a time.
        eta: Option<String> = "eta",
    }

    /// A task is done.
    "task_completion" TaskCompletion {
        /// The task.
        task_id: Option<String> = "taskId" | "task_id",
        /// How long it took.
        actual_hours: Option<f64> = "actualHours" | "actual_hours",
        /// What is worth knowing.
        notes: Option<String> = "notes",
    }

    /// A task cannot go on.
    "blocking_notification" BlockingNotification {
        /// The task.
        task_id: Option<String> = "taskId" | "task_id",
        /// The tasks that it waits for.
        blocked_by: Vec<String> = "blockedBy" | "blocked_by",
        /// Why.
        reason: Option<String> = "reason",
    }

    /// Plain text in a protocol envelope.
    "message" TextMessage {
        /// The text.
        text: Option<String> = "text" | "content" | "message",
    }

    /// Plain text to the whole team.
    "team_broadcast" TeamBroadcast {
        /// The text.
        text: Option<String> = "text" | "content" | "message",
        /// Whom it was sent to.
        recipients: Vec<String> = "recipients",
    }

    /// A message has arrived.
    "acknowledgment" Acknowledgment {
        /// The message.
        ack_id: Option<String> = "ackId" | "ack_id" | "messageId",
        /// What the recipient adds.
        text: Option<String> = "text" | "note",
    }

    /// The lead asks a member to end.
    "shutdown_request" ShutdownRequest {
        /// `shutdown-<milliseconds>@<name>`.
        request_id: Option<String> = "requestId" | "request_id",
        /// Who asks.
        from: Option<String> = "from",
        /// Why.
        reason: Option<String> = "reason",
        /// When.
        timestamp: Option<Stamp> = "timestamp",
    }

    /// The member's answer, either way.
    "shutdown_response" ShutdownResponse {
        /// The request's id.
        request_id: Option<String> = "requestId" | "request_id",
        /// Whether it ends.
        approved: Option<bool> = "approved" | "approve",
        /// Why not.
        content: Option<String> = "content" | "reason",
    }

    /// The member ends.
    "shutdown_approved" ShutdownApproved {
        /// The request's id.
        request_id: Option<String> = "requestId" | "request_id",
        /// The member.
        from: Option<String> = "from",
        /// When.
        timestamp: Option<Stamp> = "timestamp",
        /// The pane that can be closed.
        pane_id: Option<String> = "paneId" | "pane_id",
        /// What the member runs in.
        backend_type: Option<String> = "backendType" | "backend_type",
    }

    /// The member stays.
    "shutdown_rejected" ShutdownRejected {
        /// The request's id.
        request_id: Option<String> = "requestId" | "request_id",
        /// The member.
        from: Option<String> = "from",
        /// Why it stays.
        reason: Option<String> = "reason" | "content",
        /// When.
        timestamp: Option<Stamp> = "timestamp",
    }

    /// A member asks whether it may carry out a plan.
    "plan_approval_request" PlanApprovalRequest {
        /// Ties the answer to the question.
        request_id: Option<String> = "requestId" | "request_id",
        /// The member.
        from: Option<String> = "from",
        /// The plan.
        plan: Option<String> = "plan" + "planContent" | "plan_content",
        /// The plan's file.
        plan_file_path: Option<String> = "planFilePath" | "plan_file_path",
        /// The short version.
        summary: Option<String> = "summary",
        /// When.
        timestamp: Option<Stamp> = "timestamp",
    }

    /// The lead's answer to a plan.
    "plan_approval_response" PlanApprovalResponse {
        /// The request's id.
        request_id: Option<String> = "requestId" | "request_id",
        /// Whether the member may go on.
        approved: Option<bool> = "approve" + "approved",
        /// What to change or to mind.
        feedback: Option<String> = "feedback",
        /// The mode that the member goes on in.
        permission_mode: Option<String> = "permissionMode" | "permission_mode",
        /// When.
        timestamp: Option<Stamp> = "timestamp",
    }

    /// A member is alive and this far.
    "heartbeat" Heartbeat {
        /// The task it works on.
        task_id: Option<String> = "task_id" | "taskId",
        /// Percent done.
        progress_percent: Option<f64> = "progress_percent" | "progress" | "progressPercent",
        /// The health check that it answers.
        request_id: Option<String> = "request_id" | "requestId",
    }

    /// Is a member alive?
    "health_check" HealthCheck {
        /// Ties the heartbeat to the question.
        request_id: Option<String> = "request_id" | "requestId",
    }

    /// A member is not, and its tasks are free.
    "stall_alert" StallAlert {
        /// The member.
        stalled_agent: Option<String> = "stalled_agent" | "stalledAgent",
        /// The tasks that others may take.
        released_tasks: Vec<String> = "released_tasks" | "releasedTasks",
    }

    /// The prompt that a member was started with.
    "system_init" SystemInit {
        /// The prompt.
        prompt: Option<String> = "prompt" | "text" | "content",
    }

    /// A client asks its lead for leave to use a tool.
    "permission_request" PermissionRequest {
        /// Ties the answer to the question.
        request_id: Option<String> = "request_id" | "requestId",
        /// Who asks.
        from: Option<String> = "agent_id" | "agentId" | "from",
        /// The tool.
        tool_name: Option<String> = "tool_name" | "toolName",
        /// What for.
        description: Option<String> = "description",
    }

    /// The lead's answer.
    "permission_response" PermissionResponse {
        /// The request's id.
        request_id: Option<String> = "request_id" | "requestId",
        /// `success` or `error`.
        subtype: Option<String> = "subtype",
        /// Why not.
        error: Option<String> = "error",
    }

    /// A lead changes a member's mode.
    "mode_set_request" ModeSetRequest {
        /// The mode.
        mode: Option<String> = "mode",
        /// Who asks.
        from: Option<String> = "from",
    }

    /// A lead widens or narrows what the team may do.
    "team_permission_update" TeamPermissionUpdate {
        /// The folder it is about.
        directory_path: Option<String> = "directoryPath" | "directory_path",
        /// The tool it is about.
        tool_name: Option<String> = "toolName" | "tool_name",
    }

    /// A member has ended.
    "teammate_terminated" TeammateTerminated {
        /// What the client says about it.
        message: Option<String> = "message",
    }
}
