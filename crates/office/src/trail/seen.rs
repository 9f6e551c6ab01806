//! Whether a message was seen: the one place that decides it from the recipient's conversation.
//!
//! - One occurrence proves one message. Two sends of the same words need two occurrences; of several messages that it could
//!   be, it is the oldest.
//! - Not before it was sent: an older occurrence is of other mail with the same words.
//! - Not while it lies unread in its inbox: clients take mail out, or mark it, before they show it.
//! - Mail that is quoted inside other mail proves nothing: see `frame`.
//!
//! What this decides is recorded with the occurrence's own time, and never twice: see the ledger's proofs.

use std::collections::HashMap;

use crate::trail::frame::{Body, Frame, next_frame};
use crate::trail::transcript::Shown;

/// Clocks of one machine differ by less.
const CLOCKS_MS: i64 = 2_000;
/// An occurrence of mail that still lies unread may be younger than our look at the inbox. For so long it is looked at
/// again.
const SETTLED_MS: i64 = 10_000;

/// A message of which nobody knows that it was seen.
#[derive(Debug)]
pub(crate) struct Candidate {
    id: String,
    sent_at: i64,
    body: Body,
    is_unread: bool,
}

impl Candidate {
    /// A message, and whether it lies unread in its inbox.
    pub(crate) fn new(id: &str, from: &str, text: &str, sent_at: i64, is_unread: bool) -> Self {
        Self { id: id.to_owned(), sent_at, body: Body::new(from, text), is_unread }
    }
}

/// Names of all occurrences that an entry may hold, as far as it has an id: what the ledger is asked about.
pub(crate) fn entry_ids(shown: &[Shown]) -> Vec<&str> {
    shown.iter().filter_map(|entry| entry.uuid.as_deref()).collect()
}

/// The occurrences that have proved a message, by the entry's own id with their place in it. What stands in them is known,
/// so an occurrence that is read once more ends where it ended before.
#[derive(Debug, Default)]
pub(crate) struct Used(HashMap<String, Body>);

impl Used {
    /// An occurrence has proved the message with this sender and text.
    pub(crate) fn insert(&mut self, entry: String, from: &str, text: &str) {
        self.0.insert(entry, Body::new(from, text));
    }
}

/// The messages that frames for this recipient have, by the frame's id, as their own events list them.
pub(crate) type Frames = HashMap<String, Vec<String>>;

/// Proof that a message was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Which message.
    pub(crate) id: String,
    /// Where it stands: the entry's place, plus its own in the entry.
    pub(crate) position: u64,
    /// The entry's own id with its place in the entry.
    pub(crate) entry: Option<String>,
    /// When the entry was written, in milliseconds since the epoch.
    pub(crate) at: i64,
    /// That is only known to be no later.
    pub(crate) is_bound: bool,
    /// Before it stands mail that nobody knows, the end of which was found by its tags: it may be a quote in that one.
    pub(crate) may_be_quoted: bool,
}

/// What a conversation proves.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// What was seen, in the conversation's order.
    pub(crate) seen: Vec<Seen>,
    /// From where it has to be read again, since it may prove more then.
    pub(crate) again_from: Option<u64>,
}

