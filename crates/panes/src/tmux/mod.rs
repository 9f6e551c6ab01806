//! Panes of tmux.

mod foreground;
mod quote;
mod run;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use atm_office::people::pane::{Activity, Exit, Life, PaneError, PaneHost, PaneRef};
use atm_store::fresh_id;

use crate::backend::{Backend, PaneSpec, Place, Program};
use foreground::shell_waits;
use quote::{argument, one_line, plain_lines, shell_command, tmux_string};
use run::Said;

/// A pane's marks, kept by tmux itself.
const TOKEN: &str = "@atm_token";
const MEMBER: &str = "@atm_member";
const STARTED: &str = "@atm_started";

/// What a new pane runs until its program is started. Should we die in between, it ends by itself, and its pane with
/// it.
const PLACEHOLDER: [&str; 2] = ["sleep", "60"];

/// What one line of the list of panes has; the last may hold colons.
const LINE: &str = "#{pane_id}:#{pane_dead}:#{pane_dead_status}:#{pane_dead_signal}:#{pane_pid}:#{pane_in_mode}:\
                    #{@atm_started}:#{@atm_token}:#{pane_current_command}";

const DUPLICATE: &str = "duplicate session";
const NO_SERVER: &str = "there is no server";

/// Which tmux server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// One of a name, as with `tmux -L`: started when it is needed.
    Named(String),
    /// One at a socket, as with `tmux -S`: started when it is needed.
    Socket(PathBuf),
    /// The one that the caller is in, and the pane that it is in.
    Here {
        /// Its socket.
        socket: PathBuf,
        /// The caller's pane, if it says so.
        pane: Option<String>,
    },
}

impl Default for Server {
    /// Ours alone.
    fn default() -> Self {
        Self::Named("atm".to_owned())
    }
}

impl Server {
    /// The server that the caller is in, by its `$TMUX` and `$TMUX_PANE`.
    pub fn here(tmux: &OsStr, pane: Option<&str>) -> Option<Self> {
        // socket,pid,session: the socket's path may have commas too.
        let text = tmux.to_str()?;
        let socket = text.rsplitn(3, ',').nth(2).unwrap_or(text);
        let pane = pane.filter(|pane| pane.starts_with('%')).map(ToOwned::to_owned);
        (!socket.is_empty()).then(|| Self::Here { socket: PathBuf::from(socket), pane })
    }

    fn option(&self) -> [OsString; 2] {
        match self {
            Self::Named(name) => ["-L".into(), name.into()],
            Self::Socket(socket) | Self::Here { socket, .. } => on(socket),
        }
    }
}

fn on(socket: &Path) -> [OsString; 2] {
    ["-S".into(), socket.into()]
}

/// Panes of tmux. New ones are opened on one server; those that are there are found on their own.
#[derive(Debug, Clone, Default)]
pub struct Tmux {
    server: Server,
}

/// A pane, as the server lists it.
struct Listed {
    id: String,
    life: Life,
    in_mode: bool,
    token: String,
    command: String,
}

impl Listed {
    fn read(text: &str) -> Option<Self> {
        let mut fields = text.splitn(9, ':');
        let mut next = || fields.next();
        let (id, dead, status, signal, pid) = (next()?, next()?, next()?, next()?, next()?);
        let (in_mode, started, token, command) = (next()?, next()?, next()?, next()?);
        let exit = signal.parse().map(Exit::Signal).or_else(|_| status.parse().map(Exit::Status)).ok();
        let life = if dead == "1" {
            Life::Dead(exit)
        } else {
            Life::Alive { pid: pid.parse().ok()?, waiting: started != "1" }
        };
        Some(Self {
            id: id.to_owned(),
            life,
            in_mode: in_mode != "0" && !in_mode.is_empty(),
            token: token.to_owned(),
            command: command.to_owned(),
        })
    }
}

impl Tmux {
    /// New panes are opened on `server`.
    pub fn on(server: Server) -> Self {
        Self { server }
    }

