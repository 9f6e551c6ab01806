//! Commands that are tried, and what each of them is to do.

use super::world::LEAD;

/// A message that a command is to deliver.
pub(super) struct Delivery {
    pub(super) to: &'static str,
    pub(super) text: String,
}

/// A command with what it is to do.
pub(super) struct Case {
    pub(super) who: &'static str,
    pub(super) args: Vec<String>,
    pub(super) input: Option<String>,
    pub(super) does: Does,
}

pub(super) enum Does {
    /// Delivers these.
    Deliver(Vec<Delivery>),
    /// Shows bob his unread mail, with this text, and marks it.
    Read(String),
    /// Makes a task of this subject.
    Task(String),
}

impl Case {
    fn new(who: &'static str, args: &[&str], does: Does) -> Self {
        let args = ["-t", "dev", "--json"].iter().chain(args).map(|arg| (*arg).to_owned()).collect();
        Self { who, args, input: None, does }
    }

    /// One message to bob.
    pub(super) fn send(text: &str) -> Self {
        Self::new(LEAD, &["send", "bob", text], deliver(&["bob"], text))
    }

    /// Three messages, two of them to one recipient.
    pub(super) fn batch(text: &str) -> Self {
        let to = ["bob", "carol", "bob"];
        let deliveries: Vec<Delivery> =
            (1..).zip(to).map(|(number, to)| Delivery { to, text: format!("{number} of {text}") }).collect();
        let line = |delivery: &Delivery| {
            format!("{}\n", serde_json::json!({ "to": delivery.to, "text": delivery.text }))
        };
        let input = deliveries.iter().map(line).collect();
        let case = Self::new(LEAD, &["send", "--batch"], Does::Deliver(deliveries));
        Self { input: Some(input), ..case }
    }

    /// One message to everybody.
    pub(super) fn broadcast(text: &str) -> Self {
        Self::new(LEAD, &["broadcast", text], deliver(&["bob", "carol"], text))
    }

    /// bob answers a message of the lead.
    pub(super) fn reply(id: &str, text: &str) -> Self {
        Self::new("bob", &["reply", id, text], deliver(&[LEAD], text))
    }

    /// bob acknowledges a message of the lead.
    pub(super) fn ack(id: &str) -> Self {
        Self::new("bob", &["ack", id], deliver(&[LEAD], id))
    }

    /// bob reads.
    pub(super) fn read(text: &str) -> Self {
        Self::new("bob", &["read"], Does::Read(text.to_owned()))
    }

    /// The lead makes a task.
    pub(super) fn task(subject: &str) -> Self {
        Self::new(LEAD, &["task", "create", subject], Does::Task(subject.to_owned()))
    }

    pub(super) fn args(&self) -> Vec<&str> {
        self.args.iter().map(String::as_str).collect()
    }
}

fn deliver(to: &[&'static str], text: &str) -> Does {
    Does::Deliver(to.iter().map(|to| Delivery { to, text: text.to_owned() }).collect())
}
