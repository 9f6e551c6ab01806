use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::stamp::Stamp;

fn protocol(text: &str, outer: Option<&str>) -> Parsed {
    match classify(text, outer) {
        Content::Protocol(parsed) => *parsed,
        Content::Text => panic!("taken as plain text: {text}"),
    }
}

fn payload(text: &str) -> Payload {
    protocol(text, None).payload
}

fn raw(text: &str) -> &RawValue {
    serde_json::from_str(text).unwrap()
}

#[rstest]
#[case("hello", None)]
#[case("", None)]
#[case("{not json", None)]
#[case("{}", None)]
#[case(r#"{"a":1}"#, None)]
#[case(r#"{"type":7}"#, None)]
#[case(r#" {"type":"heartbeat"}"#, None)]
#[case(r#"["type"]"#, Some("heartbeat"))]
#[case(r#"{"a":1}"#, Some("message"))]
#[case(r#"{"a":1}"#, Some("something_else"))]
#[case("please end", Some("shutdown_request"))]
#[case("{\"type\":\"heartbeat\"} and more", None)]
fn words(#[case] text: &str, #[case] outer: Option<&str>) {
    assert_eq!(classify(text, outer), Content::Text);
}

#[rstest]
#[case(r#"{"type":"heartbeat"}"#, None, "heartbeat")]
#[case(r#"{"task_id":"5"}"#, Some("heartbeat"), "heartbeat")]
#[case(r#"{"request_id":"check-3"}"#, Some("health_check"), "health_check")]
#[case(r#"{"stalled_agent":"carol"}"#, Some("stall_alert"), "stall_alert")]
#[case(r#"{"type":"heartbeat"}"#, Some("stall_alert"), "heartbeat")]
#[case(r#"{"type":null,"task_id":1}"#, Some("heartbeat"), "heartbeat")]
#[case(r#"{"type":"weather_report","x":1}"#, Some("message"), "weather_report")]
fn protocol_messages(#[case] text: &str, #[case] outer: Option<&str>, #[case] kind: &str) {
    let parsed = protocol(text, outer);
    assert_eq!(parsed.payload.kind(), kind);
    assert_eq!(parsed.raw(), text);
}

