//! The bridge: one team over many machines.
//!
//! Each machine has its own ledger. The sender's ledger keeps a message until the *recipient's* ledger has confirmed it;
//! NATS `JetStream` carries envelopes between them and is trusted with nothing but transport. What to publish, when to
//! publish again, what to take in and what to confirm is decided by the [`engine`], a deterministic state machine over
//! [`protocol`]: time, network and ledger are given to it, so that the simulation runs the same code as the bridge.
//!
//! | module | is |
//! |---|---|
//! | [`name`] | machines and realms |
//! | [`subject`] | the subjects of a realm, every name one token |
//! | [`envelope`] | what is published: signed, sealed for its recipient, refused with a reason |
//! | [`keys`], [`trust`] | this machine's key; the machines whose keys are trusted |
//! | [`wanted`] | dead letters that people asked for again |
//! | [`protocol`] | when to send, what to take in, in which order |
//! | [`residence`] | homes of members, as they are signed and stored |
//! | [`engine`] | these together, over a ledger behind the trait [`local::Local`] |
//! | [`house`] | that ledger, and the teams that are shared |
//! | [`tasks`] | the tasks of shared teams, in a bucket and in files |
//! | [`watched`] | folders in which files are expected |
//! | [`nats`] | the server |
//! | [`run`](mod@run) | the process: one thread for the engine, tasks around the server |

pub mod engine;
pub mod envelope;
pub mod files;
pub mod house;
pub mod keys;
pub mod local;
pub mod name;
pub mod nats;
pub mod protocol;
pub mod residence;
pub mod run;
pub mod subject;
pub mod tasks;
pub mod trust;
pub mod wanted;
pub mod watched;
