//! Payloads whose type and short version stand in the entry, beside the text.
//!
//! Signs of life are scanned, not read: their readers want to tell them apart without parsing the text.

use super::{Heartbeat, Payload, StallAlert};

impl Payload {
    /// Whether the entry's own `type` is the payload's. That of all others is `message`.
    pub fn names_its_entry(&self) -> bool {
        matches!(self, Self::Heartbeat(_) | Self::HealthCheck(_) | Self::StallAlert(_))
    }

    /// The summary that the entry has. Other payloads have none: clients tell words from payloads by it.
    pub fn headline(&self) -> Option<String> {
        match self {
            Self::Heartbeat(beat) => Some(heartbeat(beat)),
            Self::HealthCheck(_) => Some("health check request".to_owned()),
            Self::StallAlert(alert) => Some(stall_alert(alert)),
            _ => None,
        }
    }
}

/// As other programs spell it: `heartbeat: T5 60%`.
fn heartbeat(beat: &Heartbeat) -> String {
    let task = beat.task_id.as_ref().map(|task| format!("T{task}"));
    let progress = beat.progress_percent.map(|percent| format!("{percent}%"));
    let said: Vec<String> = task.into_iter().chain(progress).collect();
    if said.is_empty() { "heartbeat".to_owned() } else { format!("heartbeat: {}", said.join(" ")) }
}

fn stall_alert(alert: &StallAlert) -> String {
    let who = alert.stalled_agent.as_deref().unwrap_or("a member");
    match alert.released_tasks.as_slice() {
        [] => format!("{who} stalled"),
        [task] => format!("{who} stalled, task {task} released"),
        tasks => format!("{who} stalled, tasks {} released", tasks.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::{HealthCheck, TaskCompletion};

    #[test]
    fn signs_of_life_have_a_headline_and_other_payloads_none() {
        let beat = |task: Option<&str>, progress_percent| {
            let task_id = task.map(ToOwned::to_owned);
            Payload::from(Heartbeat { task_id, progress_percent, request_id: None }).headline().unwrap()
        };
        assert_eq!(beat(Some("5"), Some(60.0)), "heartbeat: T5 60%");
        assert_eq!(beat(None, None), "heartbeat");
        let alert = |tasks: &[&str]| {
            let released_tasks = tasks.iter().map(ToString::to_string).collect();
            Payload::from(StallAlert { stalled_agent: Some("bob".into()), released_tasks })
                .headline()
                .unwrap()
        };
        assert_eq!(alert(&["5", "6"]), "bob stalled, tasks 5,6 released");
        assert_eq!(alert(&[]), "bob stalled");
        assert!(Payload::from(HealthCheck::default()).names_its_entry());
        let done = Payload::from(TaskCompletion::default());
        assert!(done.headline().is_none() && !done.names_its_entry());
    }
}
