//! A person who acts through a front that only they can reach, and so may decide where the policy table asks for the lead.
//!
//! On the command line a name is a claim, and a person who means to act for the lead says so with `--as`. A front that asks for
//! a token knows that a person is there. What they decide is sent in the lead's name, as clients expect it, and it is recorded
//! who did it: in the entry, and in the evidence of its first stage.

use atm_wire::MemberName;

use super::plan::PlanAnswer;
use super::requests::Asked;
use crate::error::OfficeError;
use crate::mail::send::Sent;
use crate::office::USER;
use crate::team::Team;

/// The person at a front, by the front's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Person {
    via: &'static str,
}

impl Person {
    /// Who came by this front, and has shown that they may.
    pub fn via(front: &'static str) -> Self {
        Self { via: front }
    }

    /// As it is recorded.
    pub(crate) fn words(self) -> String {
        format!("{USER} via {}", self.via)
    }
}

impl Team<'_> {
    /// A person decides about a plan for the lead. Each plan is decided once.
    pub fn decide_plan_for_lead(
        &self,
        person: Person,
        request: &str,
        answer: &PlanAnswer,
    ) -> Result<Sent, OfficeError> {
        let lead = self.lead()?.clone();
        self.decide_plan_by(&lead, Some(person), request, answer)
    }

    /// A person asks a member to end, for the lead.
    pub fn request_shutdown_for_lead(
        &mut self,
        person: Person,
        name: &MemberName,
        reason: Option<String>,
    ) -> Result<Asked, OfficeError> {
        let lead = self.lead()?.clone();
        self.request_shutdown_by((&lead, Some(person)), name, reason, None)
    }
}

#[cfg(test)]
mod tests {
    use atm_store::{Root, State};

    use super::*;
    use crate::office::Office;
    use crate::people::members::MemberPlan;
    use crate::people::teams::TeamPlan;
    use crate::protocol::plan::{Plan, PlanState};

    #[test]
    fn a_person_decides_in_the_leads_name_and_it_is_recorded_who_did() {
        let folder = tempfile::tempdir().unwrap();
        let office = Office::new(Root::new(folder.path().join("r")), State::new(folder.path().join("s")));
        let name = office.create_team(&TeamPlan::new("dev", "")).unwrap();
        let bob = office.add_member(&name, &MemberPlan::new("bob")).unwrap();
        let mut team = office.team(&name).unwrap();
        let plan = Plan { text: "Mend it".to_owned(), ..Plan::default() };
        let asked = team.submit_plan(&bob, &plan, None).unwrap();

        let yes = PlanAnswer { approved: true, ..PlanAnswer::default() };
        let user = MemberName::parse(USER).unwrap();
        let refused = team.decide_plan(&user, &asked.request, &yes).unwrap_err();
        assert_eq!(refused.code(), "not_yours", "a name alone is not enough");

        let person = Person::via("web");
        let sent = team.decide_plan_for_lead(person, &asked.request, &yes).unwrap();
        assert_eq!(sent.from.as_str(), "team-lead");
        let track = office.track(Some(&name), &sent.id).unwrap();
        assert_eq!(track.stages[0].evidence.by.as_deref(), Some("user via web"));
        let inbox = std::fs::read_to_string(folder.path().join("r/teams/dev/inboxes/bob.json")).unwrap();
        assert!(inbox.contains(r#""acted_by":"user via web""#), "{inbox}");
        assert_eq!(office.plans(&name).unwrap()[0].state, PlanState::Approved);
        let again = team.decide_plan_for_lead(person, &asked.request, &yes).unwrap_err();
        assert_eq!(again.code(), "not_yours", "{again}");

        let asked = team.request_shutdown_for_lead(person, &bob, None).unwrap();
        assert_eq!(asked.sent.from.as_str(), "team-lead");
    }
}