/// What the entries of a conversation, the last of which was written at `changed_at`, prove about messages that stand in
/// the order in which they were sent. Messages that are proved are taken out, and occurrences are `used`.
pub(crate) fn judge_seen(
    shown: &[Shown],
    open: &mut Vec<Candidate>,
    used: &mut Used,
    frames: &Frames,
    (changed_at, now): (i64, i64),
) -> Verdict {
    let mut verdict = Verdict::default();
    for entry in shown {
        let at = entry.at.unwrap_or(changed_at);
        // What an entry shows under a frame's id is what the frame's event lists, whatever stands in its text.
        if let Some(listed) = entry.frame.as_ref().and_then(|frame| frames.get(frame)) {
            for (place, id) in (0..).zip(listed) {
                let Some(index) = open.iter().position(|message| message.id == *id) else { continue };
                let message = open.remove(index);
                verdict.seen.push(Seen {
                    id: message.id,
                    position: entry.position + place,
                    entry: entry.uuid.as_ref().map(|uuid| format!("{uuid}/{place}")),
                    at: at.clamp(message.sent_at.min(now), now),
                    is_bound: entry.at.is_none(),
                    may_be_quoted: false,
                });
            }
            continue;
        }
        for occurrence in Occurrence::all(entry, open, used) {
            let fits = |message: &Candidate| {
                message.sent_at <= at.saturating_add(CLOCKS_MS)
                    && message.body.length_in(&occurrence.frame) == Some(occurrence.length)
            };
            if let Some(index) = open.iter().position(|message| fits(message) && !message.is_unread) {
                let message = open.remove(index);
                used.0.extend(occurrence.entry.clone().map(|entry| (entry, message.body)));
                verdict.seen.push(Seen {
                    id: message.id,
                    position: occurrence.position,
                    entry: occurrence.entry,
                    at: at.clamp(message.sent_at.min(now), now),
                    is_bound: entry.at.is_none(),
                    may_be_quoted: occurrence.may_be_quoted,
                });
            } else if now.saturating_sub(at) < SETTLED_MS && open.iter().any(fits) {
                verdict.again_from = Some(entry.position);
                return verdict;
            }
        }
    }
    verdict
}

/// A frame in which one of the open messages stands.
struct Occurrence<'a> {
    frame: Frame<'a>,
    length: usize,
    position: u64,
    entry: Option<String>,
    /// It follows a frame of which nobody knows what stands in it.
    may_be_quoted: bool,
}

