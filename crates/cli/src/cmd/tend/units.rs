//! `atm tend --print`: what to give to a scheduler, so that tending happens by itself.

use atm_clients::shell;
use clap::ValueEnum;

use crate::service_words;

/// Who is to run it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Scheduler {
    /// A service and a timer of the user's systemd
    Systemd,
    /// A property list for launchd, on macOS
    Launchd,
    /// A line for crontab
    Cron,
}

impl Scheduler {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Systemd => "systemd",
            Self::Launchd => "launchd",
            Self::Cron => "cron",
        }
    }

    /// The text, with comments that say where it goes. `command` is the program and its arguments.
    pub(super) fn text(self, command: &[String]) -> String {
        match self {
            Self::Systemd => systemd(command),
            Self::Launchd => launchd(command),
            Self::Cron => cron(command),
        }
    }
}

fn systemd(command: &[String]) -> String {
    let command = service_words::systemd(command);
    format!(
        "\
# ~/.config/systemd/user/atm-tend.service
[Unit]
Description=Tend the mail of teams of coding agents

[Service]
Type=oneshot
ExecStart={command}

# ~/.config/systemd/user/atm-tend.timer
[Unit]
Description=Run atm tend every minute

[Timer]
OnBootSec=1min
OnUnitActiveSec=1min
AccuracySec=10s

[Install]
WantedBy=timers.target

# Two files; then: systemctl --user daemon-reload && systemctl --user enable --now atm-tend.timer
"
    )
}

fn launchd(command: &[String]) -> String {
    format!(
        "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">
<!-- ~/Library/LaunchAgents/atm.tend.plist; then: launchctl load ~/Library/LaunchAgents/atm.tend.plist -->
<plist version=\"1.0\">
<dict>
  <key>Label</key>
  <string>atm.tend</string>
  <key>ProgramArguments</key>
  <array>
{}  </array>
  <key>StartInterval</key>
  <integer>60</integer>
</dict>
</plist>
",
        service_words::launchd(command)
    )
}

fn cron(command: &[String]) -> String {
    // A percent sign is a newline to cron.
    let command =
        command.iter().map(|word| shell::quote(word).replace('%', "\\%")).collect::<Vec<_>>().join(" ");
    format!("# a line for `crontab -e`\n* * * * * {command}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_more_than_a_word() {
        let command = ["/opt/my tools/atm".to_owned(), "--root".to_owned(), "/a%b&c\"$d".to_owned()];
        let text = Scheduler::Systemd.text(&command);
        assert!(text.contains("ExecStart=\"/opt/my tools/atm\" --root \"/a%%b&c\\\"$$d\"\n"), "{text}");
        let text = Scheduler::Cron.text(&command);
        assert!(text.contains("'/opt/my tools/atm' --root '/a\\%b&c\"$d'\n"), "{text}");
        let text = Scheduler::Launchd.text(&command);
        assert!(text.contains("<string>/a%b&amp;c\"$d</string>\n"), "{text}");
    }
}
