//! `atm-bridge`: one team over many machines. `atm bridge …` runs it.

mod args;
mod cmd;
mod context;
mod failure;
mod output;
mod settings;

use std::process;

use clap::Parser;

use args::Args;
use context::Context;

fn main() {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => process::exit(failure::report_usage(&error)),
    };
    let json = args.global.json;
    let code = match Context::new(&args.global).and_then(|context| cmd::run(args.command, &context)) {
        Ok(code) => code,
        Err(failure) => failure.report(json),
    };
    process::exit(code);
}
