use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn in_pieces(bytes: &[u8], piece: usize, mut feed: impl FnMut(&[u8])) {
    bytes.chunks(piece.max(1)).for_each(&mut feed);
}

fn array(bytes: &[u8], piece: usize) -> Findings {
    let mut lint = ArrayLint::default();
    in_pieces(bytes, piece, |piece| lint.feed(piece));
    lint.finish()
}

fn log(bytes: &[u8], piece: usize) -> Findings {
    let mut lint = LogLint::new(Some("bob".to_owned()));
    in_pieces(bytes, piece, |piece| lint.feed(piece));
    lint.finish()
}

/// The codes of everything but dialects, in the order of their places.
fn codes(findings: Findings) -> Vec<&'static str> {
    let bad = |finding: &Finding| finding.rule.level() != Level::Dialect;
    findings.into_list().iter().filter(|finding| bad(finding)).map(|finding| finding.rule.code()).collect()
}

const GOOD: &str =
    r#"{"from":"a","text":"t","timestamp":"2026-01-01T00:00:00.000Z","read":false,"messageId":"m1"}"#;

#[rstest]
#[case("[]", &[])]
#[case("\n[ ]\n", &[])]
#[case(r#"[{"from":"a","text":"t","timestamp":"2026-01-01T00:00:00Z","read":false}]"#, &[])]
#[case("", &["ATM-F003"])]
#[case("  \n", &["ATM-F003"])]
#[case("\u{feff}[]", &["ATM-F004"])]
#[case("{}", &["ATM-F005"])]
#[case("[", &["ATM-F002"])]
#[case("[1,]", &["ATM-M001", "ATM-F002"])]
#[case("[,]", &["ATM-F002"])]
#[case("[] x", &["ATM-F002"])]
#[case("nonsense", &["ATM-F002"])]
#[case("\0\0\0", &["ATM-F009"])]
#[case("[null]", &["ATM-M001"])]
#[case("[{\"from\":}]", &["ATM-F002"])]
#[case(r#"[{"text":"t","timestamp":"2026-01-01T00:00:00Z","read":false}]"#, &["ATM-M002"])]
#[case(r#"[{"from":1,"text":"t","timestamp":1794768140463,"read":false}]"#, &["ATM-M003", "ATM-M003"])]
#[case(r#"[{"from":"a","text":"t","timestamp":"2026-01-01T00:00:00Z","read":"false"}]"#, &["ATM-M004"])]
#[case(r#"[{"from":"a","text":"t","timestamp":"2026-01-01T00:00:00Z"}]"#, &["ATM-M005"])]
#[case(r#"[{"from":"a","text":"t","timestamp":"soon","read":false}]"#, &["ATM-M006"])]
#[case(r#"[{"from":"../x","text":"t","timestamp":"2026-01-01T00:00:00Z","read":false}]"#, &["ATM-M008"])]
#[case(r#"[{"from":"a","text":"t","timestamp":"2026-01-01T00:00:00Z","read":false,"messageId":"x","msg_id":"y"}]"#, &["ATM-M011"])]
#[case(r#"[{"from":"a","text":"t","timestamp":"2026-01-01T00:00:00Z","read":false,"delivery_status":"lost"}]"#, &["ATM-M013"])]
#[case(r#"[{"from":"a","text":"t","timestamp":"2026-01-01T00:00:00Z","read":false,"summary":7,"metadata":[]}]"#, &["ATM-M014", "ATM-M014"])]
#[case(r#"[{"from":"a","text":"\u001b[2J","timestamp":"2026-01-01T00:00:00Z","read":false}]"#, &["ATM-M016"])]
#[case(r#"[{"from":"a","text":"cut \ud83d","timestamp":"2026-01-01T00:00:00Z","read":false}]"#, &["ATM-F008"])]
#[case(r#"[{"from":"a","from":"a","text":"t","timestamp":"2026-01-01T00:00:00Z","read":false}]"#, &["ATM-F007"])]
#[case(r#"[{"from":"a","text":"{\"type\": oops","timestamp":"2026-01-01T00:00:00Z","read":false}]"#, &["ATM-P001"])]
#[case(r#"[{"from":"a","text":"{\"type\":\"shutdown_request\"}","timestamp":"2026-01-01T00:00:00Z","read":false}]"#, &["ATM-P002"])]
#[case(r#"[{"from":"a","text":"{\"type\":\"acknowledgment\",\"ackId\":[]}","timestamp":"2026-01-01T00:00:00Z","read":false}]"#, &["ATM-P003"])]
#[case(r#"[{"from":"a","text":"{\"type\":\"idle_notification\",\"from\":\"b\"}","timestamp":"2026-01-01T00:00:00Z","read":false}]"#, &["ATM-P005"])]
fn array_inboxes(#[case] text: &str, #[case] expected: &[&str]) {
    for piece in [1, 2, 7, text.len()] {
        assert_eq!(codes(array(text.as_bytes(), piece)), expected, "{text} in pieces of {piece}");
    }
}

