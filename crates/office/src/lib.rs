//! The rules of mail: teams and members, sending, looking, reading, waiting.
//!
//! Every front (the command line, servers, hooks) parses its input, calls the [`Office`] and shows the answer; what is
//! allowed and what happens is decided here, once. The office never prints, never reads the environment, and gets
//! its clock as an argument.
//!
//! # Embedding it
//!
//! An [`Office`] needs the shared tree, which agents' clients write too, and a state folder of our own. It is cheap to
//! clone, can be used from several threads, and needs no async runtime: what waits, blocks.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let (root, state) = (folder.path().join("root"), folder.path().join("state"));
//! use atm_office::{Office, people::members::MemberPlan, people::teams::TeamPlan};
//! use atm_store::{Root, State};
//!
//! let office = Office::new(Root::new(root), State::new(state));
//! let team = office.create_team(&TeamPlan::new("demo", "Shows the library"))?;
//! office.add_member(&team, &MemberPlan::new("bob"))?;
//! # Ok(())
//! # }
//! ```
//!
//! # Sending, reading, tracking
//!
//! A message that [`send`](Office::send) accepted is written, whichever process dies. Reading has two steps, so that nothing is
//! marked that was not shown: [`begin_read`](Office::begin_read) hands out, [`confirm`](mail::read::Reading::confirm) marks.
//! [`track`](Office::track) tells the stages of a message, each with its evidence.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # use atm_office::{Office, people::members::MemberPlan, people::teams::TeamPlan};
//! # use atm_store::{Root, State};
//! # let office = Office::new(Root::new(folder.path().join("r")), State::new(folder.path().join("s")));
//! # let team = office.create_team(&TeamPlan::new("demo", "Shows the library"))?;
//! # let bob = office.add_member(&team, &MemberPlan::new("bob"))?;
//! use atm_office::mail::send::{Letter, SendOptions};
//!
//! let letter = Letter::new("bob".parse()?, "please look at the build");
//! let sent = office.send(&team, &"user".parse()?, &letter, SendOptions::default())?;
//!
//! let reading = office.begin_read(&team, &bob, usize::MAX)?;
//! for message in reading.messages() {
//!     assert_eq!(message.text, "please look at the build");
//! }
//! reading.confirm()?; // shown: now it counts as read
//!
//! let track = office.track(Some(&team), &sent.id)?;
//! assert_eq!(track.stage.as_str(), "seen");
//! assert!(track.stages.iter().any(|stage| stage.stage.as_str() == "written"));
//! # Ok(())
//! # }
//! ```
//!
//! # Waiting
//!
//! [`wait_for_mail`](Office::wait_for_mail) sleeps on file events until a member has unread mail, whatever program writes it;
//! [`wait_for_stage`](Office::wait_for_stage) until a message came as far as is wanted; [`watch`](Office::watch) is a
//! stream that consumes nothing.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # use atm_office::{Office, people::members::MemberPlan, people::teams::TeamPlan};
//! # use atm_office::mail::send::{Letter, SendOptions};
//! # use atm_store::{Root, State};
//! # let office = Office::new(Root::new(folder.path().join("r")), State::new(folder.path().join("s")));
//! # let team = office.create_team(&TeamPlan::new("demo", "Shows the library"))?;
//! # let bob = office.add_member(&team, &MemberPlan::new("bob"))?;
//! use std::time::Duration;
//!
//! std::thread::scope(|scope| {
//!     let waiting = scope.spawn(|| office.wait_for_mail(&team, &bob, Duration::from_secs(30)));
//!     let letter = Letter::new(bob.as_str().parse()?, "good morning");
//!     office.send(&team, &"user".parse()?, &letter, SendOptions::default())?;
//!     assert!(waiting.join().expect("it does not panic")?);
//!     Ok::<_, Box<dyn std::error::Error>>(())
//! })?;
//! # Ok(())
//! # }
//! ```
//!
//! # Asking and answering
//!
//! A request has an id that ties its answer to it. [`wait_for_answer`](Team::wait_for_answer) waits for that one and
//! leaves all other mail alone; the question is `done` then.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # use atm_office::{Office, people::members::MemberPlan, people::teams::TeamPlan};
//! # use atm_store::{Root, State};
//! # let office = Office::new(Root::new(folder.path().join("r")), State::new(folder.path().join("s")));
//! # let team = office.create_team(&TeamPlan::new("demo", "Shows the library"))?;
//! # let bob = office.add_member(&team, &MemberPlan::new("bob"))?;
//! use std::time::Duration;
//! use atm_office::mail::send::SendOptions;
//! use serde_json::{Map, json};
//!
//! let lead = "team-lead".parse()?;
//! let question = Map::from_iter([("taskId".to_owned(), json!("7"))]);
//! let (request, asked) =
//!     office.team(&team)?.request(&lead, "bob".parse()?, "task_status_request", question, SendOptions::default())?;
//!
//! // Bob, wherever he is:
//! let answer = Map::from_iter([("progress".to_owned(), json!(60))]);
//! office.team(&team)?.respond(&bob, &request, answer, SendOptions::default())?;
//!
//! let answer = office.team(&team)?.wait_for_answer(&lead, &bob, &request, Duration::from_secs(30))?;
//! assert!(answer.text.contains("\"progress\":60"));
//! assert_eq!(office.track(Some(&team), &asked.id)?.stage.as_str(), "done");
//! # Ok(())
//! # }
//! ```
//!
//! # Waking
//!
//! Mail for an agent that waits for nothing in particular is found when it looks. [`wake`](Office::wake) calls it by its
//! client's own way, at most once for each message and step of a [`Ladder`](chores::wake::Ladder), and never in the middle of a
//! turn.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # use atm_office::{Office, people::members::{MemberChange, MemberPlan}, people::teams::TeamPlan};
//! # use atm_store::{Root, State};
//! # let office = Office::new(Root::new(folder.path().join("r")), State::new(folder.path().join("s")));
//! # let team = office.create_team(&TeamPlan::new("demo", "Shows the library"))?;
//! # let bob = office.add_member(&team, &MemberPlan::new("bob"))?;
//! use atm_office::chores::wake::Ladder;
//! use atm_wire::team::Manner;
//!
//! // A Claude Code member of a team looks by itself, so there is nothing to do.
//! office.set_member(&team, &bob, &MemberChange { wake: Some(Manner::Poll), ..MemberChange::default() })?;
//! let woken = office.wake(&team, &bob, &Ladder::default(), false)?;
//! assert!(!woken.woken && woken.why.is_some());
//! # Ok(())
//! # }
//! ```
//!
//! # Tasks
//!
//! The shared list of agents' clients. Of many who claim a task, one gets it; who must know of a change gets mail.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # use atm_office::{Office, people::members::MemberPlan, people::teams::TeamPlan};
//! # use atm_store::{Root, State};
//! # let office = Office::new(Root::new(folder.path().join("r")), State::new(folder.path().join("s")));
//! # let team = office.create_team(&TeamPlan::new("demo", "Shows the library"))?;
//! # let bob = office.add_member(&team, &MemberPlan::new("bob"))?;
//! use std::time::Duration;
//! use atm_office::tasks::{Completion, TaskPlan};
//!
//! let tasks = office.tasks(&team)?;
//! let plan = TaskPlan { subject: "Mend the build".into(), ..TaskPlan::default() };
//! let id = tasks.create(&"team-lead".parse()?, &plan)?.task.id;
//! tasks.claim(&bob, id, Duration::from_secs(300))?;
//! let done = tasks.complete(&bob, id, &Completion::default())?;
//! assert_eq!(done.task.status.as_str(), "completed");
//! # Ok(())
//! # }
//! ```
//!
//! # Errors
//!
//! Every error is an [`OfficeError`], with a stable [`code`](OfficeError::code) for programs, the
//! [`kind`](OfficeError::kind) that a front ends with, and a [`Hint`] that it words for its reader.

pub mod artifacts;
mod books;
pub mod chores;
pub mod clock;
pub mod error;
pub mod hint;
pub mod machines;
pub mod mail;
pub mod office;
pub mod people;
pub mod progress;
pub mod protocol;
pub mod reservations;
pub mod sessions;
pub mod tasks;
pub mod team;
pub mod token;
pub mod trail;
mod usable;
pub mod view;
pub mod watch;

pub use error::{ErrorKind, OfficeError};
pub use hint::Hint;
pub use mail::underway::{Deliveries, MailSent};
pub use office::Office;
pub use team::Team;
