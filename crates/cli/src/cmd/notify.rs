//! `atm notify`

use atm_notify::{Channel, Event, Sent, send_by_all};
use clap::{Args, Subcommand};

use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::safe;

#[derive(Debug, Subcommand)]
#[command(after_help = "\
With a channel in [notify], `atm tend` and the daemon tell you, once each: that mail was escalated (escalation), that an
agent waits for a permission for 15 seconds (permission), that a member died with open tasks or unread mail (death), that
a disk is nearly full (disk), that the ledger is damaged (ledger). notify.on says which of these. In notify.quiet_hours
nothing is told; when they end, what still holds is, escalations in one summary.

Channels: notify.command (a program and its arguments, in which {title}, {text}, {kind}, {team}, {member} and {id} are
filled in; no shell sees them, and the event is on its input as JSON), notify.webhook (a signed POST by curl), notify.desktop
(notify-send or osascript), notify.tmux (bell or title, in the panes that are shown). No message's text is in any of them.")]
pub(crate) enum Notify {
    /// Tell yourself something by every channel that is set, and say what came of it
    Test(Test),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Quiet hours do not count for it. A program has 10 seconds, a webhook three attempts of 5 seconds.

Exit codes: 0 every channel took it; 3 no such channel is set; 7 one failed.")]
pub(crate) struct Test {
    /// Only this one; may be given several times
    #[arg(long, value_name = "CHANNEL", value_parser = Channel::NAMES)]
    channel: Vec<String>,
}

impl Notify {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        match self {
            Self::Test(test) => test.run(context),
        }
    }
}

impl Test {
    fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let mut channels = context.settings.notifications.value.channels();
        for name in &self.channel {
            if !channels.iter().any(|channel| channel.name() == name) {
                return Err(not_set(&format!("notify.{name} is not set"), name));
            }
        }
        channels.retain(|channel| {
            self.channel.is_empty() || self.channel.iter().any(|name| name == channel.name())
        });
        if channels.is_empty() {
            return Err(not_set("no channel is set in [notify]", "desktop"));
        }
        let sent = send_by_all(&channels, &Event::test(context.office.now()));
        if context.out.json {
            context.out.document(&sent)?;
        } else {
            for one in &sent {
                context.out.line(safe::line(&words(one)))?;
            }
        }
        let failed = sent.iter().any(|one| !one.ok);
        Ok(if failed { i32::from(ExitCode::Io) } else { 0 })
    }
}

fn words(sent: &Sent) -> String {
    match &sent.error {
        None => format!("{}: told in {} ms", sent.channel, sent.took_ms),
        Some(why) => {
            let said = sent.said.as_ref().map(|said| format!(": {said}")).unwrap_or_default();
            format!("{}: failed: {why}{said}", sent.channel)
        }
    }
}

fn not_set(what: &str, channel: &str) -> Failure {
    let value = match channel {
        "command" => "notify.sh,{title},{text}",
        "webhook" => "https://example.org/hook",
        "tmux" => "bell",
        _ => "true",
    };
    Failure::new(ExitCode::NotFound, "no_channel", what)
        .hint(format!("atm config set notify.{channel} {value}"))
}
