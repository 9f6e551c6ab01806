//! The office itself: where the files are, what time it is, how patient it is.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use atm_store::{Group, LockTimes, Mailbox, Mailboxes, Root, State, TeamFolder};
use atm_wire::team::TeamConfig;
use atm_wire::{MemberName, TeamName};

use crate::books::Books;
use crate::clock::{Clock, SystemClock};
use crate::error::OfficeError;
use crate::mail::equals::Memory;
use crate::mail::underway::Deliveries;
use crate::people::nearest::nearest;
use crate::people::pane::{NoHost, PaneHost};
use crate::people::probe::{ProcessProbe, SystemProbe};
use crate::progress::{Intake, Observer};
use crate::trail::pending::UNREAD_AFTER;
use crate::watch::Hub;

/// The words of so many messages are indexed at a time by who has time: others wait for one such part at most.
const INDEX_SLICE: usize = 1_024;

/// How long a send waits for the word of another machine that its mail is written there.
const MACHINE_PATIENCE: Duration = Duration::from_secs(2);

/// The person at the keyboard: sends without being a member, and can always be answered.
pub const USER: &str = "user";

/// The rules of mail over one shared tree.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use atm_office::{Office, mail::send::{Letter, SendOptions}, people::teams::TeamPlan};
/// use atm_store::{Root, State};
///
/// let folder = tempfile::tempdir()?;
/// let office = Office::new(Root::new(folder.path().join("root")), State::new(folder.path().join("state")));
/// let team = office.create_team(&TeamPlan::new("demo", "Shows the library"))?;
/// office.add_member(&team, &atm_office::people::members::MemberPlan::new("bob"))?;
///
/// let letter = Letter::new("bob".parse()?, "please look at the build");
/// let sent = office.send(&team, &"user".parse()?, &letter, SendOptions::default())?;
///
/// let reading = office.begin_read(&team, &"bob".parse()?, usize::MAX)?;
/// assert_eq!(reading.messages()[0].id, sent.id);
/// reading.confirm()?; // only now is it marked as read
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Office {
    pub(crate) root: Root,
    pub(crate) state: State,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) times: LockTimes,
    pub(crate) books: Books,
    pub(crate) probe: Arc<dyn ProcessProbe>,
    pub(crate) panes: Arc<dyn PaneHost>,
    /// The root without links, once it exists: the ledger knows it by that name.
    pub(crate) root_key: Arc<OnceLock<String>>,
    pub(crate) unread_after: Duration,
    pub(crate) machine_patience: Duration,
    pub(crate) deliveries: Deliveries,
    pub(crate) hub: Hub,
    pub(crate) observer: Observer,
}

impl Office {
    /// An office over the tree at `root`, with its own things in `state`.
    pub fn new(root: Root, state: State) -> Self {
        let state = state.with_root(&root);
        let books = Books::new(state.ledger());
        let hub = Hub::of(&books);
        Self {
            root,
            state,
            clock: Arc::new(SystemClock),
            times: LockTimes::default(),
            books,
            probe: Arc::new(SystemProbe),
            panes: Arc::new(NoHost),
            root_key: Arc::default(),
            unread_after: UNREAD_AFTER,
            machine_patience: MACHINE_PATIENCE,
            deliveries: Deliveries::default(),
            hub,
            observer: Observer::default(),
        }
    }

    /// With another view of the machine's processes.
    #[must_use]
    pub fn with_probe(mut self, probe: impl ProcessProbe + 'static) -> Self {
        self.probe = Arc::new(probe);
        self
    }

    /// With the panes that members run in. Without them nothing is known of any pane.
    #[must_use]
    pub fn with_panes(mut self, panes: impl PaneHost + 'static) -> Self {
        self.panes = Arc::new(panes);
        self
    }

    /// With another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// With somebody who wants to know how far it has come with much mail.
    #[must_use]
    pub fn with_observer(mut self, observer: impl Fn(&Intake<'_>) + Send + Sync + 'static) -> Self {
        self.observer = Observer::new(observer);
        self
    }

    /// With another patience.
    #[must_use]
    pub fn with_lock_times(mut self, times: LockTimes) -> Self {
        self.times = times;
        self
    }

    /// With another time that mail may lie unread by a member that is there, before it counts as pending.
    #[must_use]
    pub fn with_unread_after(mut self, after: Duration) -> Self {
        self.unread_after = after;
        self
    }

    /// With another time that a send waits for the word of another machine that its mail is written there.
    #[must_use]
    pub fn with_machine_patience(mut self, patience: Duration) -> Self {
        self.machine_patience = patience;
        self
    }

    /// The same office with the ledger opened for it alone: who works with this one has not to wait until others have done
    /// what they do there.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self { books: Books::new(self.state.ledger()), ..self.clone() }
    }

