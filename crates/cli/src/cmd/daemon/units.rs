//! What a service manager is given, so that it runs the daemon.

use std::path::Path;

/// The names of the files for systemd.
pub(super) const SERVICE: &str = "atm-daemon.service";
pub(super) const SOCKET: &str = "atm-daemon.socket";
/// And for launchd.
pub(super) const LABEL: &str = "atm.daemon";

/// The service: `command` is the program and its arguments.
pub(super) fn service(command: &[String]) -> String {
    let command = command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
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
    let escape = |word: &String| word.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let words: String =
        command.iter().map(|word| format!("    <string>{}</string>\n", escape(word))).collect();
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

fn quoted(word: &str) -> String {
    let word = word.replace('%', "%%").replace('$', "$$");
    let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "/-_.=%$:".contains(c));
    if is_plain { word } else { format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"")) }
}
