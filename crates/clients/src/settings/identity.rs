//! Who the agent will be, as a client's settings say it.

use crate::client::AgentClient;
use crate::folders::Scope;
use crate::shell;

/// A folder of ours, and whether somebody named it explicitly.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// The folder.
    pub path: String,
    /// Whether an option or a variable of ours named it.
    pub is_explicit: bool,
}

/// Whom a client's settings speak for: root, state, team and name.
#[derive(Debug)]
pub struct Identity {
    /// For whom the client is set up.
    pub scope: Scope,
    /// The shared tree.
    pub root: Place,
    /// Our state folder.
    pub state: Place,
    /// The team.
    pub team: Option<String>,
    /// The member's name.
    pub name: Option<String>,
    /// Whether mail wakes it.
    pub is_woken: bool,
    /// Whether it is kept from editing what others have reserved.
    pub heeds_reservations: bool,
}

impl Identity {
    /// Nobody: for a plugin, which is for everybody.
    pub fn nobody() -> Self {
        Self {
            scope: Scope::Project,
            root: Place::default(),
            state: Place::default(),
            team: None,
            name: None,
            is_woken: false,
            heeds_reservations: false,
        }
    }

    /// Whether a member is named.
    pub fn is_known(&self) -> bool {
        self.name.is_some()
    }

    /// A folder, if the settings are to name it. A user's settings always do: whichever folder the client is started in,
    /// what is there has no say in it. A project's settings are for everybody who works there, so they name a folder only
    /// if somebody did so explicitly.
    fn written(&self, place: &Place) -> Option<String> {
        (self.scope == Scope::User || place.is_explicit).then(|| place.path.clone())
    }

    /// For a server, which may see no other environment.
    pub(crate) fn env(&self) -> Vec<(String, String)> {
        let values = [
            ("ATM_ROOT", self.written(&self.root)),
            ("ATM_STATE", self.written(&self.state)),
            ("ATM_TEAM", self.team.clone()),
            ("ATM_AS", self.name.clone()),
        ];
        values.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    /// For a hook, which has the client's environment.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let values = [
            ("--root", self.written(&self.root)),
            ("--state", self.written(&self.state)),
            ("--team", self.team.clone()),
            ("--as", self.name.clone()),
        ];
        let pairs = values.into_iter().filter_map(|(option, value)| Some([option.to_owned(), value?]));
        pairs.flatten().collect()
    }

    /// `hook EVENT --client CLIENT …`
    pub(crate) fn hook_arguments(&self, client: AgentClient, event: &str) -> Vec<String> {
        let mut arguments = ["hook", event, "--client", client.as_str()].map(ToOwned::to_owned).to_vec();
        arguments.extend(self.arguments());
        arguments
    }

    /// `wake wait …`
    pub(crate) fn wake_arguments(&self) -> Vec<String> {
        let mut arguments = ["wake", "wait"].map(ToOwned::to_owned).to_vec();
        arguments.extend(self.arguments());
        arguments
    }

    /// A hook as a line for a shell.
    pub(crate) fn hook_line(&self, client: AgentClient, event: &str) -> String {
        let words = self.hook_arguments(client, event);
        shell::join(["atm"].into_iter().chain(words.iter().map(String::as_str)))
    }
}
