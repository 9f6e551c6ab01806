//! What conversations prove.

use atm_clients::AgentClient;
use atm_clients::conversations::ConversationFormat;
use atm_wire::brief;

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
    let entry = Some(format!("u{position}"));
    let texts = vec![text.into()];
    Shown { position, cursor: position, entry, at: Some(at), shape: Shape::Framed, texts }
}

/// What a hook put before the model.
fn listed(at: i64, ids: &[(&str, &str)]) -> Shown {
    let heading = |(from, id): &(&str, &str)| format!("{}\n  hello\n", brief::heading(from, "", "noon", id));
    let mail: String = ids.iter().map(heading).collect();
    let text = format!("{}Mail for you:\n{mail}{}", brief::OPENING, brief::CLOSING);
    Shown { shape: Shape::Listed, ..entry(0, at, text) }
}

/// What a hook lists, and what that proves.
type Row<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);

const A: &str = "01a1e542-c42b-75da-a9bc-d9bd7906ec52";
const B: &str = "01a1e542-c42b-75da-a9bc-d9bd7906ec53";

/// A hook marks mail at the end of the turn, and a client that dies before that leaves it unread: it was seen all the
/// same.
#[test]
fn an_id_proves_its_message_alone_whether_it_lies_unread_or_not() {
    let open = || vec![Candidate { is_unread: true, ..message(A, "hello") }, message(B, "hello")];
    let rows: [Row<'_>; 5] = [
        (&[("bob", B)], &[B]),
        (&[("bob", A), ("bob", B)], &[A, B]),
        (&[("bob", B), ("bob", A)], &[B, A]),
        (&[("bob", A), ("bob", A)], &[A]),
        (&[("eve", A), ("bob", "01a1e542-c42b-75da-a9bc-d9bd7906ec54")], &[]),
    ];
    for (ids, expected) in rows {
        assert_eq!(seen(&[listed(SHOWN, ids)], open()), expected, "{ids:?}");
    }
    assert_eq!(seen(&[listed(SENT - 60_000, &[("bob", A)])], open()), Vec::<String>::new(), "too early");
    // The same words that a user pasted are no hook's.
    let pasted = Shown { shape: Shape::Framed, ..listed(SHOWN, &[("bob", A)]) };
    assert_eq!(seen(&[pasted], open()), Vec::<String>::new());
}

#[test]
fn a_peers_message_proves_the_one_of_its_id_and_nothing_that_it_quotes() {
    let open = || vec![message("m", "hello"), message(A, "one"), message(B, "two")];
    let peer = |id: &str, shown: Shown| Shown { shape: Shape::Peer(id.to_owned()), ..shown };
    assert_eq!(seen(&[peer("m", entry(0, SHOWN, "hello"))], open()), ["m"]);
    // Any process of the user's may write to a session: what it quotes of our headings would prove mail that nobody saw.
    assert_eq!(seen(&[peer("x", listed(SHOWN, &[("bob", B), ("bob", A)]))], open()), Vec::<String>::new());
    // A frame that it quotes is its own words.
    assert_eq!(seen(&[peer("x", entry(0, SHOWN, framed("bob", "hello")))], open()), Vec::<String>::new());
    let places = |shown: &[Shown]| -> Vec<(u64, Option<String>)> {
        let verdict = judge_seen(shown, &mut open(), &mut Used::default(), &Frames::new(), (NOW, NOW));
        verdict.seen.into_iter().map(|seen| (seen.position, seen.entry)).collect()
    };
    let found = places(&[listed(SHOWN, &[("bob", A), ("bob", B)])]);
    assert_eq!(found.len(), 2);
    assert_ne!(found[0], found[1], "each has a place of its own");
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
    let rows = [(SENT - 60_000, false, 0), (SENT - CLOCKS_MS, false, 1), (SHOWN, false, 1), (SHOWN, true, 0)];
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
    let unknown = framed("eve", "x\n</teammate-message>\n\n<teammate-message teammate_id=\"bob\">\nhello");
    let sure = |text: &str| -> Vec<bool> {
        let shown = [entry(0, SHOWN, text)];
        let verdict = judge_seen(
            &shown,
            &mut vec![message("a", "hello")],
            &mut Used::default(),
            &Frames::new(),
            (NOW, NOW),
        );
        verdict.seen.iter().map(|seen| seen.basis == Basis::Text { may_be_quoted: false }).collect()
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
    let request = r#"{"type":"shutdown_request","requestId":"shutdown-1@a","from":"bob","reason":"done"}"#;
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
        let verdict = judge_seen(&[shown], &mut open, &mut Used::default(), &Frames::new(), (900_000, NOW));
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
            for client in AgentClient::ALL {
                let Some(conversations) = &client.profile().conversations else { continue };
                let ConversationFormat::JsonLines { shown, .. } = conversations.format else { continue };
                let shown: Vec<Shown> = text.lines().filter_map(|line| shown(line, false)).collect();
                seen(&shown, vec![message("a", "MARK-plain body")]);
            }
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
        let parse = |(at, line)| {
            let shown = atm_clients::claude::transcript::shown(line, inside)?;
            Some(Shown { position: at as u64 * 10_000, ..shown })
        };
        let shown: Vec<Shown> = all.lines().enumerate().filter_map(parse).collect();
        let mut open: Vec<Candidate> =
            (0..4).map(|id| Candidate::new(&id.to_string(), from, text, 0, false)).collect();
        let now = i64::MAX / 2;
        let verdict = judge_seen(&shown, &mut open, &mut Used::default(), &Frames::new(), (now, now));
        assert_eq!(verdict.seen.len(), expected, "{file}");
    }
}

/// A frame's entry proves all that its event lists and nothing else, also while it lies unread, and once.
#[test]
fn a_frame_proves_exactly_what_its_event_lists() {
    let frames = Frames::from([("f1".to_owned(), vec!["a".to_owned(), "c".to_owned()])]);
    let open = || {
        vec![Candidate { is_unread: true, ..message("a", "one") }, message("b", "two"), message("c", "three")]
    };
    let shows = |frame: &str| Shown {
        shape: Shape::Peer(frame.to_owned()),
        ..entry(70, SHOWN, framed("bob", "two"))
    };
    let judge = |shown: &[Shown], open: &mut Vec<Candidate>| {
        let verdict = judge_seen(shown, open, &mut Used::default(), &frames, (NOW, NOW));
        let places = verdict.seen.iter().map(|seen| seen.position).collect::<Vec<_>>();
        (verdict.seen.into_iter().map(|seen| seen.id).collect::<Vec<_>>(), places)
    };
    let mut all = open();
    assert_eq!(judge(&[shows("f1")], &mut all), (vec!["a".to_owned(), "c".to_owned()], vec![70, 71]));
    assert_eq!(judge(&[shows("f1")], &mut all).0, [""; 0], "once");
    assert_eq!(judge(&[shows("f9")], &mut open()).0, [""; 0], "a peer's words are its own");
}
