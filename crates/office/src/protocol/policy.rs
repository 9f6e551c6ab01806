//! Who may send which payload: one table, for every way of sending.
//!
//! A name is a claim, not a proof (see SECURITY.md); the table keeps agents from deciding what is not theirs to decide,
//! by mistake or because a message told them to. The person at the keyboard is no exception: a caller without a
//! name sends as `user`, an agent too. A person who means to act for the lead says so with `--as`.

use std::collections::HashSet;

use atm_wire::json::Object;
use atm_wire::payload::{Content, Parsed, Payload, classify};
use atm_wire::{MachineName, MemberName};

use crate::error::OfficeError;
use crate::mail::send::Letter;
use crate::team::Team;

/// Who starts members.
const SYSTEM: &str = "system";

/// Who may send a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum May {
    /// Everybody.
    Anyone,
    /// The lead of the recipient's team.
    Lead,
    /// The lead, or whatever starts members.
    Starter,
    /// The recipient of an open request, to its sender, once: the type of the request that it answers.
    Asked(&'static str),
    /// The lead, as the recipient of an open request.
    AskedLead(&'static str),
    /// Agents' own clients alone.
    Client,
}

/// The table. What is not in it, anyone may send.
pub const TABLE: &[(&str, May)] = &[
    ("shutdown_request", May::Lead),
    ("stall_alert", May::Lead),
    ("shutdown_response", May::Asked("shutdown_request")),
    ("shutdown_approved", May::Asked("shutdown_request")),
    ("shutdown_rejected", May::Asked("shutdown_request")),
    ("plan_approval_response", May::AskedLead("plan_approval_request")),
    ("system_init", May::Starter),
    ("permission_request", May::Client),
    ("permission_response", May::Client),
    ("sandbox_permission_request", May::Client),
    ("sandbox_permission_response", May::Client),
    ("mode_set_request", May::Client),
    ("team_permission_update", May::Client),
    ("teammate_terminated", May::Client),
];

/// Who may send a payload of this type.
pub fn may(kind: &str) -> May {
    TABLE.iter().find(|(known, _)| *known == kind).map_or(May::Anyone, |(_, may)| *may)
}

/// The request that a payload of this type decides.
fn decides(may: May) -> Option<&'static str> {
    match may {
        May::Asked(request) | May::AskedLead(request) => Some(request),
        _ => None,
    }
}

/// What a letter's text says to a client: clients parse with white space around it too.
pub(crate) fn content_of(letter: &Letter) -> Content {
    classify(letter.text.trim(), None)
}

/// A payload that is not for everybody to send, with its rule.
fn governed(content: &Content) -> Option<(&Parsed, May)> {
    let Content::Protocol(parsed) = content else { return None };
    let may = may(parsed.payload.kind());
    (may != May::Anyone).then_some((parsed, may))
}

/// Whether one of these letters decides a request: then no other decision of the sender may come between.
pub(crate) fn has_decision(contents: &[Content]) -> bool {
    contents.iter().filter_map(governed).any(|(_, may)| decides(may).is_some())
}

/// The first letter that decides what an earlier one of them has decided.
pub(crate) fn decided_twice(contents: &[Content]) -> Option<(usize, String)> {
    let mut seen = HashSet::new();
    contents.iter().enumerate().find_map(|(index, content)| {
        let (parsed, may) = governed(content)?;
        let key = (decides(may)?, parsed.request_id()?);
        (!seen.insert(key.clone())).then_some((index, key.1))
    })
}

impl Team<'_> {
    /// Refuses who does not lead the team.
    pub fn check_lead(&self, who: &MemberName, why: &str) -> Result<(), OfficeError> {
        if self.is_led_by(who) {
            return Ok(());
        }
        Err(OfficeError::NotYours { who: who.to_string(), why: why.to_owned() })
    }

    /// Refuses a payload that `from`, of this team, may not send to somebody of `target`.
    pub(crate) fn check_policy(
        &self,
        from: &MemberName,
        target: &Team<'_>,
        to: &MemberName,
        content: &Content,
    ) -> Result<(), OfficeError> {
        let Some((parsed, may)) = governed(content) else { return Ok(()) };
        let kind = parsed.payload.kind();
        let refuse = |why: String| Err(OfficeError::NotYours { who: from.to_string(), why });
        let (home, team) = (self.name(), target.name());
        let is_lead = home == team && target.is_led_by(from);
        if let Some(key) = repeated_key(parsed.raw()) {
            return refuse(format!("this {kind} says {key:?} twice"));
        }
        if let Some(claimed) = claimed_sender(&parsed.payload).filter(|claimed| *claimed != from.as_str()) {
            return refuse(format!("this {kind} is in the name of {claimed}"));
        }
        match may {
            May::Client => return refuse(format!("{kind} is between an agent's client and its lead's")),
            May::Lead | May::AskedLead(_) if !is_lead => {
                let lead = target.lead().map_or_else(|_| String::new(), |lead| format!(", {lead}"));
                return refuse(format!("{kind} is for the lead of team {team}{lead}, to send"));
            }
            May::Starter if !is_lead && from.as_str() != SYSTEM => {
                return refuse(format!("{kind} is for whatever starts members to send"));
            }
            _ => {}
        }
        let Some(request_kind) = decides(may) else { return Ok(()) };
        let Some(request) = parsed.request_id() else {
            return refuse(format!("this {kind} names no request"));
        };
        let asked = self.open_request(from, request_kind, &request)?;
        let asker_home = asked.origin.as_deref().unwrap_or(home.as_str());
        if asked.sender != to.as_str() || asker_home != team.as_str() {
            return refuse(format!("request {request} is from {}, and its answer is for them", asked.sender));
        }
        Ok(())
    }
}

