//! `atm config`

mod set;
mod trust;

use std::time::Duration;

use atm_office::chores::retry::{Policies, Policy};
use clap::{Args, Subcommand};
use serde::Serialize;

use super::duration::span;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;
use crate::output::table::{cut, whole};
use crate::settings::Setting;
use crate::size;

#[derive(Debug, Args)]
pub(crate) struct Config {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Change a setting in your file or the project's; comments stay
    Set(set::Set),
    /// Let a project's .atm.toml say everything, as long as it stays as it is
    Trust(trust::Trust),
}

#[derive(Serialize)]
struct Line {
    key: &'static str,
    value: Option<String>,
    from: String,
}

#[derive(Serialize)]
struct SettingsFile {
    path: String,
    found: bool,
    trusted: bool,
    ignored: Vec<&'static str>,
}

impl Config {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        match self.action {
            Some(Action::Set(set)) => set.run(context),
            Some(Action::Trust(trust)) => trust.run(context),
            None => Self::show(context),
        }
    }

    fn show(context: &mut Context) -> Result<i32, Failure> {
        let settings = &context.settings;
        let lines = [
            line("root", &settings.root, |root| Some(root.display().to_string())),
            line("state", &settings.state, |state| Some(state.display().to_string())),
            line("team", &settings.team, Clone::clone),
            line("as", &settings.who, Clone::clone),
            line("color", &settings.color, |color| Some(format!("{color:?}").to_lowercase())),
        ];
        let policy = |show: fn(&Policy) -> String| move |policies: &Policies| Some(show(&policies.normal));
        let lines = lines.into_iter().chain([
            line("delivery.retry_after", &settings.policies, policy(|policy| spans(&policy.retry_after))),
            line("delivery.escalate_to", &settings.policies, policy(|policy| policy.escalate_to.join(", "))),
            line(
                "delivery.expire_after",
                &settings.policies,
                policy(|policy| spans(policy.expire_after.as_slice())),
            ),
        ]);
        let upkeep = &settings.upkeep;
        let lines = lines.chain([
            line("archive.keep", upkeep, |upkeep| Some(upkeep.keep.to_string())),
            line("archive.older_than", upkeep, |upkeep| upkeep.older_than.map(|after| spans(&[after]))),
            line("archive.compress_after", upkeep, |upkeep| Some(spans(&[upkeep.compress_after]))),
            line("archive.shrink_over", upkeep, |upkeep| Some(size::show(upkeep.shrink_over))),
            line("archive.rotate_over", upkeep, |upkeep| Some(size::show(upkeep.rotate_over))),
            line("archive.quarantine_for", upkeep, |upkeep| Some(spans(&[upkeep.quarantine_for]))),
        ]);
        let lines = lines.chain([
            line("wake.after", &settings.ladder, |ladder| Some(spans(&ladder.0))),
            line("pending.unread_after", &settings.unread_after, |after| Some(spans(&[*after]))),
            line("daemon.autostart", &settings.autostart, |when| Some(when.as_str().to_owned())),
            line("web.port", &settings.web, |web| web.port.map(|port| port.to_string())),
            line("web.read_only", &settings.web, |web| Some(web.read_only.to_string())),
            line("claude.native_peers", &settings.native_peers, |lists| Some(lists.to_string())),
            line("context.budget", &settings.budget, |budget| Some(format!("{} tokens", budget.0))),
        ]);
        let notifications = &settings.notifications;
        let lines = lines.chain(notifications.value.lines().into_iter().map(|(key, value)| Line {
            key,
            value,
            from: notifications.origin.to_string(),
        }));
        let bridge = &settings.bridge;
        // Only what is set: most have no other machine.
        let set = bridge.value.lines().into_iter().filter(|(_, value)| value.is_some());
        let lines = lines.chain(set.map(|(key, value)| Line { key, value, from: bridge.origin.to_string() }));
        let lines: Vec<Line> = lines.collect();
        let files: Vec<SettingsFile> = settings
            .files
            .iter()
            .map(|file| SettingsFile {
                path: file.path.display().to_string(),
                found: file.found,
                trusted: file.trusted,
                ignored: file.ignored.clone(),
            })
            .collect();
        let distrust = settings.files.iter().find_map(|file| file.distrust(|_| true));
        // Which team a command would use here, though nothing names it.
        let team = context.team();
        let out = &mut context.out;
        if out.json {
            let team = team.as_ref().ok().map(ToString::to_string);
            out.document(&serde_json::json!({ "settings": lines, "files": files, "team_here": team }))?;
            return Ok(0);
        }
        let rows = lines.iter().map(|line| {
            vec![line.key.into(), line.value.as_deref().unwrap_or("-").into(), (&line.from).into()]
        });
        out.page();
        out.table(&[whole("KEY"), cut("VALUE", 20), cut("FROM", 12)], rows)?;
        for file in &files {
            let found = match (file.found, file.ignored.as_slice()) {
                (false, _) => "not there".to_owned(),
                (true, []) => "read".to_owned(),
                (true, keys) => format!("read, but {}: not trusted", keys.join(", ")),
            };
            out.line(format!("settings file {} ({found})", safe::line(&file.path)))?;
        }
        if let Some(distrust) = distrust {
            out.line(safe::line(&distrust))?;
        }
        match team {
            Ok(team) => out.line(format!("commands here use team {}", safe::line(team.as_str())))?,
            Err(Failure::Told(told)) => {
                out.line(format!("commands here use no team: {}", safe::line(&told.message)))?;
            }
            Err(closed) => return Err(closed),
        }
        Ok(0)
    }
}

fn line<T>(key: &'static str, setting: &Setting<T>, show: impl Fn(&T) -> Option<String>) -> Line {
    Line { key, value: show(&setting.value), from: setting.origin.to_string() }
}

/// Spans of time, for people.
fn spans(spans: &[Duration]) -> String {
    let all = spans.iter().map(|after| span(i64::try_from(after.as_millis()).unwrap_or(i64::MAX)));
    all.collect::<Vec<_>>().join(", ")
}
