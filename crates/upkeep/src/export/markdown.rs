//! An export for people: Markdown, in which what somebody wrote stays words.

use std::io::{self, Write};

use atm_office::view::Kind;
use atm_wire::counted;
use atm_wire::json::{Laid, Object, Style};
use atm_wire::team::TeamConfig;
use serde_json::value::RawValue;

use super::{Exported, Head, Place, Writer};

/// A page.
pub(super) struct Page<'a> {
    out: &'a mut dyn Write,
}

impl<'a> Page<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out }
    }
}

impl Writer for Page<'_> {
    fn head(&mut self, head: &Head, config: &TeamConfig) -> io::Result<()> {
        writeln!(self.out, "# Team {}\n", inline(&head.team))?;
        if let Some(description) = &config.description {
            writeln!(self.out, "{}\n", inline(description))?;
        }
        if let Some(created) = head.created {
            writeln!(self.out, "- made {created}")?;
        }
        let (active, total) = (head.active_members.len(), head.total_members);
        writeln!(
            self.out,
            "- {}, {active} active\n- exported {}\n",
            counted(total, "member"),
            head.exported
        )?;
        writeln!(self.out, "## Members\n\n| name | type | model | active |\n|---|---|---|---|")?;
        for member in &config.members {
            let text = |value: Option<&str>| inline(value.unwrap_or("-"));
            let active = member.is_active.map_or("-", |active| if active { "yes" } else { "no" });
            let (kind, model) = (text(member.agent_type.as_deref()), text(member.model.as_deref()));
            writeln!(self.out, "| {} | {kind} | {model} | {active} |", inline(&member.name))?;
        }
        Ok(())
    }

    fn tasks(&mut self, tasks: &[Box<RawValue>]) -> io::Result<()> {
        if tasks.is_empty() {
            return Ok(());
        }
        writeln!(self.out, "\n## Tasks\n")?;
        for task in tasks {
            let Ok(task) = Object::parse(task.get()) else { continue };
            let text = |key: &str| task.string(key).map(|value| inline(&value)).unwrap_or_default();
            let done = if text("status") == "completed" { "x" } else { " " };
            let owner = text("owner");
            let owner = if owner.is_empty() { String::new() } else { format!(", {owner}") };
            writeln!(self.out, "- [{done}] {}: {} ({}{owner})", text("id"), text("subject"), text("status"))?;
        }
        Ok(())
    }

    fn mail(&mut self, name: &str, messages: &[Exported]) -> io::Result<()> {
        writeln!(self.out, "\n## Mail for {}\n", inline(name))?;
        if messages.is_empty() {
            writeln!(self.out, "None.")?;
        }
        for message in messages {
            self.message(message)?;
        }
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Page<'_> {
    fn message(&mut self, message: &Exported) -> io::Result<()> {
        let view = &message.view;
        let place = match (message.r#where, view.read) {
            (Place::Inbox, true) => "read",
            (Place::Inbox, false) => "unread",
            (Place::Archive, _) => "archived",
            (Place::History, _) => "drained, from the ledger",
        };
        let stage = message.stage.map(|stage| format!(", {stage}")).unwrap_or_default();
        writeln!(
            self.out,
            "**{}**, {} ({place}{stage}) `{}`\n",
            inline(&view.from),
            inline(&view.timestamp),
            code(&view.id)
        )?;
        if view.kind == Kind::Protocol {
            let payload =
                Style::two_spaces("").render(&Laid(&view.text)).unwrap_or_else(|_| view.text.clone());
            // Indented, so that no fence can be closed from inside.
            for line in payload.lines() {
                writeln!(self.out, "    {}", visible(line))?;
            }
        } else {
            for line in view.text.lines() {
                writeln!(self.out, "> {}", words(line))?;
            }
        }
        let unchecked: Vec<_> = view.files.iter().filter(|file| file.unchecked.is_some()).collect();
        if !unchecked.is_empty() {
            writeln!(self.out)?;
        }
        for file in unchecked {
            writeln!(self.out, "- {}", inline(&file.words()))?;
        }
        writeln!(self.out)
    }
}

/// What cannot be seen is spelled out.
fn visible(text: &str) -> String {
    atm_wire::visible::lines(text).replace('\n', "\\n")
}

/// A line of somebody's words: its Markdown is his, its HTML is not let through.
fn words(line: &str) -> String {
    visible(line).replace('&', "&amp;").replace('<', "&lt;")
}

/// Words in a line of ours: they have no meaning there.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for c in visible(text).chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '&' | '!') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn code(text: &str) -> String {
    visible(text).replace('`', "'")
}
