//! The dialects of older documents: what scripts and tools that follow them write.

use atm_wire::cursor::Cursor;
use atm_wire::payload::{Content, Payload, classify};
use atm_wire::{Message, Stamp, json};
use rstest::rstest;

fn line(kind: &str, request: &str, content: &str) -> String {
    format!(
        r#"{{"type":"{kind}","from":"ann","to":"lead","timestamp":"2026-05-04T08:00:00Z"{request},"content":{content}}}"#
    )
}

fn payload(message: &Message) -> Payload {
    message.content().payload().cloned().unwrap_or_else(|| panic!("plain text: {}", message.text))
}

#[rstest]
#[case("task_assignment", r#"{"taskId":"a1","subject":"Parser","priority":4,"estimatedHours":8}"#)]
#[case("task_status_request", r#"{"taskId":"a1"}"#)]
#[case(
    "task_status_response",
    r#"{"taskId":"a1","status":"in_progress","progress":45,"eta":"2026-05-04T12:00:00Z"}"#
)]
#[case("idle_notification", r#"{"reason":"no_assigned_tasks","lastTaskCompleted":"a1"}"#)]
#[case("task_completion", r#"{"taskId":"a1","actualHours":7.5,"notes":"done"}"#)]
#[case("blocking_notification", r#"{"taskId":"b2","blockedBy":["a1"],"reason":"waits"}"#)]
#[case("acknowledgment", r#"{"ackId":"m-31"}"#)]
fn log_lines(#[case] kind: &str, #[case] content: &str) {
    let message = Message::from_line(&line(kind, "", content)).unwrap();
    let payload = payload(&message);
    assert_eq!(payload.kind(), kind);
    assert!(!matches!(payload, Payload::Unknown { .. }));
    // The members of the content stand in the text as they were written.
    assert!(message.text.ends_with(content.strip_prefix('{').unwrap()), "{}", message.text);
    assert!(message.text.starts_with(&format!(r#"{{"type":"{kind}","#)), "{}", message.text);
}

#[test]
fn a_log_lines_fields_are_read() {
    let assignment =
        Message::from_line(&line("task_assignment", "", r#"{"taskId":7,"priority":4,"estimatedHours":8}"#));
    let Payload::TaskAssignment(assignment) = payload(&assignment.unwrap()) else { panic!("another type") };
    assert_eq!(assignment.task_id.as_deref(), Some("7"));
    assert_eq!(assignment.priority.map(|level| level.0).as_deref(), Some("4"));
    assert_eq!(assignment.estimated_hours, Some(8.0));

    let response = line("task_status_response", r#","requestId":"r-9""#, r#"{"taskId":"a1","progress":45}"#);
    let response = payload(&Message::from_line(&response).unwrap());
    assert_eq!(response.request_id(), Some("r-9"));
}

#[rstest]
#[case("heartbeat", r#"{"task_id": "11", "progress_percent": 45}"#)]
#[case("health_check", r#"{"request_id": "check-3"}"#)]
#[case("stall_alert", r#"{"stalled_agent": "carol", "released_tasks": ["11", "12"]}"#)]
fn the_type_beside_the_text(#[case] kind: &str, #[case] text: &str) {
    let entry = format!(
        r#"[{{"from":"backend","type":"{kind}","text":{},"timestamp":"2026-05-04T08:15:00Z","read":false}}]"#,
        serde_json::Value::from(text)
    );
    let message = Message::from_entry(json::elements(&entry).unwrap()[0]).unwrap();
    let payload = payload(&message);
    assert_eq!(payload.kind(), kind);
    // Ours has the type inside too, so that it is protocol to readers who look only there.
    assert_eq!(classify(&payload.to_text(), None).payload(), Some(&payload));
}

#[rstest]
#[case("Review what the others write.", Some("system_init"))]
#[case("We are done, good night.", Some("shutdown_request"))]
fn words_stay_words_whatever_the_type_beside_them(#[case] text: &str, #[case] outer: Option<&str>) {
    assert_eq!(classify(text, outer), Content::Text);
}

#[test]
fn a_cursor() {
    let cursor =
        Cursor::parse(r#"{"lastProcessedLine": 17, "lastProcessedTimestamp": "2026-05-04T12:00:00Z"}"#)
            .unwrap();
    assert_eq!(cursor.last_processed_line, 17);
    assert_eq!(cursor.last_processed_timestamp, Some(Stamp::parse("2026-05-04T12:00:00Z").unwrap()));
}