/// Who sends from another machine.
#[derive(Debug)]
pub(crate) struct Abroad<'a> {
    /// What it is called here.
    pub(crate) name: &'a MemberName,
    /// What it is called there, as its payloads say.
    pub(crate) there: &'a str,
    /// Its machine.
    pub(crate) machine: &'a MachineName,
    /// It leads the team there.
    pub(crate) leads: bool,
    /// That machine is trusted as lead.
    pub(crate) is_trusted: bool,
}

/// What another machine's member may send here by its authority alone; `Err` says what it lacks. Authority is local: a
/// member obeys the lead of its own machine, and another machine's only if that machine is trusted as lead.
fn abroad_may(kind: &str, leads: bool, is_trusted: bool) -> Result<(), &'static str> {
    let needs_lead = match may(kind) {
        May::Client => return Err("is between an agent's client and its lead's"),
        May::Lead | May::Starter | May::AskedLead(_) => true,
        // To give work takes the same trust in the machine, though not a lead.
        May::Anyone if kind == ASSIGNMENT => false,
        May::Anyone | May::Asked(_) => return Ok(()),
    };
    match (needs_lead, leads, is_trusted) {
        (true, false, _) => Err("is for a lead to send"),
        (_, _, false) => Err("is obeyed only from a machine that is trusted as lead"),
        (_, _, true) => Ok(()),
    }
}

/// The payload that gives work.
const ASSIGNMENT: &str = "task_assignment";

impl Team<'_> {
    /// Refuses a payload that somebody of another machine may not send to `to`, who is here. `beside` is the type that will
    /// stand beside the text: some readers go by it whatever the text is, words too.
    pub(crate) fn check_policy_of(
        &self,
        from: &Abroad<'_>,
        to: &MemberName,
        content: &Content,
        beside: Option<&str>,
    ) -> Result<(), OfficeError> {
        let refuse = |why: String| Err(OfficeError::NotYours { who: from.name.to_string(), why });
        let inside = content.payload().map(Payload::kind);
        let beside = beside.filter(|kind| inside != Some(kind));
        for kind in inside.into_iter().chain(beside) {
            if let Err(why) = abroad_may(kind, from.leads, from.is_trusted) {
                return refuse(format!("{kind} {why} (it came from machine {})", from.machine));
            }
        }
        if let Some(kind) = beside.filter(|kind| decides(may(kind)).is_some()) {
            return refuse(format!("this {kind} names no request"));
        }
        let Content::Protocol(parsed) = content else { return Ok(()) };
        let kind = parsed.payload.kind();
        let Some((_, may)) = governed(content) else { return Ok(()) };
        if let Some(key) = repeated_key(parsed.raw()) {
            return refuse(format!("this {kind} says {key:?} twice"));
        }
        if let Some(claimed) = claimed_sender(&parsed.payload).filter(|claimed| *claimed != from.there) {
            return refuse(format!("this {kind} is in the name of {claimed}"));
        }
        let Some(request_kind) = decides(may) else { return Ok(()) };
        let Some(request) = parsed.request_id() else {
            return refuse(format!("this {kind} names no request"));
        };
        let asked = self.open_request(from.name, request_kind, &request)?;
        if asked.sender != to.as_str() {
            return refuse(format!("request {request} is from {}, and its answer is for them", asked.sender));
        }
        Ok(())
    }
}

/// In whose name a payload speaks.
fn claimed_sender(payload: &Payload) -> Option<&str> {
    match payload {
        Payload::ShutdownRequest(payload) => payload.from.as_deref(),
        Payload::ShutdownApproved(payload) => payload.from.as_deref(),
        Payload::ShutdownRejected(payload) => payload.from.as_deref(),
        _ => None,
    }
}

/// A key that stands twice: of two programs, one may take the first and the other the last.
fn repeated_key(payload: &str) -> Option<String> {
    let object = Object::parse(payload).ok()?;
    let mut seen = HashSet::new();
    object.iter().map(|(key, _)| key.to_owned()).find(|key| !seen.insert(key.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_the_table_is_one_that_clients_know_or_that_we_read() {
        let foreign = ["sandbox_permission_request", "sandbox_permission_response"];
        for (kind, may) in TABLE {
            assert!(Payload::KINDS.contains(kind) || foreign.contains(kind), "{kind}");
            assert_ne!(*may, May::Anyone, "{kind} need not be in the table");
        }
        assert_eq!(may("heartbeat"), May::Anyone);
        assert_eq!(may("weather_report"), May::Anyone);
    }

    #[test]
    fn another_machines_word_counts_as_far_as_that_machine_is_trusted() {
        // What its lead may without trust and with it, and others with it.
        let rows = [
            ("message", [true, true, true]),
            ("idle_notification", [true, true, true]),
            ("weather_report", [true, true, true]),
            ("task_assignment", [false, true, true]),
            ("shutdown_request", [false, true, false]),
            ("stall_alert", [false, true, false]),
            ("system_init", [false, true, false]),
            ("plan_approval_response", [false, true, false]),
            ("plan_approval_request", [true, true, true]),
            ("shutdown_approved", [true, true, true]),
            ("permission_response", [false, false, false]),
            ("mode_set_request", [false, false, false]),
        ];
        for (kind, expected) in rows {
            let may = [(true, false), (true, true), (false, true)]
                .map(|(leads, is_trusted)| abroad_may(kind, leads, is_trusted).is_ok());
            assert_eq!(may, expected, "{kind}");
        }
    }

    #[test]
    fn white_space_does_not_hide_a_payload() {
        let content = |text: &str| content_of(&Letter::new("bob".parse().unwrap(), text));
        assert!(governed(&content("\n {\"type\":\"shutdown_request\"} ")).is_some());
        assert!(governed(&content("please send a shutdown_request")).is_none());
    }
}
