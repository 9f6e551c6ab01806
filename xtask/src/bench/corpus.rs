//! Made-up mail for a large ledger: the same on every run.

use std::path::Path;

use anyhow::{Result, ensure};
use atm_ledger::{Evidence, InboxKey, Ledger, NewMessage, Observed, Stage};

use super::report::grouped;
use super::world::TEAM;

const SYLLABLES: [&str; 24] = [
    "ba", "ke", "mi", "ro", "tu", "la", "se", "ni", "do", "pu", "ga", "ve", "zi", "ho", "ju", "fa", "re",
    "ti", "so", "nu", "ka", "le", "bi", "mo",
];
/// The words are numbered by how rare they are; there are two to this power less one.
const OCTAVES: u64 = 13;
const WORDS_EACH: usize = 20;

/// The first is the team that is there.
const TEAMS: [&str; 8] = [TEAM, "api", "billing", "compiler", "docs", "editor", "frontend", "gateway"];
const RECIPIENTS: [&str; 5] = ["team-lead", "alice", "carol", "dave", "erin"];
const SENDERS: [&str; 7] = ["team-lead", "frank", "grace", "heidi", "ivan", "judy", "mallory"];

/// How many messages one look at an inbox finds.
const BATCH: u32 = 1_000;
/// 2026-01-01; one message every ten seconds from then on.
const START: i64 = 1_767_225_600_000;
const APART: i64 = 10_000;

/// Makes a ledger of so many messages, all of them taken and most of them seen, in the inboxes of several teams below `root`.
pub(super) fn make_ledger(path: &Path, root: &Path, messages: u32) -> Result<()> {
    let mut ledger = Ledger::open(path)?;
    for (batch, start) in (0..messages).step_by(BATCH as usize).enumerate() {
        let end = messages.min(start.saturating_add(BATCH));
        let inbox = InboxKey::new(root, pick(&TEAMS, batch), pick(&RECIPIENTS, batch / TEAMS.len()));
        let observed: Vec<Observed> = (start..end).map(observed).collect();
        ledger.observe(&inbox, &observed, None, sent_at(end))?;
        if end.is_multiple_of(100 * BATCH) || end == messages {
            eprintln!("bench: ledger: {} of {} messages", grouped(end.into()), grouped(messages.into()));
        }
    }
    let count = ledger.count()?;
    ensure!(count == u64::from(messages), "the ledger has {count} instead of {messages} messages");
    Ok(())
}

/// What the search number `number` looks for: one to three words of some message; in every fourth search, the last
/// word is cut short.
pub(super) fn search(number: u32, messages: u32) -> String {
    // A prime step: the searches are spread over all messages.
    let message = u32::try_from(u64::from(number) * 7_368_787 % u64::from(messages)).unwrap_or_default();
    let text = text(message);
    let count = 1 + number as usize % 3;
    let mut words = text.split(' ').skip(number as usize % 7).take(count).collect::<Vec<_>>().join(" ");
    if number % 4 == 3 {
        words.pop();
    }
    words
}

/// The id of a message.
pub(super) fn id(number: u32) -> String {
    format!("{number:08x}-5a3e-7c0d-9b1f-{number:012x}")
}

fn observed(number: u32) -> Observed {
    let text = text(number);
    let id = id(number);
    let new = NewMessage {
        id: id.clone(),
        sender: pick(&SENDERS, number as usize).to_owned(),
        summary: Some(text.split(' ').take(5).collect::<Vec<_>>().join(" ")),
        text,
        kind: "message".to_owned(),
        sent_at: sent_at(number),
        ..NewMessage::default()
    };
    // What is taken and not seen is looked for in the conversations.
    let stage = if number.is_multiple_of(20) {
        (Stage::Taken, Evidence::certain("marked as read in the inbox"))
    } else {
        (Stage::Seen, Evidence::certain("found in the conversation"))
    };
    Observed {
        id,
        new: Some(Box::new((new, Evidence::certain("found in the inbox")))),
        stages: vec![stage],
        at: None,
    }
}

fn text(number: u32) -> String {
    let mut random = Random(number.into());
    (0..WORDS_EACH).map(|_| word(random.rank())).collect::<Vec<_>>().join(" ")
}

/// The word of this rank.
fn word(rank: u64) -> String {
    let syllable = |rest: u64| pick(&SYLLABLES, usize::try_from(rest).unwrap_or_default());
    [syllable(rank), syllable(rank / 24), syllable(rank / 24 / 24)].concat()
}

fn pick<'a>(from: &[&'a str], number: usize) -> &'a str {
    from[number % from.len()]
}

fn sent_at(number: u32) -> i64 {
    START + i64::from(number) * APART
}

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The rank of a word. Ranks up to twice as large are half as likely, as Zipf found in languages.
    fn rank(&mut self) -> u64 {
        let octave = 1 << (self.next() % OCTAVES);
        octave + self.next() % octave - 1
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn words_are_distinct_and_as_uneven_as_in_a_language() {
        let words: HashSet<String> = (0..(1 << OCTAVES) - 1).map(word).collect();
        assert_eq!(words.len(), (1 << OCTAVES) - 1);
        let with = |word: &str| (0..2_000).filter(|n| text(*n).split(' ').any(|w| w == word)).count();
        assert!((1_500..1_750).contains(&with(&word(0))), "{}", with(&word(0)));
        assert!(with(&word(8_000)) < 10);
    }

    #[test]
    fn every_search_finds_something() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.db");
        make_ledger(&path, folder.path(), 2_500).unwrap();
        let mut ledger = Ledger::open(&path).unwrap();
        let root = InboxKey::new(folder.path(), "", "").root;
        for number in 0..24 {
            let words = search(number, 2_500);
            let query = atm_ledger::Query { words, root: root.clone(), limit: 20, ..Default::default() };
            assert!(!ledger.search(&query).unwrap().is_empty(), "{}", query.words);
        }
    }
}
