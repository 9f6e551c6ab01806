//! Whether sessions work in the folder of a mailbox, and what they do: by each client's own evidence.
//!
//! A mailbox is judged by all that work there; a session that is named, by what is known of it alone.
//!
//! | client | what tells that it runs | what tells what it does |
//! |---|---|---|
//! | Claude Code | its registry of sessions | the same |
//! | Codex | the lock on its thread; where nobody can tell, its process | its hooks: a turn ended, a permission is asked for |
//! | others | the process that called our hook, with its start | the same |

use std::path::Path;

use atm_clients::AgentClient;
use atm_clients::claude::sessions::Activity;
use atm_clients::conversations::Openness;
use atm_wire::team::{Member, TeamConfig};
use atm_wire::{MemberName, TeamName};

use super::PresenceView;
use super::gather::Surroundings;
use super::own::Own;
use super::tied::{Caller, judge};
use crate::error::OfficeError;
use crate::office::Office;
use crate::sessions::{self, Destination, Live, Registered};

/// Of a folder in which no session works or has worked.
const ALONE: &str = "only a single run for a script is on there, which takes no mail of the folder";

/// A session that runs, in words, and what it does.
type Working = (String, Option<Activity>);

impl Office {
    /// What tells of a mailbox whether sessions work in its folder: those that run or, if none does, how the last one ended. Where
    /// one of them alone is asked about, the others do not count.
    pub(super) fn signs_of_folder(
        &self,
        team: &TeamName,
        member: &Member,
        around: &Surroundings,
    ) -> (Option<Working>, Option<Own>) {
        let Some(folder) = member.cwd.as_deref().map(Path::new) else { return (None, None) };
        let (registered, running) = around.register.get_or_init(|| {
            let registered = self.registered_sessions();
            let running = self.running_among(&registered);
            (registered, running)
        });
        let here: Vec<Working> = running
            .iter()
            .filter(|live| match &around.only_session {
                Some(only) => live.id == *only,
                None => live.works_in(folder),
            })
            .map(|live| self.working(team, member, live, registered))
            .collect();
        if !here.is_empty() {
            return (Some(together(here)), None);
        }
        let is_asked = |session: &&Registered| match &around.only_session {
            Some(only) => session.session == *only,
            None => session.folder == folder,
        };
        // What runs and does not work there is a single run, and did not end.
        let is_on = |session: &Registered| running.iter().any(|live| live.id == session.session);
        let last = registered.iter().filter(is_asked).max_by_key(|session| (!is_on(session), session.began));
        let ended =
            last.and_then(|last| if is_on(last) { Some(ALONE.to_owned()) } else { how_it_ended(last) });
        (None, ended.map(Own::Gone))
    }

    fn working(&self, team: &TeamName, member: &Member, live: &Live, registered: &[Registered]) -> Working {
        let known = registered.iter().find(|known| known.session == live.id);
        let hooked = || {
            let name = MemberName::parse(&member.name).ok()?;
            self.hooked_activity(team, &name, &live.id, known.and_then(Registered::went_on))
        };
        let activity = live.activity.clone().or_else(hooked);
        let doing =
            activity.as_ref().map(|activity| format!(", {}", activity.describe())).unwrap_or_default();
        let tells = known.and_then(|known| {
            let openness = Openness::certain(true, || openness(live.client, known));
            judge(live.client.title(), &live.id, openness, Caller::Runs(live.pid))
        });
        let is_listed = live.client == AgentClient::Claude;
        if let Some((_, _, what)) = tells.filter(|_| !is_listed) {
            return (format!("{what}{doing}"), activity);
        }
        let short: String = live.id.chars().take(8).collect();
        (format!("session {short} runs (process {}{doing})", live.pid), activity)
    }

    /// Whether a session is there, or one works in a folder, and why we say so; by any name that it is written to.
    pub fn session_presence(&self, wanted: &str) -> Result<PresenceView, OfficeError> {
        let Destination { folder, session } = self.find_session(wanted)?;
        let team = sessions::team_name();
        let mailbox = self.mailbox_of_folder(&folder);
        if let (Some(mailbox), None) = (&mailbox, &session) {
            return self.presence(&team, mailbox);
        }
        // One of several, or nobody has written to it yet: then there is no mailbox, and nothing is made for a look.
        let last = || folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = mailbox.map_or_else(last, |mailbox| mailbox.to_string());
        let cwd = Some(folder.display().to_string());
        let member = Member { name, cwd, ..Member::default() };
        let config = TeamConfig::default();
        let around = match &session {
            Some(session) => Surroundings::of_session(session),
            None => Surroundings::of(&config),
        };
        let judgement = self.judge(&team, &config, &member, &around);
        Ok(PresenceView { name: member.name, team: team.to_string(), judgement })
    }
}

/// Whether a process has a session open, by its client's own lock.
fn openness(client: AgentClient, session: &Registered) -> Openness {
    let conversations = client.profile().conversations.as_ref();
    let asked = conversations.zip(session.transcript.as_deref());
    asked.map_or(Openness::Unknown, |(known, path)| (known.openness)(path, &session.session))
}

fn how_it_ended(session: &Registered) -> Option<String> {
    let client: AgentClient = session.client.parse().ok()?;
    let short: String = session.session.chars().take(8).collect();
    if session.is_over {
        return Some(format!("its last session {short} of {} is over, as its client said", client.title()));
    }
    let caller = session.pid.map_or(Caller::Unknown, Caller::Ended);
    let (_, _, what) = judge(client.title(), &session.session, openness(client, session), caller)?;
    Some(what)
}

/// Several sessions as one: what needs somebody comes before what works, and that before what rests.
fn together(mut here: Vec<Working>) -> Working {
    let rank = |activity: &Option<Activity>| match activity {
        Some(Activity::Waiting(_)) => 0,
        Some(Activity::Busy) => 1,
        Some(Activity::Other(_)) | None => 2,
        Some(Activity::Idle) => 3,
    };
    here.sort_by_key(|(_, activity)| rank(activity));
    let words: Vec<&str> = here.iter().map(|(what, _)| what.as_str()).collect();
    let words = words.join("; ");
    (words, here.into_iter().next().and_then(|(_, activity)| activity))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_sessions_the_one_that_waits_for_its_user_tells() {
        let session = |what: &str, activity| (what.to_owned(), activity);
        let (what, activity) = together(vec![
            session("a", Some(Activity::Idle)),
            session("b", None),
            session("c", Some(Activity::waits_for_permission())),
            session("d", Some(Activity::Busy)),
        ]);
        assert_eq!((what.as_str(), activity), ("c; d; b; a", Some(Activity::waits_for_permission())));
        assert_eq!(together(vec![session("a", None)]), session("a", None));
    }

    #[test]
    fn the_last_session_of_a_folder_tells_how_it_ended() {
        let session = |is_over, pid| Registered {
            client: "gemini".to_owned(),
            session: "0199a0b1-0000".to_owned(),
            pid,
            is_over,
            ..Registered::default()
        };
        for (session, expected) in [
            (
                session(true, None),
                Some("its last session 0199a0b1 of Gemini CLI is over, as its client said"),
            ),
            (session(false, Some(7)), Some("process 7 of Gemini CLI, which called its hooks, has ended")),
            (session(false, None), None),
        ] {
            assert_eq!(how_it_ended(&session).as_deref(), expected);
        }
    }
}
