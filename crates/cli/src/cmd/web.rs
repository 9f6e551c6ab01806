//! `atm web`

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use atm_mcp::Profile;
use atm_web::{Listening, Settings};
use clap::Args;
use serde_json::json;

use super::duration::duration;
use super::mcp;
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
--host. Agents' clients that speak MCP over HTTP use the same token, at /mcp. A daemon serves it all the time with
  [web]
  port = 8417
  read_only = true   # if nothing is to be changed from there
in your settings; `atm web` then prints an address of that server.")]
pub(crate) struct Web {
    /// Where to listen; only this machine's own addresses, without --allow-remote
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    bind: IpAddr,
    /// On which port; 0 is any that is free. Without it, where a daemon serves the dashboard, that one is used
    #[arg(long, value_name = "N")]
    port: Option<u16>,
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
    /// Stop after this long: 30s, 8h
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    patience: Option<Duration>,
}

/// How long a daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

impl Web {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        if let Some(url) = self.port.is_none().then(|| entrance_of_daemon(context)).flatten() {
            return attach(context, &url, self.open);
        }
        let address = SocketAddr::new(self.bind, self.port.unwrap_or(0));
        if !self.bind.is_loopback() {
            if !self.allow_remote {
                let why =
                    format!("{} can be reached from other machines; 127.0.0.1 and ::1 cannot", self.bind);
                return Err(Failure::usage(why).hint("--allow-remote says that this is meant"));
            }
            context.out.warn(&format!(
                "{} can be reached from other machines, and nothing is encrypted: put a proxy that speaks TLS before it",
                self.bind
            ))?;
        }
        let settings = served(context, &context.settings, address, self.read_only)?;
        let settings = Settings { hosts: self.hosts, ..settings };
        stop::end_in_order(context.office.hub());
        if let Some(patience) = self.patience {
            let waits = context.office.hub().clone();
            thread::spawn(move || {
                thread::sleep(patience);
                waits.shut_down();
            });
        }
        let mut told = Ok(());
        let served = atm_web::serve(settings, |listening| {
            told = tell(
                context,
                listening,
                "open it in a browser within 10 minutes: it lets in once; Ctrl-C ends the server",
            );
            if self.open {
                open(&listening.entrance());
            }
        });
        told?;
        served.map_err(|error| {
            Failure::new(ExitCode::Io, "io", format!("cannot serve on {address}: {error}"))
        })?;
        Ok(0)
    }
}

/// What a server is started with.
pub(super) fn served(
    context: &Context,
    settings: &crate::settings::Settings,
    address: SocketAddr,
    read_only: bool,
) -> Result<Settings, Failure> {
    Ok(Settings {
        office: context.office.clone(),
        cwd: context.cwd.clone(),
        address,
        hosts: Vec::new(),
        read_only,
        ladder: settings.ladder.value.clone(),
        upkeep: settings.upkeep.value.clone(),
        schemas: Schemas::load().map_err(io::Error::from)?.into_definitions(),
        hint_words: hint::words,
        mcp: Some(mcp::server(context, (None, None), Profile::All, None)?),
    })
}

/// The address that lets one more browser in where a daemon serves; nothing, if none does.
fn entrance_of_daemon(context: &Context) -> Option<String> {
    let port = context.settings.web.value.port?;
    let token = std::fs::read_to_string(context.office.state().web_token()).ok()?;
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port.get())).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    write!(
        stream,
        "POST /api/v1/entrances HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {}\r\n\
         Content-Length: 0\r\nConnection: close\r\n\r\n",
        token.trim()
    )
    .ok()?;
    let mut answer = String::new();
    stream.take(64 * 1024).read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let body: serde_json::Value = serde_json::from_str(body).ok()?;
    head.starts_with("HTTP/1.1 201 ").then(|| body["url"].as_str().map(ToOwned::to_owned)).flatten()
}

/// Leads to the server of a daemon.
fn attach(context: &mut Context, url: &str, opens: bool) -> Result<i32, Failure> {
    let token_file = context.office.state().web_token();
    let (address, one_time) = url.split_once("?token=").unwrap_or((url, ""));
    let token = context.office.http_token(None, None)?;
    let listening = Listening { url: address.to_owned(), one_time: one_time.to_owned(), token, token_file };
    tell(
        context,
        &listening,
        "the daemon serves it; this address lets one browser in, once, within 10 minutes",
    )?;
    if opens {
        open(&listening.entrance());
    }
    Ok(0)
}

fn tell(context: &mut Context, listening: &Listening, note: &str) -> Result<(), Failure> {
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
        out.note(note)?;
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
