//! `atm web`

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::process::{Command, Stdio};
use std::thread;

use atm_web::{Listening, Settings};
use clap::Args;
use serde_json::json;

use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::schemas::Schemas;
use crate::{hint, stop};

#[derive(Debug, Args)]
#[command(after_help = "\
The first line is the address, with a token that lets one browser in, once. Programs send another token, which is in
web.token in the state folder, as \"Authorization: Bearer TOKEN\"; GET /openapi.json describes the API. Sessions last for
30 days and over restarts. Remove http.token in the state folder to end all sessions, and for new tokens.

From other machines it can be reached only with --allow-remote; put a proxy that speaks TLS before it, and name it with
--host. Agents' clients that speak MCP over HTTP use the same token, at /mcp.")]
pub(crate) struct Web {
    /// Where to listen; only this machine's own addresses, without --allow-remote
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    bind: IpAddr,
    /// On which port; 0 is any that is free
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
    /// Refuse everything that changes anything
    #[arg(long)]
    read_only: bool,
    /// Open it in the browser
    #[arg(long)]
    open: bool,
    /// Let --bind be an address that other machines can reach
    #[arg(long)]
    allow_remote: bool,
    /// Another name under which it is reached, like that of a proxy before it
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
}

impl Web {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let address = SocketAddr::new(self.bind, self.port);
        if !self.bind.is_loopback() {
            if !self.allow_remote {
                let why = format!("{} can be reached from other machines; 127.0.0.1 and ::1 cannot", self.bind);
                return Err(Failure::usage(why).hint("--allow-remote says that this is meant"));
            }
            context.out.warn(&format!(
                "{} can be reached from other machines, and nothing is encrypted: put a proxy that speaks TLS before it",
                self.bind
            ))?;
        }
        let schemas = Schemas::load().map_err(io::Error::from)?.into_definitions();
        let settings = Settings {
            office: context.office.clone(),
            cwd: context.cwd.clone(),
            address,
            hosts: self.hosts,
            read_only: self.read_only,
            ladder: context.settings.ladder.value.clone(),
            upkeep: context.settings.upkeep.value.clone(),
            schemas,
            hint_words: hint::words,
            mcp: None,
        };
        stop::end_in_order(context.office.hub());
        let mut told = Ok(());
        let served = atm_web::serve(settings, |listening| {
            told = tell(context, listening);
            if self.open {
                open(&listening.entrance());
            }
        });
        told?;
        served.map_err(|error| Failure::new(ExitCode::Io, "io", format!("cannot serve on {address}: {error}")))?;
        Ok(0)
    }
}

fn tell(context: &mut Context, listening: &Listening) -> Result<(), Failure> {
    let out = &mut context.out;
    if out.json {
        out.document(&json!({
            "url": listening.entrance(),
            "address": listening.url,
            "token": listening.token,
            "token_file": listening.token_file,
        }))?;
    } else {
        out.line(listening.entrance())?;
        out.note("open it in a browser: it lets in once; Ctrl-C ends the server")?;
    }
    Ok(out.finish()?)
}

/// Has the desktop open an address. Where it cannot, the address stands on the first line.
fn open(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = |command: &mut Command| {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    };
    if let Ok(mut browser) = quiet(Command::new(program).arg(url)) {
        thread::spawn(move || browser.wait());
    }
}