#[test]
fn one_id_for_two_messages() {
    assert_eq!(codes(array(format!("[{GOOD},{GOOD}]").as_bytes(), 9)), ["ATM-M009"]);
}

#[test]
fn bytes_that_are_no_text_cost_one_entry() {
    let mut bytes = format!("[{GOOD},{{\"from\":\"").into_bytes();
    bytes.extend(b"\xff\"},null]");
    assert_eq!(codes(array(&bytes, 5)), ["ATM-F001", "ATM-M001"]);
}

#[test]
fn a_finding_says_where_it_is() {
    let text = "[\n  {\n    \"from\": \"é\", \"text\": \"t\",\n    \"timestamp\": \"2026-01-01T00:00:00Z\",\n    \"read\": null\n  }\n]";
    for piece in 1..text.len() {
        let list = array(text.as_bytes(), piece).into_list();
        let found = list.iter().find(|finding| finding.rule == Rule::ReadNotBoolean).unwrap();
        assert_eq!(found.place, Some(Place { line: 5, column: 13 }));
        assert_eq!((found.entry, found.path.as_deref()), (Some(1), Some(".[0].read")));
        assert_eq!(found.message, "has a `read` that is null, not a boolean");
    }
}

#[test]
fn a_syntax_error_is_placed_in_the_file_and_not_in_the_entry() {
    let text = format!("[\n  {GOOD},\n  {{\"from\": oops}}\n]");
    let list = array(text.as_bytes(), 11).into_list();
    let found = list.iter().find(|finding| finding.rule == Rule::NotJson).unwrap();
    assert_eq!((found.place.unwrap().line, found.entry), (3, Some(2)));
}

const LINE: &str = r#"{"type":"message","from":"c","to":"bob","timestamp":"2026-02-15T11:15:00.000Z","content":{"text":"hi"}}"#;

#[rstest]
#[case("", &[])]
#[case(&format!("{LINE}\n"), &[])]
#[case(&format!("{LINE}\n\n"), &[])]
#[case(LINE, &["ATM-L006"])]
#[case("oops\n", &["ATM-L001"])]
#[case("7\n", &["ATM-L002"])]
#[case("{\"from\":\"a\",\"to\":\"bob\"}\n", &["ATM-L003", "ATM-L003", "ATM-L003"])]
#[case(&format!("{}\n", LINE.replace("\"c\"", "3")), &["ATM-L004"])]
#[case(&format!("{}\n", LINE.replace("\"bob\"", "\"eve\"")), &["ATM-L008"])]
#[case(&format!("{}\n", LINE.replace("\"bob\"", "\"all\"")), &[])]
#[case(&format!("{}\n", LINE.replace("\"to\":\"bob\",", "")), &["ATM-L009"])]
#[case(&format!("{}\n", LINE.replace("{\"text\":\"hi\"}", "\"hi\"")), &[])]
#[case(&format!("\u{feff}{LINE}\n"), &["ATM-F004"])]
#[case("\0\0\n", &["ATM-F009"])]
#[case(&format!("{}\n", LINE.replace("message", "task_status_request")), &["ATM-P002"])]
fn log_inboxes(#[case] text: &str, #[case] expected: &[&str]) {
    for piece in [1, 3, text.len()] {
        assert_eq!(codes(log(text.as_bytes(), piece)), expected, "{text} in pieces of {piece}");
    }
}