    /// The command that shows a pane to a person: `tmux` with these arguments. `inside` is the socket of the server that
    /// the person's terminal is in.
    pub fn to_show(pane: &PaneRef, inside: Option<&Path>) -> Vec<OsString> {
        let mut args = on(&pane.socket).to_vec();
        let mut say = |words: &[&str]| args.extend(words.iter().map(OsString::from));
        if inside == Some(pane.socket.as_path()) {
            say(&["switch-client", "-t", &pane.id]);
        } else {
            say(&["select-window", "-t", &pane.id, ";", "select-pane", "-t", &pane.id]);
            say(&[";", "attach-session", "-t", &pane.id]);
        }
        args
    }

    fn new_pane(&self, spec: &PaneSpec) -> Result<(String, PathBuf), PaneError> {
        let said = match (&self.server, spec.place) {
            (Server::Here { pane: Some(pane), .. }, Place::Window) => {
                let window = words(&["display-message", "-p", "-t", pane, "#{session_id}:#{window_id}"]);
                let window = done(&window, self.say(&window)?)?;
                self.make(&["new-window", "-a", "-n", &spec.title, "-t", window.trim()], spec)?
            }
            (Server::Here { pane: Some(pane), .. }, Place::Split) => {
                self.make(&["split-window", "-t", pane], spec)?
            }
            _ => self.in_session(spec)?,
        };
        let (id, socket) = said.trim_end().split_once(':').unwrap_or((said.as_str(), ""));
        Ok((id.to_owned(), PathBuf::from(socket)))
    }

    /// In the session that the caller asked for; the first pane makes it.
    fn in_session(&self, spec: &PaneSpec) -> Result<String, PaneError> {
        let session = format!("={}:", spec.session);
        let new = ["new-session", "-x", "200", "-y", "50", "-s", &spec.session, "-n", &spec.title];
        let mut tries = 0..3;
        loop {
            let there = matches!(self.say(&words(&["has-session", "-t", &session]))?, Said::Done(_));
            let made = match (there, spec.place) {
                (false, _) => self.make(&new, spec),
                (true, Place::Window) => self.make(&["new-window", "-n", &spec.title, "-t", &session], spec),
                (true, Place::Split) => self.split(spec, &session),
            };
            match made {
                // Somebody was faster with the same session, or its last pane closed just now.
                Err(PaneError::Refused { why, .. })
                    if tries.next().is_some()
                        && [DUPLICATE, NO_SERVER, "can't find"]
                            .iter()
                            .any(|words| why.starts_with(words)) => {}
                made => return made,
            }
        }
    }

    /// A part of the session's window, which is made even so that the next one has room too.
    fn split(&self, spec: &PaneSpec, session: &str) -> Result<String, PaneError> {
        let made = self.make(&["split-window", "-t", session], spec)?;
        let _ = self.say(&words(&["select-layout", "-t", session, "tiled"]))?;
        Ok(made)
    }

    fn make(&self, verb: &[&str], spec: &PaneSpec) -> Result<String, PaneError> {
        let mut args = words(verb);
        args.extend(words(&["-d", "-P", "-F", "#{pane_id}:#{socket_path}", "-c"]));
        args.push(argument(spec.cwd.as_os_str()));
        args.extend(words(&["--"]));
        args.extend(words(&PLACEHOLDER));
        done(&args, self.say(&args)?)
    }

    fn say(&self, args: &[OsString]) -> Result<Said, PaneError> {
        run::tmux(&[&self.server.option(), args].concat())
    }
}

impl Backend for Tmux {
    fn open(&self, spec: &PaneSpec) -> Result<PaneRef, PaneError> {
        let (id, socket) = self.new_pane(spec)?;
        let pane = PaneRef { socket, id, token: fresh_id().simple().to_string() };
        let mut args = words(&["set-option", "-p", "-t", &pane.id, TOKEN, &pane.token, ";"]);
        args.extend(words(&["set-option", "-p", "-t", &pane.id, MEMBER]));
        args.push(argument(spec.member.as_ref()));
        ask(&pane, &args)?;
        Ok(pane)
    }

