//! Tasks as programs write them, and changed.

use proptest::prelude::*;
use rstest::rstest;

use super::*;

#[test]
fn dialects() {
    let text = r#"{"id":7,"status":"blocked","blocked_by":[3,"4"],"owner":"","x":1E2}"#;
    let task = Task::parse(text).unwrap();
    assert_eq!((task.id.as_str(), task.subject.as_str(), task.owner.as_deref()), ("7", "", None));
    assert_eq!(task.status, Status::Other("blocked".into()));
    assert_eq!(task.blocked_by, ["3", "4"]);
    assert_eq!(task.raw(), text);
}

#[rstest]
#[case("{}", "has no `id`")]
#[case(r#"{"id":""}"#, "has no `id`")]
#[case("[]", "is an array, not an object")]
fn what_is_no_task(#[case] text: &str, #[case] error: &str) {
    assert_eq!(Task::parse(text).unwrap_err().to_string(), error);
}

#[test]
fn a_new_task_looks_like_a_client_wrote_it() {
    let task = Task { owner: Some("bob".into()), ..Task::new("1", "Title", "Text") };
    assert_eq!(
        task.render().unwrap(),
        "{\n  \"id\": \"1\",\n  \"subject\": \"Title\",\n  \"description\": \"Text\",\n  \"status\": \"pending\",\n  \
         \"blocks\": [],\n  \"blockedBy\": [],\n  \"owner\": \"bob\"\n}"
    );
}

proptest! {
    #[test]
    fn what_is_written_reads_back(id in ".+", subject in ".*", word in ".*", blocks in prop::collection::vec(".*", 0..3)) {
        let task = Task { status: Status::parse(&word), blocks, ..Task::new(id, subject, "d") };
        let back = Task::parse(&task.render().unwrap()).unwrap();
        prop_assert_eq!((back.id, back.subject, back.status, back.blocks), (task.id, task.subject, task.status, task.blocks));
    }

    #[test]
    fn no_text_panics(text in ".*") {
        if let Ok(task) = Task::parse(&text) {
            prop_assert_eq!(task.raw(), text);
        }
    }
}

/// What a client wrote, with what no client knows.
const ODD: &str = "{\n  \"id\": \"1\",\n  \"x\": 1E2,\n  \"subject\": \"caf\\u00e9\",\n  \"status\": \"pending\",\n  \"blocks\": [\n    3\n  ],\n  \
     \"blockedBy\": [],\n  \"metadata\": {\n    \"k\": 9007199254740993\n  }\n}\n";

#[test]
fn changes_touch_nothing_else() {
    let id = |number: &str| TaskId::parse(number).unwrap();
    let value = RawValue::from_string("7".to_owned()).unwrap();
    let changed = edit(
        ODD,
        &[
            Change::Subject("café".to_owned()),
            Change::Status(Status::InProgress),
            Change::Owner(Some("bob".to_owned())),
            Change::AddBlocks(id("3")),
            Change::AddBlocks(id("4")),
            Change::AddBlockedBy(id("2")),
            Change::Metadata("n".to_owned(), Some(value)),
        ],
    )
    .unwrap();
    assert_eq!(
        changed,
        "{\n  \"id\": \"1\",\n  \"x\": 1E2,\n  \"subject\": \"caf\\u00e9\",\n  \"status\": \"in_progress\",\n  \"blocks\": [\n    3,\n    \
         \"4\"\n  ],\n  \"blockedBy\": [\n    \"2\"\n  ],\n  \"metadata\": {\n    \"k\": 9007199254740993,\n    \"n\": 7\n  },\n  \
         \"owner\": \"bob\"\n}\n"
    );
    let back = edit(
        &changed,
        &[
            Change::Status(Status::Pending),
            Change::Owner(None),
            Change::DropBlocks(id("4")),
            Change::DropBlockedBy(id("2")),
            Change::forget("n"),
        ],
    );
    assert_eq!(back.unwrap(), ODD, "and back to where it was");
}