#[test]
fn depth_is_no_danger() {
    let text = format!(
        r#"{{"type":"team_broadcast","recipients":{}1{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert_eq!(payload(&text), TeamBroadcast::default().into());
    assert_eq!(classify(&"{\"a\":".repeat(100_000), None), Content::Text);
}

#[test]
fn an_unknown_type_is_kept() {
    assert_eq!(payload(r#"{"type":"x"}"#), Payload::Unknown { kind: "x".into() });
}

#[rstest]
#[case(r#"{"type":"idle_notification","from":"a","timestamp":"2026-11-15T18:42:29.542Z","idleReason":"available"}"#)]
#[case(r#"{"type":"idle_notification","reason":"available","from":"a","timestamp":1794768149542}"#)]
fn dialects_of_idle(#[case] text: &str) {
    let expected = IdleNotification {
        from: Some("a".into()),
        timestamp: Some(Stamp::from_millis(1_794_768_149_542)),
        idle_reason: Some("available".into()),
        ..Default::default()
    };
    let Payload::IdleNotification(said) = payload(text) else { panic!("{text}") };
    assert_eq!(IdleNotification { reason: None, ..said }, expected);
}

#[rstest]
#[case(r#"{"type":"heartbeat","task_id":"5","progress_percent":60}"#)]
#[case(r#"{"type":"heartbeat","taskId":5,"progress":"60%"}"#)]
fn dialects_of_heartbeat(#[case] text: &str) {
    let expected =
        Heartbeat { task_id: Some("5".into()), progress_percent: Some(60.0), ..Default::default() };
    assert_eq!(payload(text), expected.into());
}

#[rstest]
#[case(r#"{"type":"plan_approval_response","requestId":"p","approve":true}"#)]
#[case(r#"{"type":"plan_approval_response","request_id":"p","approved":"true"}"#)]
fn dialects_of_plan_approval(#[case] text: &str) {
    let expected =
        PlanApprovalResponse { request_id: Some("p".into()), approved: Some(true), ..Default::default() };
    assert_eq!(payload(text), expected.into());
}

#[test]
fn both_spellings_at_once_are_no_error() {
    let Payload::PlanApprovalRequest(request) =
        payload(r#"{"type":"plan_approval_request","requestId":"p","plan":"do","planContent":"do"}"#)
    else {
        panic!("another type");
    };
    assert_eq!(request.plan.as_deref(), Some("do"));
}

#[test]
fn a_field_of_the_wrong_type_hides_nothing_else() {
    let text =
        r#"{"type":"task_assignment","taskId":{"no":1},"subject":"s","timestamp":"soon","priority":4}"#;
    let expected =
        TaskAssignment { subject: Some("s".into()), priority: Some(Level("4".into())), ..Default::default() };
    assert_eq!(payload(text), expected.into());
    assert_eq!(protocol(text, None).raw(), text);
}

/// The texts are exactly what real clients and older documents have.
#[rstest]
#[case(r#"{"type":"idle_notification","from":"alice","timestamp":"2026-11-15T19:03:35.857Z","idleReason":"available","result":"ok"}"#)]
#[case(r#"{"type":"task_assignment","taskId":"1","subject":"First task","description":"Do the first thing","assignedBy":"team-lead","timestamp":"2026-11-15T18:41:35.213Z"}"#)]
#[case(r#"{"type":"shutdown_request","requestId":"shutdown-1794768102564@alice","from":"team-lead","reason":"done for today","timestamp":"2026-11-15T18:41:42.564Z"}"#)]
#[case(r#"{"type":"shutdown_approved","requestId":"shutdown-1794768102564@alice","from":"alice","timestamp":"2026-11-15T18:41:44.111Z","paneId":"in-process","backendType":"in-process"}"#)]
#[case(r#"{"type":"shutdown_response","requestId":"shutdown-1794768102564@alice","approved":true}"#)]
#[case(r#"{"type":"heartbeat","task_id":"5","progress_percent":60}"#)]
#[case(r#"{"type":"health_check","request_id":"check-3"}"#)]
#[case(r#"{"type":"stall_alert","stalled_agent":"carol","released_tasks":["11","12"]}"#)]
#[case(r#"{"type":"task_completion","taskId":"7","actualHours":7.5,"notes":"with \"quotes\" and\nlines"}"#)]
#[case(r#"{"type":"unheard_of"}"#)]
fn canonical_text_is_what_was_read(#[case] text: &str) {
    assert_eq!(payload(text).to_text(), text);
}

#[test]
fn every_type_survives_its_own_text() {
    for kind in Payload::KINDS {
        let empty = Payload::read(kind, &Object::default());
        assert!(!matches!(empty, Payload::Unknown { .. }), "{kind}");
        assert_eq!(payload(&empty.to_text()), empty);
    }
}

#[test]
fn answers_carry_both_spellings() {
    let response = PlanApprovalResponse { approved: Some(false), ..Default::default() };
    let parsed = Parsed::from(response);
    assert_eq!(parsed.raw(), r#"{"type":"plan_approval_response","approve":false,"approved":false}"#);
}

#[test]
fn request_ids_are_found() {
    assert_eq!(payload(r#"{"type":"shutdown_rejected","request_id":9}"#).request_id(), Some("9"));
    assert_eq!(payload(r#"{"type":"team_broadcast","requestId":"x"}"#).request_id(), None);
}

#[rstest]
#[case("{\"taskId\": \"7\"}", None, r#"{"type":"task_status_request","taskId": "7"}"#)]
#[case(r#"{"taskId":"7"}"#, Some("r"), r#"{"type":"task_status_request","requestId":"r","taskId":"7"}"#)]
#[case(r#"{"request_id":"in"}"#, Some("out"), r#"{"type":"task_status_request","request_id":"in"}"#)]
#[case("{}", None, r#"{"type":"task_status_request"}"#)]
#[case("{ }", Some("r"), r#"{"type":"task_status_request","requestId":"r" }"#)]
#[case(r#"{"type":"heartbeat"}"#, None, r#"{"type":"heartbeat"}"#)]
#[case(r#"{"type":"heartbeat"}"#, Some("r"), r#"{"requestId":"r","type":"heartbeat"}"#)]
#[case("[1,2]", None, r#"{"type":"task_status_request","content":[1,2]}"#)]
#[case(r#"{"type":1}"#, Some("r"), r#"{"type":"task_status_request","requestId":"r","content":{"type":1}}"#)]
fn log_lines(#[case] content: &str, #[case] request: Option<&str>, #[case] text: &str) {
    let parsed = Parsed::from_log("task_status_request", raw(content), request);
    assert_eq!(parsed.raw(), text);
    assert_eq!(protocol(text, None), parsed);
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        ".*".prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::hash_map(
                prop_oneof![
                    ".*",
                    "type|timestamp|requestId|taskId|approved|recipients|progress".prop_map(Into::into)
                ],
                inner,
                0..4
            )
            .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn arbitrary_text_is_classified(text in ".*|\\{.*\\}", outer in prop::option::of(".*")) {
        if let Content::Protocol(parsed) = classify(&text, outer.as_deref()) {
            prop_assert_eq!(parsed.raw(), text);
        }
    }

    #[test]
    fn arbitrary_fields_never_fail(value in json(), kind in prop::sample::select(Payload::KINDS)) {
        let text = value.to_string();
        prop_assert_eq!(classify(&text, Some(kind)).is_protocol(), value.is_object() && (kind != "message" || value["type"].is_string()));
        if let Content::Protocol(parsed) = classify(&text, Some(kind)) {
            prop_assert_eq!(parsed.raw(), &text);
            // Whatever was understood, we write so that it is understood again.
            prop_assert_eq!(payload(&parsed.payload.to_text()), parsed.payload);
        }
    }

    #[test]
    fn every_log_line_is_protocol(value in json(), kind in ".*", request in prop::option::of(".*")) {
        let parsed = Parsed::from_log(&kind, raw(&value.to_string()), request.as_deref());
        prop_assert_eq!(protocol(parsed.raw(), None), parsed);
    }
}
