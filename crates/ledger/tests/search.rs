//! A search finds the same whether the words are indexed, or none of them, or some.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use atm_ledger::{Acceptance, Filter, InboxKey, Ledger, NewMessage, Place, Query, Recorded};

const TEXTS: [&str; 12] = [
    "the build is red",
    "The BUILDS are green",
    "rebuild it, please",
    "first line\nbuild on the second\tand a tab",
    "in the café by the river",
    "in the CAFE\u{301} again",
    "Привет, мир: build",
    "a-b foo-bar \"quoted build\" {\"type\":\"x\"}",
    "red, red, red",
    "\u{1b}[31mbuild\u{1b}[0m",
    "nothing of it",
    "Straße und Größe des Builds",
];

const SEARCHES: [&str; 22] = [
    "build",
    "BUILD",
    "builds",
    "buil",
    "red build",
    "build red",
    "\"is red\"",
    "\"red is\"",
    "\"buil\"",
    "cafe",
    "café",
    "caf",
    "привет",
    "ПРИВ",
    "foo-bar",
    "a-b",
    "größe",
    "grosse",
    "strasse",
    "team-lead build",
    "second",
    "31mbuild",
];

fn ledger(folder: &tempfile::TempDir) -> (Ledger, InboxKey) {
    let inbox = InboxKey::new(folder.path(), "demo", "bob");
    let mut ledger = Ledger::open(&folder.path().join("log.db")).unwrap();
    for (number, text) in TEXTS.iter().enumerate() {
        let message = NewMessage {
            id: format!("m{number}"),
            sender: if number % 3 == 0 { "carol" } else { "team-lead" }.into(),
            text: (*text).into(),
            summary: (number == 10).then(|| "a word in the summary".into()),
            kind: "message".into(),
            sent_at: 1_000,
            ..NewMessage::default()
        };
        let accepted = Acceptance { inbox: inbox.clone(), message, is_new: true, draft: String::new() };
        ledger.accept(&[accepted], 1_000, "test").unwrap();
    }
    (ledger, inbox)
}

fn found(ledger: &mut Ledger, root: &str, words: &str, limit: usize, from: Option<&str>) -> Vec<String> {
    let query = Query {
        words: words.into(),
        root: root.into(),
        limit,
        from: from.map(ToOwned::to_owned),
        ..Query::default()
    };
    let found = ledger.search(&query).unwrap();
    found.into_iter().map(|(message, place)| format!("{}: {place}", message.id)).collect()
}

#[test]
fn it_finds_the_same_however_much_is_indexed() {
    let all = |indexed: usize| {
        let folder = tempfile::tempdir().unwrap();
        let (mut ledger, inbox) = ledger(&folder);
        if indexed > 0 {
            assert_eq!(ledger.index_words(indexed).unwrap(), indexed < TEXTS.len(), "{indexed} are indexed");
        }
        let mut answers = Vec::new();
        for words in SEARCHES {
            for limit in [1, 3, 100] {
                for from in [None, Some("carol")] {
                    answers.push((words, limit, from, found(&mut ledger, &inbox.root, words, limit, from)));
                }
            }
        }
        answers
    };
    let whole = all(TEXTS.len());
    assert!(
        whole.iter().filter(|(.., found)| !found.is_empty()).count() > 60,
        "the searches are worth something"
    );
    for indexed in [0, 1, 5, 11] {
        assert_eq!(all(indexed), whole, "{indexed} of {} are indexed", TEXTS.len());
    }
}

/// Pages that begin behind the last one of the page before have everything once, however much is indexed.
#[test]
fn pages_of_a_search_and_of_the_trace_have_everything_once() {
    for indexed in [0, 1, 5, TEXTS.len()] {
        let folder = tempfile::tempdir().unwrap();
        let (mut ledger, inbox) = ledger(&folder);
        ledger.index_words(indexed).unwrap();
        for words in ["red", "build", "second", "b"] {
            let all = Query { words: words.into(), root: inbox.root.clone(), limit: 100, ..Query::default() };
            let whole: Vec<String> =
                ledger.search(&all).unwrap().into_iter().map(|(found, _)| found.id).collect();
            let (mut pages, mut before) = (Vec::new(), None);
            for _ in 0..whole.len() {
                let page = ledger.search(&Query { limit: 1, before, ..all.clone() }).unwrap();
                before = page.last().map(|(message, _)| message.place().to_string().parse().unwrap());
                pages.extend(page.into_iter().map(|(found, _)| found.id));
            }
            assert_eq!(pages, whole, "{words}, {indexed} are indexed");
        }
        // All were sent in the same millisecond.
        let all = Filter { team: Some("demo".into()), limit: 100, ..Filter::default() };
        let whole: Vec<String> =
            ledger.trace(&inbox.root, &all).unwrap().into_iter().rev().map(|found| found.id).collect();
        assert_eq!(whole.len(), TEXTS.len());
        let (mut pages, mut before) = (Vec::new(), None);
        while pages.len() < whole.len() {
            let page = ledger.trace(&inbox.root, &Filter { limit: 3, before, ..all.clone() }).unwrap();
            before = page.first().map(Recorded::place);
            assert!(!page.is_empty());
            pages.extend(page.into_iter().rev().map(|found| found.id));
        }
        assert_eq!(pages, whole);
    }
    for text in ["", "1", "1.x", "x.1", ".", "1-1"] {
        assert!(text.parse::<Place>().is_err(), "{text}");
    }
}

#[test]
fn a_search_leaves_the_words_to_idle_moments() {
    let folder = tempfile::tempdir().unwrap();
    let (mut ledger, inbox) = ledger(&folder);
    assert_eq!(found(&mut ledger, &inbox.root, "red", 1, None).len(), 1);
    assert!(ledger.index_words(1).unwrap(), "the search took none in");
    assert!(ledger.index_words(5).unwrap());
    assert!(!ledger.index_words(100).unwrap(), "that is all");
    assert!(!ledger.index_words(100).unwrap());
}
