//! What most tests begin with.

use std::collections::HashSet;
use std::time::Duration;

use atm_store::{Layout, LockTimes, Mailbox, Receipt};
use atm_support::{TestEnv, TestTeam};

/// Gives up soon, and believes in locks as long as real clients do.
pub(crate) const HASTY: LockTimes =
    LockTimes { wait: Duration::from_millis(150), stale: Duration::from_secs(10) };

/// A team in the array layout, with `bob`, who has no inbox yet.
pub(crate) fn array_team() -> TestTeam {
    TestEnv::new().team("demo", Layout::Array, &["team-lead", "bob"])
}

/// A team in the log layout, with `bob`, whose inbox is empty.
pub(crate) fn log_team() -> TestTeam {
    TestEnv::new().team("demo", Layout::Log, &["team-lead", "bob"])
}

/// An entry as somebody else would have written it, on one line.
pub(crate) fn entry(text: &str) -> String {
    format!(r#"{{"from":"alice","text":"{text}","timestamp":"2026-11-15T18:42:20.463Z","read":false}}"#)
}

/// A line as somebody else would have written it, without its newline.
pub(crate) fn line(text: &str) -> String {
    format!(
        r#"{{"type":"message","from":"alice","to":"bob","timestamp":"2026-11-15T18:42:20Z","content":{{"text":"{text}"}}}}"#
    )
}

/// Receipts for those messages in the mailbox that have one of these texts.
pub(crate) fn receipts(mailbox: &Mailbox, texts: &[&str]) -> HashSet<Receipt> {
    let messages = mailbox.list().unwrap().messages;
    messages.iter().filter(|message| texts.contains(&message.text.as_str())).map(Receipt::of).collect()
}

/// The texts of all messages, in reading order.
pub(crate) fn listed(mailbox: &Mailbox) -> Vec<String> {
    mailbox.list().unwrap().messages.into_iter().map(|message| message.text).collect()
}

/// The texts of unread messages, in reading order.
pub(crate) fn unread(mailbox: &Mailbox) -> Vec<String> {
    let messages = mailbox.list().unwrap().messages;
    messages.into_iter().filter(|message| !message.read).map(|message| message.text).collect()
}

/// The texts of the first `limit` unread messages, which are now read.
pub(crate) fn take(mailbox: &Mailbox, limit: usize) -> Vec<String> {
    mailbox.take(limit).unwrap().messages.into_iter().map(|message| message.text).collect()
}

/// `texts` in order of the alphabet, to compare what arrived in any order.
pub(crate) fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts
}