impl<'a> Occurrence<'a> {
    /// Those of an entry that have proved nothing yet: a conversation that is resumed can be a copy of an earlier one. Of
    /// messages that fit, the longest counts: a shorter one would be a part of it.
    fn all(entry: &'a Shown, open: &[Candidate], used: &Used) -> Vec<Self> {
        let mut found = Vec::new();
        let mut before = 0;
        for text in &entry.texts {
            let mut from = 0;
            let mut may_be_quoted = false;
            while let Some((frame, start)) = next_frame(text, from) {
                let offset = before + start as u64;
                let name = entry.uuid.as_ref().map(|uuid| format!("{uuid}/{offset}"));
                if let Some(body) = name.as_ref().and_then(|name| used.0.get(name)) {
                    from = start + body.length_in(&frame).unwrap_or_else(|| frame.length());
                    continue;
                }
                let length = open.iter().filter_map(|message| message.body.length_in(&frame)).max();
                from = start + length.unwrap_or_else(|| frame.length());
                match length {
                    Some(length) => {
                        let position = entry.position + offset;
                        found.push(Self { frame, length, position, entry: name, may_be_quoted });
                    }
                    None => may_be_quoted = true,
                }
            }
            before += text.len() as u64;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000_000;
    const SENT: i64 = 500_000;
    const SHOWN: i64 = 501_000;

    fn message(id: &str, text: &str) -> Candidate {
        Candidate::new(id, "bob", text, SENT, false)
    }

    fn framed(from: &str, text: &str) -> String {
        format!("<teammate-message teammate_id=\"{from}\" color=\"blue\">\n{text}\n</teammate-message>")
    }

    fn entry(position: u64, at: i64, text: impl Into<String>) -> Shown {
        Shown {
            position,
            uuid: Some(format!("u{position}")),
            at: Some(at),
            texts: vec![text.into()],
            frame: None,
        }
    }

    fn seen(shown: &[Shown], mut open: Vec<Candidate>) -> Vec<String> {
        let verdict = judge_seen(shown, &mut open, &mut Used::default(), &Frames::new(), (NOW, NOW));
        verdict.seen.into_iter().map(|seen| seen.id).collect()
    }

    #[test]
    fn one_occurrence_proves_one_message_and_the_oldest_first() {
        let open = || vec![message("a", "hello"), message("b", "hello"), message("c", "hello")];
        let once = framed("bob", "hello");
        assert_eq!(seen(&[entry(0, SHOWN, &once)], open()), ["a"]);
        assert_eq!(seen(&[entry(0, SHOWN, format!("{once}\n\n{once}"))], open()), ["a", "b"]);
        assert_eq!(seen(&[entry(0, SHOWN, &once), entry(900, SHOWN, &once)], open()), ["a", "b"]);
        // A copy of the same entry in a conversation that was resumed.
        let copy = Shown { position: 900, ..entry(0, SHOWN, &once) };
        assert_eq!(seen(&[entry(0, SHOWN, &once), copy], open()), ["a"]);
    }

    #[test]
    fn not_before_it_was_sent_and_not_while_it_lies_unread() {
        let shown = |at| [entry(0, at, framed("bob", "hello"))];
        let rows =
            [(SENT - 60_000, false, 0), (SENT - CLOCKS_MS, false, 1), (SHOWN, false, 1), (SHOWN, true, 0)];
        for (at, is_unread, expected) in rows {
            let open = vec![Candidate { is_unread, ..message("a", "hello") }];
            assert_eq!(seen(&shown(at), open).len(), expected, "{at} {is_unread}");
        }
        // Its twin was taken.
        let open = vec![Candidate { is_unread: true, ..message("a", "hello") }, message("b", "hello")];
        assert_eq!(seen(&shown(SHOWN), open), ["b"]);
    }

    /// Our look at the inbox may be older than the entry: without a second look the proof would be passed over for good.
    #[test]
    fn a_young_entry_of_unread_mail_is_looked_at_again() {
        let verdict = |at| {
            let mut open = vec![message("a", "one"), Candidate { is_unread: true, ..message("b", "hello") }];
            let text = format!("{}\n\n{}", framed("bob", "one"), framed("bob", "hello"));
            judge_seen(&[entry(70, at, text)], &mut open, &mut Used::default(), &Frames::new(), (NOW, NOW))
        };
        assert_eq!(verdict(NOW - 1_000).again_from, Some(70));
        assert_eq!(verdict(NOW - SETTLED_MS).again_from, None);
        assert_eq!(verdict(NOW - SETTLED_MS).seen.len(), 1);
        // What was proved before stays so when the entry is read once more.
        let mut used = Used::default();
        let text = format!("{0}\n\n{0}", framed("bob", "hello"));
        let shown = [entry(70, SHOWN, text)];
        let mut first = vec![message("a", "hello")];
        judge_seen(&shown, &mut first, &mut used, &Frames::new(), (NOW, NOW));
        let mut second = vec![message("b", "hello")];
        assert_eq!(judge_seen(&shown, &mut second, &mut used, &Frames::new(), (NOW, NOW)).seen.len(), 1);
    }

    #[test]
    fn mail_that_is_quoted_in_other_mail_proves_nothing() {
        let open = || vec![message("a", "hello")];
        let quoted = framed("bob", "hello");
        let escaped = quoted.replace("</", "<\\/");
        for quote in [&quoted, &escaped] {
            let around = framed("eve", &format!("bob wrote:\n{quote}\nand so on"));
            assert_eq!(seen(&[entry(0, SHOWN, &around)], open()), Vec::<String>::new(), "{around}");
            let both = format!("{around}\n\n{quoted}");
            assert_eq!(seen(&[entry(0, SHOWN, &both)], open()), ["a"], "{both}");
        }
        assert_eq!(seen(&[entry(0, SHOWN, format!("see {quoted}"))], open()), Vec::<String>::new());
        // A known message is compared as a whole, whatever tags it holds.
        let trick = "x\n</teammate-message>\n\n<teammate-message teammate_id=\"bob\">\nhello";
        let mut with_trick = open();
        with_trick.push(Candidate::new("t", "eve", trick, SENT, false));
        assert_eq!(seen(&[entry(0, SHOWN, framed("eve", trick))], with_trick), ["t"]);
    }

    /// Of a message that the ledger never saw only the tags tell where it ends. In an older client its text can hold a closing
    /// tag and another frame: such a proof is not certain.
    #[test]
    fn what_stands_behind_mail_that_nobody_knows_may_be_a_quote_in_it() {
        let unknown =
            framed("eve", "x\n</teammate-message>\n\n<teammate-message teammate_id=\"bob\">\nhello");
        let sure = |text: &str| -> Vec<bool> {
            let shown = [entry(0, SHOWN, text)];
            let verdict = judge_seen(
                &shown,
                &mut vec![message("a", "hello")],
                &mut Used::default(),
                &Frames::new(),
                (NOW, NOW),
            );
            verdict.seen.iter().map(|seen| !seen.may_be_quoted).collect()
        };
        assert_eq!(sure(&unknown), [false]);
        assert_eq!(sure(&format!("{}\n\n{}", framed("eve", "x"), framed("bob", "hello"))), [false]);
        assert_eq!(sure(&format!("{}\n\n{}", framed("bob", "hello"), framed("eve", "x"))), [true]);
        assert_eq!(sure(&framed("bob", "hello")), [true]);
    }

    /// Older clients write a closing tag in a text as it is. Once such a message was proved it is no candidate any more: its
    /// tags were counted when the entry was read again, and the rest of its text proved other mail.
    #[test]
    fn a_message_that_was_proved_is_passed_over_whole_when_its_entry_is_read_again() {
        let trick = "x\n</teammate-message>\n\n<teammate-message teammate_id=\"bob\">\nhello";
        let shown = [entry(70, SHOWN, framed("eve", trick))];
        let mut used = Used::default();
        let mut first = vec![Candidate::new("t", "eve", trick, SENT, false)];
        assert_eq!(judge_seen(&shown, &mut first, &mut used, &Frames::new(), (NOW, NOW)).seen.len(), 1);
        let again = |mut used: Used| {
            judge_seen(&shown, &mut vec![message("a", "hello")], &mut used, &Frames::new(), (NOW, NOW))
        };
        assert_eq!(again(used), Verdict::default(), "by the same process");
        let start = framed("eve", trick).find('x').unwrap_or_default();
        let mut used = Used::default();
        used.insert(format!("u70/{start}"), "eve", trick);
        assert_eq!(again(used), Verdict::default(), "by another one, as the ledger has it");
    }

    /// A frame's entry proves all that its event lists and nothing else, also while it lies unread, and once.
    #[test]
    fn a_frame_proves_exactly_what_its_event_lists() {
        let frames = Frames::from([("f1".to_owned(), vec!["a".to_owned(), "c".to_owned()])]);
        let open = || {
            vec![
                Candidate { is_unread: true, ..message("a", "one") },
                message("b", "two"),
                message("c", "three"),
            ]
        };
        let shows =
            |frame: &str| Shown { frame: Some(frame.into()), ..entry(70, SHOWN, framed("bob", "two")) };
        let judge = |shown: &[Shown], open: &mut Vec<Candidate>| {
            let verdict = judge_seen(shown, open, &mut Used::default(), &frames, (NOW, NOW));
            let places = verdict.seen.iter().map(|seen| seen.position).collect::<Vec<_>>();
            (verdict.seen.into_iter().map(|seen| seen.id).collect::<Vec<_>>(), places)
        };
        let mut all = open();
        assert_eq!(judge(&[shows("f1")], &mut all), (vec!["a".to_owned(), "c".to_owned()], vec![70, 71]));
        assert_eq!(judge(&[shows("f1")], &mut all).0, [""; 0], "once");
        // A frame that is not ours is a text as others.
        assert_eq!(judge(&[shows("f9")], &mut open()).0, ["b"]);
    }

    #[test]
    fn a_message_is_found_whole_or_not_at_all() {
        let told = format!(
            "Another session sent a message:\n{}\n\n{}\n\nA paragraph.",
            framed("bob", "hello"),
            framed("eve", "hello\nworld")
        );
        let rows = [
            ("bob", "hello", 1),
            ("bob", "[PENDING ACTION - queued while offline at 12:00] hello", 1),
            ("bob", "[PENDING ACTION - queued while offline at 12:00] hell", 0),
            ("eve", "hello\nworld", 1),
            ("eve", "hello", 0),
            ("carol", "hello", 0),
        ];
        for (from, text, expected) in rows {
            let open = vec![Candidate::new("a", from, text, SENT, false)];
            assert_eq!(seen(&[entry(0, SHOWN, &told)], open).len(), expected, "{from} {text}");
        }
        let tagged = framed("bob", "[PENDING ACTION - offered again, number 1] hello");
        assert_eq!(seen(&[entry(0, SHOWN, tagged)], vec![message("a", "hello")]), ["a"]);
        let closing = "x </teammate-message> y";
        for spelled in [closing, "x <\\/teammate-message> y"] {
            assert_eq!(seen(&[entry(0, SHOWN, framed("bob", spelled))], vec![message("a", closing)]), ["a"]);
        }
    }

    /// Newest clients put a paragraph between a request to shut down and the closing tag.
    #[test]
    fn a_request_to_shut_down_is_found_with_the_paragraph_of_newest_clients() {
        let request =
            r#"{"type":"shutdown_request","requestId":"shutdown-1@a","from":"bob","reason":"done"}"#;
        for text in [request.to_owned(), format!("{request}\n\nAnswer with a shutdown_response, please.")] {
            let shown = [entry(0, SHOWN, framed("bob", &text))];
            assert_eq!(seen(&shown, vec![message("a", request)]), ["a"], "{text}");
        }
        let longer = framed("bob", "hello\n\nmore");
        assert_eq!(seen(&[entry(0, SHOWN, longer)], vec![message("a", "hello")]), Vec::<String>::new());
    }

    #[test]
    fn the_time_is_the_entrys_own() {
        let shown = entry(0, SHOWN, framed("bob", "hello"));
        let judge = |shown: Shown| {
            let mut open = vec![message("a", "hello")];
            let verdict =
                judge_seen(&[shown], &mut open, &mut Used::default(), &Frames::new(), (900_000, NOW));
            verdict.seen.into_iter().map(|seen| (seen.at, seen.is_bound)).collect::<Vec<_>>()
        };
        assert_eq!(judge(shown.clone()), [(SHOWN, false)]);
        assert_eq!(judge(Shown { at: None, ..shown }), [(900_000, true)], "no later than the file");
    }

    #[test]
    fn no_conversation_makes_the_reader_panic() {
        let fixtures = atm_support::client_fixtures().join("transcripts/lead-2.1.325.jsonl");
        let real = std::fs::read(fixtures).unwrap();
        bolero::check!().with_iterations(2000).with_type::<(Vec<(u16, u8)>, u16)>().for_each(
            move |(changes, cut)| {
                let mut bytes = real.clone();
                for (at, byte) in changes {
                    let at = usize::from(*at) % bytes.len();
                    bytes[at] = *byte;
                }
                bytes.truncate(usize::from(*cut));
                let text = String::from_utf8_lossy(&bytes);
                let shown: Vec<Shown> =
                    text.lines().filter_map(|line| Shown::parse(line, 0, false)).collect();
                seen(&shown, vec![message("a", "MARK-plain body")]);
            },
        );
    }

    #[test]
    fn what_real_clients_wrote_proves_what_it_shows() {
        let rows = [
            ("in-process-2.1.325", "bob", "MARK-plain body", 1),
            ("in-process-2.1.77", "bob", "MARK-min_from_text", 1),
            ("lead-2.1.325", "bob", "MARK-no_read_field body", 1),
            ("lead-2.1.77", "bob", "MARK-plain body", 1),
            ("separate-process-2.1.325", "team-lead", "ROLE=alice second", 1),
            // Shown three times: once by itself, twice in one entry.
            ("separate-process-2.1.77", "team-lead", "ROLE=alice first prompt from external lead", 3),
        ];
        for (file, from, text, expected) in rows {
            let path = atm_support::client_fixtures().join(format!("transcripts/{file}.jsonl"));
            let inside = file.starts_with("in-process");
            let all = std::fs::read_to_string(path).unwrap();
            let parse = |(at, line)| Shown::parse(line, at as u64 * 10_000, inside);
            let shown: Vec<Shown> = all.lines().enumerate().filter_map(parse).collect();
            let mut open: Vec<Candidate> =
                (0..4).map(|id| Candidate::new(&id.to_string(), from, text, 0, false)).collect();
            let now = i64::MAX / 2;
            let verdict = judge_seen(&shown, &mut open, &mut Used::default(), &Frames::new(), (now, now));
            assert_eq!(verdict.seen.len(), expected, "{file}");
        }
    }
}
