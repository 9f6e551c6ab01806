//! Who is there: phantoms, leads and members that are gone, teams that nobody uses.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atm_office::Office;
use atm_office::people::pane::{Life, PaneRef};
use atm_office::people::process::{Fate, fate};
use atm_wire::team::{Member, TeamConfig};
use atm_wire::{TeamName, counted};

use super::locks::span;
use super::{Ailment, Finding, Remedy, age_of, clients, entries};
use crate::phantoms;

/// A team in which nothing was written for so long may be nobody's.
const FORGOTTEN: Duration = Duration::from_secs(24 * 3600);

pub(super) fn examine(office: &Office, team: &TeamName, config: &TeamConfig, findings: &mut Vec<Finding>) {
    let folder = office.folder_of(team);
    nobodys_inboxes(office, team, config, findings);
    repeated_names(team, config, folder.config_file(), findings);
    let lead_is_dead = dead_lead(team, config, folder.config_file(), findings);
    let stuck: Vec<&Member> = config.members.iter().filter(|member| member.is_active == Some(true)).collect();
    for member in &stuck {
        stuck_active(office, team, member, folder.config_file(), findings);
    }
    let quiet = youngest(office, folder.path()).filter(|age| *age > FORGOTTEN);
    let nobody = config.members.is_empty() || lead_is_dead;
    if let Some(age) = quiet.filter(|_| nobody && stuck.is_empty()) {
        findings.push(
            Finding::new(Ailment::Orphan, team, folder.path(), "nobody seems to use this team")
                .because(if lead_is_dead { "its lead does not run" } else { "it has no members" })
                .because(format!("nothing was written for {}", span(age))),
        );
    }
    clients::examine(office, team, config, findings);
}

fn nobodys_inboxes(office: &Office, team: &TeamName, config: &TeamConfig, findings: &mut Vec<Finding>) {
    let Ok(phantoms) = phantoms::find(office, team, config) else { return };
    for phantom in phantoms {
        let (name, file) = (phantom.name.clone(), phantom.file.clone());
        if phantom.messages == 0 {
            findings.push(
                Finding::new(
                    Ailment::EmptyPhantom,
                    team,
                    &file,
                    format!("{name} has an inbox and is no member"),
                )
                .because("it is empty")
                .mended_by(Remedy::RemoveInbox(file, phantom.layout())),
            );
            continue;
        }
        let mail = counted(phantom.messages, "message");
        let message = format!("{name} has {mail} ({} unread) and is no member", phantom.unread);
        let mut finding = Finding::new(Ailment::Phantom, team, &file, message).with_consent();
        finding = match phantom.nearest.as_slice() {
            [] => finding.because("no member has a name like it; --route says whose its mail is"),
            [meant] => finding
                .because(format!("the nearest member is {meant}"))
                .mended_by(Remedy::Reroute(Box::new(phantom.clone()), meant.clone())),
            several => {
                let names: Vec<&str> = several.iter().map(AsRef::as_ref).collect();
                finding.because(format!("{} have names like it; --route says which", names.join(" and ")))
            }
        };
        finding.phantom = Some(Box::new(phantom));
        findings.push(finding);
    }
}

fn dead_lead(team: &TeamName, config: &TeamConfig, file: &Path, findings: &mut Vec<Finding>) -> bool {
    let Some(process) = config.lead_process.as_ref().filter(|process| fate(process) == Some(Fate::Gone))
    else {
        return false;
    };
    let why = format!("process {} has ended, or is another one by now", process.pid.unwrap_or_default());
    let finding = Finding::new(Ailment::DeadLead, team, file, "the team's lead does not run").because(why);
    let listed = config.lead().filter(|lead| lead.is_active == Some(true));
    findings.push(match listed.and_then(|lead| lead.checked_name().ok()) {
        Some(name) => finding.mended_by(Remedy::SwitchOff(name)),
        None => finding,
    });
    true
}

/// Names that several entries of the list have.
fn repeated_names(team: &TeamName, config: &TeamConfig, file: &Path, findings: &mut Vec<Finding>) {
    let mut seen = HashSet::new();
    for member in &config.members {
        let Some((stays, entries)) = entry_to_keep(config, &member.name) else { continue };
        if !seen.insert(member.name.as_str()) {
            continue;
        }
        let message = format!("{} stands {entries} times in the list of members", member.name);
        findings.push(
            Finding::new(Ailment::DuplicateName, team, file, message)
                .because(format!("entry number {} would stay", stays + 1))
                .mended_by(Remedy::KeepOne(member.name.clone())),
        );
    }
}

/// Of a name that stands several times in the list: the entry that is kept, counted from 0, and how many there are. It is
/// that of the one that runs, else the newest.
pub(super) fn entry_to_keep(config: &TeamConfig, name: &str) -> Option<(usize, usize)> {
    let same: Vec<&Member> = config.members.iter().filter(|member| member.name == name).collect();
    let stays = same.iter().max_by_key(|member| {
        (member.is_active == Some(true), member.spawned_at.or(member.joined_at), member.index)
    })?;
    (same.len() > 1).then_some((stays.index, same.len()))
}

fn stuck_active(office: &Office, team: &TeamName, member: &Member, file: &Path, findings: &mut Vec<Finding>) {
    let Ok(name) = member.checked_name() else { return };
    let Some((pane, ours)) = pane_of(member, file) else { return };
    let Ok(lives) = office.panes().lives(std::slice::from_ref(&pane)) else { return };
    let why = match lives.first() {
        Some(Life::Dead(_)) => format!("{pane} is not there, or its program has ended"),
        Some(Life::NoServer) => format!("no tmux server runs at {}", pane.socket.display()),
        _ => return,
    };
    let finding =
        Finding::new(Ailment::StuckActive, team, file, format!("{name} is called active and is gone"))
            .because("isActive is true in config.json")
            .because(why)
            .mended_by(Remedy::SwitchOff(name));
    // Of a pane that a client opened we do not know on which server it is.
    findings.push(if ours { finding } else { finding.with_consent() });
}

/// A member's pane, and whether we opened it. One that a client opened is looked for on the server
/// of the user that owns the team's file.
fn pane_of(member: &Member, file: &Path) -> Option<(PaneRef, bool)> {
    if let Some(pane) = PaneRef::of(member) {
        return Some((pane, true));
    }
    let id = member.tmux_pane_id.clone().filter(|id| id.starts_with('%'))?;
    let user = fs::metadata(file).ok()?.uid();
    let socket = PathBuf::from(format!("/tmp/tmux-{user}/default"));
    Some((PaneRef { socket, id, token: String::new() }, false))
}

/// How long ago something in a team was last written.
fn youngest(office: &Office, folder: &Path) -> Option<Duration> {
    let below =
        entries(folder).into_iter().flat_map(|path| if path.is_dir() { entries(&path) } else { vec![path] });
    below.filter_map(|path| age_of(office, &path)).min()
}
