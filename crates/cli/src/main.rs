//! `atm`: durable mail for teams of coding agents.

mod args;
mod client_arg;
mod cmd;
mod context;
mod exit;
mod failure;
mod help;
mod hint;
mod logging;
mod output;
mod schemas;
mod settings;
mod signals;
mod size;
mod stop;
mod suggest;

use std::env;
use std::process;

use args::Args;
use atm_clients::hook::GO_ON;
use cmd::{Command, hook};
use context::Context;
use failure::Failure;

fn main() {
    signals::report_too_large_files();
    let for_a_hook = hook::is_called(env::args_os().skip(1));
    let args = match Args::of_process() {
        Ok(args) => args,
        Err(error) if error.use_stderr() && for_a_hook => {
            failure::report_usage(&error);
            process::exit(hook::give_up(None, "wrong arguments"));
        }
        Err(mut error) => {
            suggest::add_to(&mut error);
            process::exit(failure::report_usage(&error));
        }
    };
    stop::listen(matches!(args.command, Command::Mcp(_)));
    #[cfg(debug_assertions)]
    if let Ok(point) = env::var("ATM_TEST_DIE_AT") {
        atm_store::points::die_at(&point);
    }
    if let Some(warning) = logging::start().filter(|_| !for_a_hook) {
        eprintln!("warning: {}", output::safe::line(&warning));
    }
    let json = args.global.json;
    let code = match run(args, for_a_hook) {
        Ok(code) => code,
        Err(failure) => match failure.report(json) {
            GO_ON if for_a_hook => 0,
            code => code,
        },
    };
    process::exit(code);
}

fn run(args: Args, for_a_hook: bool) -> Result<i32, Failure> {
    let mut context = match (Context::new(&args.global), &args.command) {
        (Ok(context), _) => context,
        (Err(Failure::Told(told)), Command::Hook(_)) => {
            return Ok(hook::give_up(Some(&args.global), &told.message));
        }
        // It tells what is wrong with them, as of any other file.
        (Err(Failure::Told(told)), Command::Validate(_)) if told.code == "bad_settings" => {
            Context::without_files(&args.global)?
        }
        (Err(failure), _) => return Err(failure),
    };
    stop::answer_for(context.office.deliveries());
    let takes_mail = for_a_hook
        || matches!(
            &args.command,
            Command::Read(_) | Command::Ack(_) | Command::Request(_) | Command::Mcp(_)
        );
    if let Some(warning) = context.settings.distrust(takes_mail) {
        match &args.command {
            // What a hook says is read by a model.
            _ if for_a_hook => hook::note_once(&context, &warning),
            // It says so in its answer.
            Command::Config(_) => {}
            _ => context.out.warn(&warning)?,
        }
    }
    let done = cmd::run(args.command, &mut context);
    context.office.leave();
    context.out.finish()?;
    stop::conclude(done)
}