fn document(format: Format, text: &str, owner: &str) -> Vec<&'static str> {
    codes(check_document(format, text.as_bytes(), Some(owner)))
}

const TEAM: &str =
    r#"{"name":"dev","description":"d","createdAt":"2026-01-01T00:00:00.000Z","members":[MEMBER]}"#;

#[rstest]
#[case("", &[])]
#[case(r#"{"name":"ann","agentId":"ann@dev"}"#, &[])]
#[case("null", &["ATM-T002"])]
#[case(r#"{"name":""}"#, &["ATM-T002"])]
#[case(r#"{"name":"ann"},{"name":"ann"}"#, &["ATM-T003"])]
#[case(r#"{"name":"../../etc"}"#, &["ATM-T004"])]
#[case(r#"{"name":"a.b"},{"name":"a-b"}"#, &["ATM-T005"])]
#[case(r#"{"name":"ann","agentId":"ann@elsewhere"}"#, &["ATM-T007"])]
#[case(r#"{"name":"ann","joinedAt":"soon"}"#, &["ATM-T012"])]
#[case(r#"{"name":"ann","tmuxPaneId":"pane 7"}"#, &["ATM-T016"])]
#[case(r#"{"name":"ann","isActive":"yes"}"#, &["ATM-T018"])]
#[case(r#"{"name":"ann","backendType":"carrier-pigeon"}"#, &["ATM-T019"])]
#[case(r#"{"name":"ann","model":7}"#, &["ATM-T023"])]
#[case(r#"{"name":"ann","isActive":true,"spawnedAt":"2026-01-01T00:00:00Z","shutdownAt":"2026-01-02T00:00:00Z"}"#, &["ATM-T024"])]
fn members(#[case] member: &str, #[case] expected: &[&str]) {
    assert_eq!(document(Format::Team, &TEAM.replace("MEMBER", member), "dev"), expected);
}

#[rstest]
#[case(r#"{"name":"dev","createdAt":1}"#, &["ATM-T001"])]
#[case(r#"{"name":"dev","createdAt":1,"members":{}}"#, &["ATM-T001"])]
#[case(r#"{"createdAt":1,"members":[]}"#, &["ATM-T008"])]
#[case(r#"{"name":"other","createdAt":1,"members":[]}"#, &["ATM-T009"])]
#[case(r#"{"name":"dev","description":"","createdAt":1,"members":[]}"#, &["ATM-T011"])]
#[case(r#"{"name":"dev","createdAt":"soon","members":[]}"#, &["ATM-T012"])]
#[case(r#"{"name":"dev","createdAt":1,"leadAgentId":"eve@dev","members":[{"name":"ann"}]}"#, &["ATM-T020"])]
#[case(r#"{"name":"dev","createdAt":1,"schemaVersion":"2.0.0","members":[]}"#, &["ATM-T021"])]
#[case(r#"{"name":"dev","createdAt":1,"schemaVersion":"1.9.0","members":[]}"#, &[])]
#[case("[]", &["ATM-F005"])]
#[case("{", &["ATM-F002"])]
#[case("", &["ATM-F003"])]
#[case("\0\0", &["ATM-F009"])]
fn teams(#[case] text: &str, #[case] expected: &[&str]) {
    assert_eq!(document(Format::Team, text, "dev"), expected);
}

#[rstest]
#[case(r#"{"id":"1","subject":"s","description":"d","status":"pending","blocks":[],"blockedBy":["2"]}"#, &[])]
#[case(r#"{"subject":"s","description":"d","status":"pending"}"#, &["ATM-K001"])]
#[case(r#"{"id":"1"}"#, &["ATM-K002", "ATM-K002", "ATM-K002"])]
#[case(r#"{"id":"1","subject":"s","description":"d","status":"pending","blocks":"2"}"#, &["ATM-K003"])]
#[case(r#"{"id":"1","subject":"s","description":"d","status":"stuck"}"#, &["ATM-K004"])]
#[case(r#"{"id":"2","subject":"s","description":"d","status":"pending"}"#, &["ATM-K005"])]
#[case(r#"{"id":"1","subject":"s","description":"d","status":"pending","due":"x"}"#, &["ATM-K006"])]
fn tasks(#[case] text: &str, #[case] expected: &[&str]) {
    assert_eq!(document(Format::Task, text, "1"), expected);
}

