//! Payloads are checked before they are sent.

use atm_office::error::ErrorKind;
use atm_office::mail::send::{Letter, SendOptions, Sent};
use atm_office::{Hint, OfficeError};
use atm_store::Layout;

use super::{World, who};

fn send(world: &World, text: &str, force: bool) -> Result<Sent, OfficeError> {
    let letter = Letter::new("bob".parse().unwrap(), text);
    let options = SendOptions { force, ..SendOptions::default() };
    world.office.send(world.team.name(), &who("team-lead"), &letter, options)
}

#[test]
fn a_payload_without_what_its_readers_need_is_refused_unless_by_force() {
    let world = World::new(Layout::Array);
    for (text, lacks) in [
        (r#"{"type":"task_assignment","subject":"mend"}"#, "it has no `taskId`"),
        (r#"{"type":"task_assignment","taskId":"7"}"#, "it has no `subject`"),
        (r#"{"type":"task_status_response","taskId":"7"}"#, "it has no `status`"),
        (
            r#"{"type":"blocking_notification","taskId":"7","blockedBy":7}"#,
            "its `blockedBy` is a number, not an array",
        ),
        (r#"{"type":"acknowledgment"}"#, "it has no `ackId`"),
        (r#"{"type":"health_check"}"#, "it has no `request_id`"),
        (r#"{"type":"stall_alert","released_tasks":[]}"#, "it has no `stalled_agent`"),
        (r#"{"type":"idle_notification"}"#, "it has no `idleReason`"),
    ] {
        let error = send(&world, text, false).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::BadData, "bad_payload"), "{text}");
        assert!(error.to_string().contains(lacks), "{error}");
    }
    assert!(world.team.entries("bob").is_empty(), "nothing was written");
    send(&world, r#"{"type":"health_check"}"#, true).unwrap();
    send(&world, r#"{"type":"task_assignment","taskId":7,"subject":"mend"}"#, false).unwrap();
    send(&world, r#"{"type":"weather_report"}"#, false).unwrap();
    assert_eq!(world.team.entries("bob").len(), 3);
}

#[test]
fn large_mail_is_sent_with_the_advice_to_leave_a_file() {
    let world = World::new(Layout::Array);
    let advice = |length: usize| send(&world, &"x".repeat(length), false).unwrap().hint;
    assert_eq!(advice(32 * 1024), None);
    assert_eq!(advice(40 * 1024), Some(Hint::SendFile { kilobytes: 40 }));
}
