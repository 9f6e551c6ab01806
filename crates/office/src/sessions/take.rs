//! Which mail of a folder a session may take: what is for it, or for any that works there, and is not before another one.

use std::collections::HashSet;

use atm_clients::AgentClient;
use atm_store::{Seat, SessionNote};
use atm_wire::{MemberName, Message};

use super::Arrival;
use super::list::Takes;
use crate::error::OfficeError;
use crate::mail::hook::{Hooked, Moment, Withheld};
use crate::office::Office;

impl Office {
    /// A client's hook was called in a session: notes it, and gives the mail of the folder that it works in.
    pub fn hook_session(&self, arrival: &Arrival<'_>, moment: Moment) -> Result<Hooked, OfficeError> {
        // Where a turn is on, or nobody is left to hear it, no hook or plugin of this client need wait to wake anybody.
        if !matches!(moment, Moment::Begins { .. } | Moment::Stops { .. }) {
            Seat::clear_in_session(&self.root, arrival.session, &self.state);
        }
        if moment == Moment::Ends {
            let known = self.registered_session(arrival.session);
            self.end_session(arrival.session)?;
            let Some(mailbox) = known.and_then(|known| self.mailbox_of_folder(&known.folder)) else {
                return Ok(Hooked::default());
            };
            let team = self.team(&super::team_name())?;
            return team.hook(&mailbox, arrival.session, moment);
        }
        let session = self.register_session(arrival)?;
        self.note_asking(&session, moment == Moment::Asks)?;
        let folder = session.folder;
        let Some(mailbox) = self.mailbox_of_folder(&folder) else { return Ok(Hooked::default()) };
        let team = self.team(&super::team_name())?;
        // What is put before a model at the start is seen with the first words of its user; what is pushed, at once.
        if let Moment::Begins { remembers, .. } = moment
            && arrival.has_socket
        {
            team.leave_to_push(&mailbox, arrival.session, remembers)?;
            return Ok(Hooked::default());
        }
        let moment = waits_for_a_turn(arrival.client, moment);
        team.hook_but(&mailbox, arrival.session, moment, || self.withheld(&mailbox, arrival.session))
    }

    /// What of a mailbox is not for this session now: it is another's that runs, or before another's model; or the session takes
    /// only what names it.
    pub(crate) fn withheld(&self, mailbox: &MemberName, session: &str) -> Result<Withheld, OfficeError> {
        let inbox = self.mailbox(&super::team_name(), mailbox);
        let mut withheld = Withheld::default();
        let registered = self.registered_sessions();
        // Its client may not show yet that it runs.
        if registered.iter().any(|known| known.session == session && known.is_single_run) {
            withheld.leave_all_but(session);
        }
        for running in self.running_among(&registered) {
            match running.takes {
                Takes::Nothing => {}
                Takes::Named if running.id == session => withheld.leave_all_but(session),
                _ if running.id == session => {}
                _ => {
                    let note = SessionNote::of(&inbox, &running.id, &self.state);
                    withheld.present(note.read()?.as_deref());
                    withheld.add_session(running.id);
                }
            }
        }
        Ok(withheld)
    }
}

/// A start is no turn: another session of the folder may be the first to take one, and gets the mail. Where a client takes no
/// text in a turn, its start has to do.
fn waits_for_a_turn(client: AgentClient, moment: Moment) -> Moment {
    match moment {
        Moment::Begins { remembers, .. }
            if client.profile().hooks.as_ref().is_some_and(|hooks| hooks.takes_text_in_turn) =>
        {
            Moment::Begins { tells: false, remembers }
        }
        moment => moment,
    }
}

/// Whether a message is for another session than this, of those that run.
pub(crate) fn is_for_another(message: &Message, running: &HashSet<String>) -> bool {
    message.ours().session.is_some_and(|session| running.contains(&session))
}