#[rstest]
#[case(r#"{"agentId":"ann@dev","status":"idle","startedAt":"2026-01-01T00:00:00Z","lastActiveAt":1794768140463,"metrics":{"tokens_used":1}}"#, &[])]
#[case("{}", &["ATM-S001", "ATM-S001", "ATM-S001", "ATM-S001"])]
#[case(r#"{"agentId":"ann@dev","status":"asleep","startedAt":1,"lastActiveAt":1}"#, &["ATM-S002"])]
#[case(r#"{"agentId":"ann@dev","status":"idle","startedAt":"soon","lastActiveAt":1,"metrics":{"x":"y"}}"#, &["ATM-S003", "ATM-S003"])]
#[case(r#"{"agentId":"bob@dev","status":"idle","startedAt":1,"lastActiveAt":1}"#, &["ATM-S004"])]
fn reports(#[case] text: &str, #[case] expected: &[&str]) {
    assert_eq!(document(Format::Status, text, "ann"), expected);
}

#[rstest]
#[case(r#"{"lastProcessedLine":42,"lastProcessedTimestamp":null}"#, &[])]
#[case(r#"{"lastProcessedLine":"42"}"#, &[])]
#[case("{}", &["ATM-C001"])]
#[case(r#"{"lastProcessedLine":-1}"#, &["ATM-C001"])]
#[case(r#"{"lastProcessedLine":1.5}"#, &["ATM-C001"])]
#[case(r#"{"lastProcessedLine":1,"lastProcessedTimestamp":"soon"}"#, &["ATM-C003"])]
fn cursors(#[case] text: &str, #[case] expected: &[&str]) {
    assert_eq!(document(Format::Cursor, text, "bob"), expected);
}

#[test]
fn deep_nesting_is_told_and_survived() {
    let deep = format!("[{}{}]", "[".repeat(200_000), "]".repeat(200_000));
    assert_eq!(codes(array(deep.as_bytes(), 4096)), ["ATM-F006", "ATM-M001"]);
    let open = "[".repeat(500_000);
    assert_eq!(codes(array(open.as_bytes(), 4096)), ["ATM-F002"]);
    let team = TEAM.replace("MEMBER", &format!("{}{}", "[".repeat(1000), "]".repeat(1000)));
    assert_eq!(document(Format::Team, &team, "dev"), ["ATM-F006", "ATM-T002"]);
}

#[test]
fn an_entry_that_is_too_large_is_passed_over_and_the_rest_is_checked() {
    let large = "x".repeat(LARGEST + 1);
    let text = format!("[\"{large}\",null]");
    assert_eq!(codes(array(text.as_bytes(), 1 << 16)), ["ATM-F010", "ATM-M001"]);
    let lines = format!("{large}\nnull\n");
    assert_eq!(codes(log(lines.as_bytes(), 1 << 16)), ["ATM-F010", "ATM-L002"]);
}

proptest! {
    /// An inbox is found broken as a whole exactly when the parser that clients resemble finds it so.
    #[test]
    fn it_judges_as_the_parser_does(
        parts in prop::collection::vec(prop::sample::select(vec![
            "[", "]", "{", "}", ",", ":", "\"a\"", "\"\\n\"", "1", "-2.5e3", "null", "true", " ", "\n", "é", "\\", "\"",
        ]), 0..14),
        piece in 1usize..9,
    ) {
        let text = format!("[{}]", parts.concat());
        let broken = crate::json::elements(&text).is_err();
        let found = array(text.as_bytes(), piece).has_any(&[Rule::NotJson, Rule::WrongShape]);
        prop_assert_eq!(found, broken, "{}", text);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), piece in 1usize..50) {
        array(&bytes, piece);
        log(&bytes, piece);
        for format in [Format::Team, Format::Cursor, Format::Task, Format::Status] {
            check_document(format, &bytes, Some("x"));
        }
    }
}
