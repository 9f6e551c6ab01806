//! One file per command.

mod dead;
mod doctor;
mod init;
mod key;
mod machines;
mod run;
mod status;
mod take;
mod trust;
mod unshare;

use crate::context::Context;
use crate::failure::Failure;

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Run(run::Run),
    Status(status::Status),
    Doctor(doctor::Doctor),
    Init(init::Init),
    Key(key::Key),
    Trust(trust::Trust),
    Machines(machines::Machines),
    Take(take::Take),
    Dead(dead::Dead),
    Unshare(unshare::Unshare),
}

pub(crate) fn run(command: Command, context: &Context) -> Result<i32, Failure> {
    match command {
        Command::Run(run) => run.run(context),
        Command::Status(_) => status::Status::run(context),
        Command::Doctor(doctor) => block_on(doctor.run(context)),
        Command::Init(init) => block_on(init.run(context)),
        Command::Key(key) => key.run(context),
        Command::Trust(trust) => trust.run(context),
        Command::Machines(_) => machines::Machines::run(context),
        Command::Take(take) => block_on(take.run(context)),
        Command::Dead(dead) => block_on(dead.run(context)),
        Command::Unshare(unshare) => unshare.run(context),
    }
}

fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}