#[rstest]
#[case(r#"{"id":1}"#, Change::AddBlockedBy(TaskId::parse("2").unwrap()), r#"{"id":1,"blockedBy":["2"]}"#)]
#[case(r#"{"id":"1","blocked_by":"2"}"#, Change::AddBlockedBy(TaskId::parse("3").unwrap()), r#"{"id":"1","blocked_by":["2","3"]}"#)]
#[case(r#"{"id":"1","blocked_by":"2"}"#, Change::DropBlockedBy(TaskId::parse("2").unwrap()), r#"{"id":"1","blocked_by":[]}"#)]
#[case(r#"{"id":"1","blocks":null}"#, Change::AddBlocks(TaskId::parse("2").unwrap()), r#"{"id":"1","blocks":["2"]}"#)]
#[case(r#"{"id":"1","metadata":null}"#, Change::note("k", "v"), r#"{"id":"1","metadata":{"k":"v"}}"#)]
#[case(r#"{"id":"1"}"#, Change::forget("k"), r#"{"id":"1"}"#)]
#[case(r#"{"id":"1","owner":""}"#, Change::Owner(None), r#"{"id":"1"}"#)]
#[case(r#"{"id":"1"}"#, Change::number("h", 2.0), r#"{"id":"1","metadata":{"h":2}}"#)]
fn dialects_are_changed_in_their_own_spelling(
    #[case] text: &str,
    #[case] change: Change,
    #[case] expected: &str,
) {
    assert_eq!(edit(text, &[change]).unwrap(), expected);
}

#[test]
fn metadata_that_is_no_object_is_not_replaced() {
    let flaw = edit(r#"{"id":"1","metadata":"mine"}"#, &[Change::note("k", "v")]).unwrap_err();
    assert_eq!(flaw.to_string(), "has a `metadata` that is not an object");
}

fn any_change() -> impl Strategy<Value = Change> {
    let id = || (0..9u8).prop_map(|number| TaskId::parse(&number.to_string()).unwrap());
    let key = || prop::sample::select(vec!["k", "claimed_at", "a\"b"]);
    prop_oneof![
        ".*".prop_map(Change::Subject),
        ".*".prop_map(Change::Description),
        ".*".prop_map(Change::ActiveForm),
        ".*".prop_map(|word| Change::Status(Status::parse(&word))),
        prop::option::of(".*").prop_map(Change::Owner),
        (key(), ".*").prop_map(|(key, text)| Change::note(key, &text)),
        key().prop_map(Change::forget),
        id().prop_map(Change::AddBlocks),
        id().prop_map(Change::DropBlocks),
        id().prop_map(Change::AddBlockedBy),
        id().prop_map(Change::DropBlockedBy),
    ]
}

/// The keys of an object that no change is about, with their values as they are spelled, in order.
fn foreign(text: &str) -> Vec<(String, String)> {
    let ours = ["subject", "description", "activeForm", "status", "owner", "blocks", "blockedBy", "metadata"];
    let members = crate::json::Object::parse(text).unwrap();
    let others = members.iter().filter(|(key, _)| !ours.contains(key));
    others.map(|(key, value)| (key.to_owned(), value.get().to_owned())).collect()
}

proptest! {
    #[test]
    fn unknown_keys_and_their_order_survive_any_edits(
        changes in prop::collection::vec(any_change(), 0..12),
        layout in 0..3usize,
    ) {
        let text = [
            r#"{"zz":1E2,"id":"1","a":"\u00e9","subject":"s","b":{"c":[ 1 ]},"metadata":{"mine":1.50},"a":2}"#,
            "{\n\t\"zz\": 1E2,\n\t\"id\": \"1\",\n\t\"owner\": \"x\",\n\t\"b\": [1,  2],\n\t\"blocks\": [],\n\t\"metadata\": {\"mine\": 1.50}\n}\n",
            r#"{"owner": "x", "id": "1", "blockedBy": ["3", 4], "metadata": {"mine": 1.50}, "last": null}"#,
        ][layout];
        let changed = edit(text, &changes).unwrap();
        prop_assert_eq!(foreign(&changed), foreign(text));
        let metadata = Task::parse(&changed).unwrap().metadata.unwrap();
        prop_assert!(metadata.get().contains("1.50"));
        prop_assert_eq!(edit(&changed, &[]).unwrap(), changed);
    }
}