    fn start(&self, pane: &PaneRef, program: &Program) -> Result<u32, PaneError> {
        find(pane)?;
        let on = |verb: &str, rest: &[&str]| words(&[&[verb, "-t", &pane.id], rest].concat());
        let semicolon = || OsString::from(";");
        // An exit must be seen however early it comes, so all this is one message to the server.
        let mut args = words(&["set-option", "-p"]);
        args.extend(words(&["-t", &pane.id, "remain-on-exit", "on", ";"]));
        args.extend(words(&["set-option", "-p", "-t", &pane.id, STARTED, "1", ";"]));
        if !program.on_exit.is_empty() {
            let told: Vec<&OsStr> = program.on_exit.iter().map(OsString::as_os_str).collect();
            // Its output would be shown in another pane.
            let told = [shell_command(&told, false), b" >/dev/null 2>&1".to_vec()].concat();
            let run = [b"run-shell -b ".to_vec(), tmux_string(&told)].concat();
            args.extend(words(&["set-hook", "-p", "-t", &pane.id, "pane-died"]));
            args.extend([argument(&OsString::from_vec(run)), semicolon()]);
        }
        if let Some(log) = &program.log {
            let mut run = b"exec cat >> ".to_vec();
            run.extend(shell_command(&[log.as_os_str()], true));
            args.extend(on("pipe-pane", &[]));
            args.extend([argument(&OsString::from_vec(run)), semicolon()]);
        }
        args.extend(on("respawn-pane", &["-k", "-c"]));
        args.push(argument(program.cwd.as_os_str()));
        for (name, value) in &program.env {
            let mut variable = OsString::from(format!("{name}="));
            variable.push(value);
            args.extend(["-e".into(), argument(&variable)]);
        }
        // tmux gives a single word to a shell to read; several are run as they are.
        args.extend(words(&["--", "sh", "-c", "exec \"$@\"", "sh"]));
        args.extend(program.command.iter().map(|word| argument(word.as_ref())));
        ask(pane, &args)?;
        match find(pane)?.life {
            Life::Alive { pid, .. } => Ok(pid),
            // So short was its life; what it ended with is there to be asked for.
            Life::Dead(_) | Life::NoServer => Ok(0),
        }
    }

    fn capture(&self, pane: &PaneRef, lines: usize) -> Result<String, PaneError> {
        find(pane)?;
        let from = format!("-{lines}");
        let text = ask(pane, &words(&["capture-pane", "-p", "-J", "-t", &pane.id, "-S", &from]))?;
        let text = plain_lines(&text);
        let kept: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
        Ok(kept[kept.len().saturating_sub(lines)..].join("\n"))
    }
}

impl PaneHost for Tmux {
    fn lives(&self, panes: &[PaneRef]) -> Result<Vec<Life>, PaneError> {
        let mut asked: Vec<(PathBuf, Option<Vec<Listed>>)> = Vec::new();
        let mut lives = Vec::new();
        for pane in panes {
            if !asked.iter().any(|(socket, _)| *socket == pane.socket) {
                asked.push((pane.socket.clone(), list(&pane.socket)?));
            }
            let listed = asked.iter().find(|(socket, _)| *socket == pane.socket);
            lives.push(match listed.and_then(|(_, panes)| panes.as_ref()) {
                None => Life::NoServer,
                Some(there) => match there.iter().find(|listed| is(listed, pane)) {
                    Some(Listed { life: Life::Dead(None), .. }) => Life::Dead(how_it_ended(pane)?),
                    found => found.map_or(Life::Dead(None), |listed| listed.life.clone()),
                },
            });
        }
        Ok(lives)
    }

    fn type_line(&self, pane: &PaneRef, text: &str) -> Result<(), PaneError> {
        find(pane)?;
        let mut args = words(&["send-keys", "-l", "-t", &pane.id, "--"]);
        args.push(argument(one_line(text).as_ref()));
        args.extend(words(&[";", "send-keys", "-t", &pane.id, "Enter"]));
        ask(pane, &args).map(drop)
    }

