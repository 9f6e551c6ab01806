//! `atm mcp`

use std::env;
use std::os::unix::process::parent_id;
use std::path::PathBuf;

use atm_clients::claude::socket::{SESSION_VARIABLE, SOCKET_VARIABLE};
use atm_mcp::{Profile, Server, Settings, Spawning, stdio};
use atm_office::mail::hook::Caller;
use atm_office::mail::push::Push;
use atm_office::people::ancestry::ClientProcess;
use atm_wire::Address;
use clap::{Args, ValueEnum};

use super::recipient::session_here;
use super::spawn;
use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;

#[derive(Debug, Args)]
#[command(after_help = "\
With --as NAME (or ATM_AS) the server is that member's: it sends as NAME, reads NAME's mail, and nobody else's.
It serves one team: that of NAME@TEAM or --team; without one, the team that commands in this folder
use or, if there are several, the one that the first call names.
Without it, it is the one's whose session it runs in: a member's in a process of its own, else the
lead's. Add it to a client by hand:
  claude mcp add atm -- atm mcp
  codex mcp add atm --env ATM_AS=bob --env ATM_TEAM=dev -- atm mcp --tools core

With --http every request needs the token: as \"Authorization: Bearer TOKEN\", or in the address,
as printed, for clients that cannot send that. Every member's server has another one. They are
derived from http.token in the state folder; remove that file for new ones.")]
pub(crate) struct Mcp {
    /// Which tools to offer
    #[arg(long, value_enum, value_name = "LIST", default_value_t = Tools::All)]
    tools: Tools,
    /// Serve on a local port instead of standard input and output; port 0 is any that is free. The first line says the
    /// address, with the token that every request needs
    #[cfg(feature = "mcp-http")]
    #[arg(long, value_name = "IP:PORT")]
    http: Option<std::net::SocketAddr>,
}

/// Which tools to offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Tools {
    /// What a member needs every day
    Core,
    /// All of them
    All,
}

impl Mcp {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let identity = context.settings.taker()?.or_else(|| member_of_session(context));
        if let Some(team) = identity.as_ref().and_then(|address| address.team.as_ref()) {
            // A bound server of a team that is not there would refuse every call.
            context.office.choose_team(Some(team.as_str()), &context.cwd)?;
        }
        let profile = match self.tools {
            Tools::Core => Profile::Core,
            Tools::All => Profile::All,
        };
        let client = self.client(context);
        let push = handed_session(context).filter(|_| identity.is_none() && !self.is_for_anybody());
        let server = server(context, (identity, client), profile, push)?;
        #[cfg(feature = "mcp-http")]
        if let Some(address) = self.http {
            return serve_http(&server, address, context);
        }
        // Answers that nobody gets would mark mail as read.
        context.out.check_open().map_err(|error| {
            Failure::new(ExitCode::Io, "io", format!("cannot serve on standard input and output: {error}"))
        })?;
        stdio::serve(server).map_err(|error| {
            Failure::new(ExitCode::Io, "io", format!("the connection to the client broke: {error}"))
        })?;
        Ok(0)
    }
}

impl Mcp {
    /// Who started us, unless anybody may call.
    fn client(&self, context: &Context) -> Option<ClientProcess> {
        if self.is_for_anybody() {
            return None;
        }
        context.office.probe().client_above(u64::from(parent_id()))
    }

    /// Over HTTP, anybody may call.
    #[cfg_attr(not(feature = "mcp-http"), expect(clippy::unused_self, reason = "it depends on the feature"))]
    fn is_for_anybody(&self) -> bool {
        #[cfg(feature = "mcp-http")]
        let is_served = self.http.is_some();
        #[cfg(not(feature = "mcp-http"))]
        let is_served = false;
        is_served
    }
}

/// A server of somebody's, or of the lead; with who started it, where that is one client.
pub(super) fn server(
    context: &Context,
    (identity, client): (Option<Address>, Option<ClientProcess>),
    profile: Profile,
    push: Option<Push>,
) -> Result<Server, Failure> {
    Ok(Server::new(Settings {
        office: context.office.clone(),
        identity,
        team: context.settings.named_team()?,
        cwd: context.cwd.clone(),
        client,
        profile,
        push,
        spawning: Spawning {
            server: spawn::here(),
            env: spawn::variables(context),
            on_exit: spawn::look_at_members(context),
        },
    }))
}

/// The member whose session we run in, if it is not a lead's: a server without a name is a lead's in any case.
fn member_of_session(context: &Context) -> Option<Address> {
    let session = session_here(context).unwrap_or_default();
    let parent = u64::from(parent_id());
    let caller = Caller { session: &session, parent, ..Caller::default() };
    let found = context.office.whose(&caller).ok()??;
    let is_lead = found.team.is_led_by(&found.who);
    let team = Some(found.team.name().clone());
    (!is_lead).then_some(Address { name: found.who, team })
}

/// The session that we were handed by the client that started us: new mail for its folder is pushed into it.
fn handed_session(context: &Context) -> Option<Push> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty());
    let socket = PathBuf::from(set(SOCKET_VARIABLE)?);
    let session = set(SESSION_VARIABLE)?.into_string().ok()?;
    let cwd = set("CLAUDE_PROJECT_DIR").map_or_else(|| context.cwd.clone(), PathBuf::from);
    let budget = context.settings.budget.value.bytes();
    socket.is_absolute().then(|| Push { socket, session, cwd, parent: u64::from(parent_id()), budget })
}

#[cfg(feature = "mcp-http")]
fn serve_http(server: &Server, address: std::net::SocketAddr, context: &mut Context) -> Result<i32, Failure> {
    use std::io::ErrorKind;

    use atm_mcp::http;

    let token = context.office.http_token(server.member(), server.team().as_ref())?;
    let file = context.office.state().token();
    let out = &mut context.out;
    let mut told = Ok(());
    let ended = http::serve(server, address, &token, |address| {
        let url = format!("http://{address}{}", http::PATH);
        let said = if out.json {
            out.document(&serde_json::json!({ "url": url, "token": token, "token_file": file }))
        } else {
            out.line(format!("{url}?token={token}"))
        };
        told = said.and_then(|()| out.finish());
    });
    told?;
    match ended {
        Err(error) if error.kind() == ErrorKind::InvalidInput => Err(Failure::usage(error.to_string())),
        Err(error) => Err(Failure::new(ExitCode::Io, "io", format!("cannot serve on {address}: {error}"))),
        Ok(()) => Ok(0),
    }
}