    /// The shared tree.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The process ends, and will ask nothing more: what is open need not be closed in order.
    pub fn leave(&self) {
        self.books.leave();
    }

    /// Takes words into the index of the ledger for so long at most, so that searches find little that is not indexed. What
    /// cannot be indexed now is for the next one.
    pub fn index_words(&self, within: Duration) {
        let start = Instant::now();
        while start.elapsed() < within && self.books.index_words_if_open(INDEX_SLICE) {}
    }

    /// What it sends, and what of it is still under way.
    pub fn deliveries(&self) -> &Deliveries {
        &self.deliveries
    }

    /// Where everything waits that this office and its clones wait for.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Our own state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// How long locks are waited for, and when they count as stale.
    pub fn lock_times(&self) -> LockTimes {
        self.times
    }

    /// The machine's processes, as this office sees them.
    pub fn probe(&self) -> &dyn ProcessProbe {
        &*self.probe
    }

    /// The panes that members run in.
    pub fn panes(&self) -> &dyn PaneHost {
        &*self.panes
    }

    /// The time, by this office's clock.
    pub fn now(&self) -> atm_wire::Stamp {
        self.clock.now()
    }

    /// The team's folder, which must exist.
    pub fn folder(&self, team: &TeamName) -> Result<TeamFolder, OfficeError> {
        let folder = self.folder_of(team);
        if folder.exists() {
            return Ok(folder);
        }
        let known = TeamFolder::list(&self.root)?;
        let nearest = nearest(team.as_str(), known.iter().map(TeamName::as_str));
        Err(OfficeError::NoTeam { wanted: team.to_string(), nearest })
    }

    /// The mailbox of a name, whether there is one or not.
    pub fn mailbox(&self, team: &TeamName, name: &MemberName) -> Mailbox {
        let mailbox = Mailbox::open(&self.root.team(team), name, &self.state, self.times);
        self.with_memory(mailbox, team, name)
    }

    /// A mailbox with the ledger's memory of which of equal messages is which.
    pub(crate) fn with_memory(&self, mailbox: Mailbox, team: &TeamName, name: &MemberName) -> Mailbox {
        let memory = Memory {
            books: self.books.clone(),
            root: self.root.path().to_owned(),
            team: team.to_string(),
            name: name.to_string(),
        };
        mailbox.with_past(Arc::new(memory))
    }

    /// The mailboxes of a team, to look at many of them.
    pub(crate) fn mailboxes(&self, folder: &TeamFolder) -> Mailboxes<'_> {
        Mailboxes::of(folder.path().to_owned(), &self.state, self.times)
    }

    /// The team's folder, whether there is one or not.
    pub fn folder_of(&self, team: &TeamName) -> TeamFolder {
        TeamFolder::new(&self.root, team, &self.state, self.times)
    }

    /// The error that there is nobody of that name, with the nearest names.
    pub fn no_member(&self, team: &TeamName, config: &TeamConfig, wanted: &str) -> OfficeError {
        let inboxes = self.inbox_names(team);
        let members = config.members.iter().map(|member| member.name.as_str());
        let nearest = nearest(wanted, members.chain(inboxes.iter().map(MemberName::as_str)));
        OfficeError::NoMember { team: team.clone(), wanted: wanted.to_owned(), nearest }
    }

    /// The error that nobody of that name could send, with the nearest names.
    pub(crate) fn no_sender(&self, team: &TeamName, config: &TeamConfig, wanted: &MemberName) -> OfficeError {
        let nearest = match self.no_member(team, config, wanted.as_str()) {
            OfficeError::NoMember { nearest, .. } => nearest,
            _ => Vec::new(),
        };
        OfficeError::NoSender { team: team.clone(), wanted: wanted.to_string(), nearest }
    }

    /// The group that may read a team's files, if it is for one.
    pub fn group_of(&self, team: &TeamName) -> Option<Group> {
        Group::of_folder(self.folder_of(team).path())
    }

    /// The names that have an inbox file.
    pub fn inbox_names(&self, team: &TeamName) -> Vec<MemberName> {
        self.folder_of(team).inbox_names()
    }
}