    fn busy(&self, pane: &PaneRef, pause: Duration) -> Result<Activity, PaneError> {
        // Lines that are all alike scroll by without changing the screen, so what has scrolled away counts too.
        let place = "#{history_size} #{history_bytes} #{cursor_x} #{cursor_y}";
        let look =
            ["display-message", "-p", "-t", &pane.id, place, ";", "capture-pane", "-p", "-e", "-t", &pane.id];
        let screen = || ask(pane, &words(&look));
        find(pane)?;
        let before = screen()?;
        thread::sleep(pause);
        let listed = find(pane)?;
        let shell_waits = match listed.life {
            Life::Alive { pid, .. } => shell_waits(pid, &listed.command),
            Life::Dead(_) | Life::NoServer => return Err(gone(pane)),
        };
        Ok(Activity {
            screen_moves: screen()? != before,
            in_mode: listed.in_mode,
            command: plain_lines(&listed.command),
            shell_waits,
        })
    }

    fn close(&self, pane: &PaneRef) -> Result<(), PaneError> {
        match find(pane) {
            Err(PaneError::Gone { .. }) => return Ok(()),
            found => found?,
        };
        match ask(pane, &words(&["kill-pane", "-t", &pane.id])) {
            Err(PaneError::Gone { .. }) => Ok(()),
            closed => closed.map(drop),
        }
    }
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn is(listed: &Listed, pane: &PaneRef) -> bool {
    listed.id == pane.id && listed.token == pane.token
}

fn gone(pane: &PaneRef) -> PaneError {
    PaneError::Gone { pane: pane.to_string() }
}

/// All panes of a server, if it runs.
fn list(socket: &Path) -> Result<Option<Vec<Listed>>, PaneError> {
    let args = [on(socket).to_vec(), words(&["list-panes", "-a", "-F", LINE])].concat();
    Ok(match run::tmux(&args)? {
        Said::NoServer => None,
        Said::Done(text) => Some(text.lines().filter_map(Listed::read).collect()),
        // A server without a session has no panes.
        Said::No(_) => Some(Vec::new()),
    })
}

/// The pane, if it is there and still the one that we opened.
fn find(pane: &PaneRef) -> Result<Listed, PaneError> {
    let panes = list(&pane.socket)?.unwrap_or_default();
    panes.into_iter().find(|listed| is(listed, pane)).ok_or_else(|| gone(pane))
}

/// How a pane's program ended. The server sees that its terminal is closed before it learns the status, and now and
/// then (tmux 3.3) misses the signal that tells it; the end of any other child makes it look again.
fn how_it_ended(pane: &PaneRef) -> Result<Option<Exit>, PaneError> {
    for _ in 0..10 {
        match find(pane) {
            Ok(Listed { life: Life::Dead(None), .. }) => {
                ask(pane, &words(&["run-shell", ":"]))?;
            }
            Ok(Listed { life: Life::Dead(exit), .. }) => return Ok(exit),
            Ok(_) | Err(PaneError::Gone { .. }) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Asks a pane's own server.
fn ask(pane: &PaneRef, args: &[OsString]) -> Result<String, PaneError> {
    match run::tmux(&[&on(&pane.socket), args].concat())? {
        Said::NoServer => Err(gone(pane)),
        Said::No(why) if why.starts_with("can't find pane") => Err(gone(pane)),
        said => done(args, said),
    }
}

fn done(args: &[OsString], said: Said) -> Result<String, PaneError> {
    let refused = |why: &str| {
        let command = args.first().map(|verb| verb.to_string_lossy().into_owned()).unwrap_or_default();
        Err(PaneError::Refused { command, why: why.to_owned() })
    };
    match said {
        Said::Done(text) => Ok(text),
        Said::No(why) => refused(&plain_lines(&why)),
        Said::NoServer => refused(NO_SERVER),
    }
}

#[cfg(test)]
mod tests;
