//! What a service manager is given, so that it runs the daemon.

use std::path::Path;

use crate::service_words;

/// The names of the files for systemd.
pub(super) const SERVICE: &str = "atm-daemon.service";
pub(super) const SOCKET: &str = "atm-daemon.socket";
/// And for launchd.
pub(super) const LABEL: &str = "atm.daemon";

/// How a daemon ends that a newer program has replaced: the service manager starts that one.
pub(super) const UPGRADED: i32 = 75;

/// How one ends that panicked: the service manager starts another.
pub(super) const PANICKED: i32 = 70;

/// The service: `command` is the program and its arguments.
pub(super) fn service(command: &[String]) -> String {
    let command = service_words::systemd(command);
    format!(
        "\
[Unit]
Description=Durable mail for teams of coding agents: records what clients do, and does what is due
Requires={SOCKET}
After={SOCKET}

[Service]
ExecStart={command}
# The socket is handed over here.
StandardInput=socket
StandardOutput=null
StandardError=journal
Restart=on-failure
RestartSec=5
# A newer program stands in its place.
RestartForceExitStatus={UPGRADED}
SuccessExitStatus={UPGRADED}
NoNewPrivileges=yes

[Install]
WantedBy=default.target
Also={SOCKET}
"
    )
}

/// The socket that starts it on demand.
pub(super) fn socket(path: &Path) -> String {
    format!(
        "\
[Unit]
Description=Control socket of the mail of teams of coding agents

[Socket]
ListenStream={}
SocketMode=0600
DirectoryMode=0700

[Install]
WantedBy=sockets.target
",
        path.display().to_string().replace('%', "%%")
    )
}

/// The same for launchd.
pub(super) fn plist(command: &[String]) -> String {
    let words = service_words::launchd(command);
    format!(
        "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">
<plist version=\"1.0\">
<dict>
  <key>Label</key>
  <string>{LABEL}</string>
  <key>ProgramArguments</key>
  <array>
{words}  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ProcessType</key>
  <string>Background</string>
</dict>
</plist>
"
    )
}
