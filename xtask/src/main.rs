//! Project chores, run as `cargo xtask <chore>`.

mod bench;
mod clients;
mod dist;
mod docs;
mod faults;
mod hub;
mod instructions;
mod licences;
mod picture;
mod repo;
mod setup;
mod soak;
mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Project chores.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Check everything: format, lints, documents, and all tests
    Test(test::Args),
    /// Measure the release binary against what the machine can do at best
    Bench(bench::Args),
    /// Set atm up in the real clients, each in an empty home, and see whether it works (downloads more than a gigabyte)
    Clients(clients::Args),
    /// Pack what is shipped, and try each package in an empty environment; nothing is published
    Dist(dist::Args),
    /// Try the release binary on small disks, with failing system calls, signals and held locks
    Faults(faults::Args),
    /// Count the instructions of the commands that run most often, and hold them against the record (Linux, valgrind)
    Instructions(instructions::Args),
    /// Run every kind of writer and reader at once for some minutes, with kills and a disk that fills up
    Soak(soak::Args),
    /// Draw the picture in the README anew, from what the program prints
    Picture,
    /// Install what the tests need, where it is missing
    Setup,
    /// Write the documents that are made from the code, and check all of them
    Docs,
}

fn main() -> ExitCode {
    let result = match Cli::parse().chore {
        Chore::Test(args) => test::run(&args),
        Chore::Bench(args) => bench::run(&args),
        Chore::Clients(args) => clients::run(&args),
        Chore::Dist(args) => dist::run(&args),
        Chore::Faults(args) => faults::run(&args),
        Chore::Instructions(args) => instructions::run(&args),
        Chore::Soak(args) => soak::run(&args),
        Chore::Picture => picture::run(),
        Chore::Setup => setup::run().map(drop),
        Chore::Docs => docs::run(),
    };
    if let Err(error) = result {
        let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
        eprintln!("error: {}", causes.join("\nbecause: "));
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
