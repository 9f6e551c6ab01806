//! `atm`: durable mail for teams of coding agents.

mod args;
mod chores;
mod client_arg;
mod cmd;
mod complete;
mod context;
mod exit;
mod failure;
mod help;
mod hint;
mod logging;
mod output;
mod schemas;
mod service_words;
mod settings;
mod signals;
mod size;
mod stop;
mod suggest;
mod version;
mod when;

use std::env;
use std::io::{self, Write as _};
use std::process;

use args::{Args, Global};
use atm_clients::hook::GO_ON;
use cmd::{Command, Status, hook};
use context::Context;
use failure::Failure;

fn main() {
    complete::answer_a_shell();
    signals::report_too_large_files();
    let words: Vec<String> = env::args_os().skip(1).filter_map(|word| word.into_string().ok()).collect();
    if let Some(text) = version::answer(&words) {
        // If nobody listens, there is nothing left to do.
        let _ = io::stdout().write_all(text.as_bytes());
        process::exit(0);
    }
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
    let Args { global, command } = args;
    let command = command.unwrap_or_else(|| Command::Status(Status::bare()));
    let is_daemon = matches!(&command, Command::Daemon(daemon) if daemon.is_one());
    if !is_daemon {
        failure::end_at_panics();
    }
    stop::listen(matches!(command, Command::Mcp(_)));
    #[cfg(debug_assertions)]
    if let Ok(point) = env::var("ATM_TEST_DIE_AT") {
        atm_store::points::die_at(&point);
    }
    if let Some(warning) = (!is_daemon).then(logging::start).flatten().filter(|_| !for_a_hook) {
        eprintln!("{} {}", output::paint::of_stderr().attention("warning:"), output::safe::line(&warning));
    }
    let json = global.json;
    let code = match run(&global, command, for_a_hook) {
        Ok(code) => code,
        Err(failure) => match failure.report(json) {
            GO_ON if for_a_hook => 0,
            code => code,
        },
    };
    process::exit(code);
}

fn run(global: &Global, command: Command, for_a_hook: bool) -> Result<i32, Failure> {
    let mut context = match (Context::new(global), &command) {
        (Ok(context), _) => context,
        (Err(Failure::Told(told)), Command::Hook(_)) => {
            return Ok(hook::give_up(Some(global), &told.message));
        }
        // It tells what is wrong with them, as of any other file.
        (Err(Failure::Told(told)), Command::Validate(_)) if told.code == "bad_settings" => {
            Context::without_files(global)?
        }
        (Err(failure), _) => return Err(failure),
    };
    stop::answer_for(context.office.deliveries());
    let takes_mail = for_a_hook
        || matches!(&command, Command::Read(_) | Command::Ack(_) | Command::Request(_) | Command::Mcp(_));
    if let Some(warning) = context.settings.distrust(takes_mail) {
        match &command {
            // What a hook says is read by a model.
            _ if for_a_hook => hook::note_once(&context, &warning),
            // It says so in its answer.
            Command::Config(_) => {}
            _ => context.out.warn(&warning)?,
        }
    }
    // Who changes the settings may want none any more.
    let is_about_daemon = matches!(&command, Command::Daemon(_) | Command::Config(_));
    let done = cmd::run(command, &mut context);
    // The answer first: what is left to do for the ledger is nobody's to wait for.
    let finished = context.out.finish();
    context.office.leave();
    if !is_about_daemon && !for_a_hook {
        cmd::daemon::start_if_wanted(&context);
    }
    finished?;
    stop::conclude(done)
}
