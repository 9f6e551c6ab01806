//! Members that leave a team: who may, and what of theirs is free again. Their mail stays.

use atm_wire::MemberName;
use atm_wire::task::TaskId;
use atm_wire::team::Member;

use crate::error::OfficeError;
use crate::mail::partly::{After, Done};
use crate::team::Team;

const APPROVED: &str = "shutdown_approved";

impl Team<'_> {
    /// Fails unless a member may leave its team: the lead may not, and one that runs must have approved its shutdown, unless
    /// it goes by `force`. Says whether it is offline.
    pub fn check_leaving(&self, name: &MemberName, force: bool) -> Result<bool, OfficeError> {
        let member = self.member(name)?;
        let is_off = self.why_off(member).is_some();
        let refuse = |why: &str| Err(OfficeError::NotYours { who: name.to_string(), why: why.to_owned() });
        if self.office().leads(self.name(), self.config(), name) {
            return refuse("the lead does not leave its team");
        }
        if !force && !is_off && !self.has_approved_shutdown(member)? {
            return refuse("it runs, and has not approved its shutdown");
        }
        Ok(is_off)
    }

    /// Takes a member whose program was ended out of the team; says which tasks are free again. The member goes last: should
    /// we die before, all of this can be asked for again.
    pub fn take_out(&self, name: &MemberName) -> Result<Vec<TaskId>, OfficeError> {
        let released = self.tasks().release_all(name, self.office().now())?;
        let removed = self.office().remove_member(self.name(), name);
        if released.is_empty() {
            removed?;
        } else {
            removed.after(|| Done::TasksReleased(released.clone()))?;
        }
        Ok(released)
    }

    /// Whether a member has approved its end since it was started.
    fn has_approved_shutdown(&self, member: &Member) -> Result<bool, OfficeError> {
        let (office, team) = (self.office(), self.name());
        office.look(team)?;
        let since = member.spawned_at.or(member.joined_at).map_or(0, atm_wire::Stamp::as_millis);
        let root = office.root_key();
        let said = office
            .books
            .with(|ledger| ledger.sent_by(&root, team.as_str(), &member.name, APPROVED, since))?;
        Ok(!said.is_empty())
    }
}
