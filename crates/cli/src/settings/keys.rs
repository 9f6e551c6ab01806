//! The keys that a settings file may have, and what their values look like.

/// What a value is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Text,
    Number,
    /// `true` or `false`.
    Flag,
    /// Texts, with commas between them.
    List,
}

/// Every key, with a value for it as an example.
pub(crate) const KEYS: &[(&str, Shape, &str)] = &[
    ("root", Shape::Text, "~/.claude"),
    ("state", Shape::Text, "~/.local/state/atm"),
    ("team", Shape::Text, "dev"),
    ("as", Shape::Text, "alice"),
    ("color", Shape::Text, "never"),
    ("delivery.retry_after", Shape::List, "5m,15m"),
    ("delivery.escalate_to", Shape::List, "lead,user"),
    ("delivery.expire_after", Shape::Text, "7d"),
    ("delivery.high.retry_after", Shape::List, "1m"),
    ("delivery.high.escalate_to", Shape::List, "lead"),
    ("delivery.high.expire_after", Shape::Text, "1d"),
    ("delivery.low.retry_after", Shape::List, "1h"),
    ("delivery.low.escalate_to", Shape::List, "lead"),
    ("delivery.low.expire_after", Shape::Text, "30d"),
    ("archive.keep", Shape::Number, "1000"),
    ("archive.older_than", Shape::Text, "7d"),
    ("archive.compress_after", Shape::Text, "7d"),
    ("archive.shrink_over", Shape::Text, "1MB"),
    ("archive.rotate_over", Shape::Text, "10MB"),
    ("archive.quarantine_for", Shape::Text, "90d"),
    ("wake.after", Shape::List, "0s,2m,10m"),
    ("daemon.autostart", Shape::Text, "never"),
    ("pending.unread_after", Shape::Text, "10m"),
    ("context.budget", Shape::Number, "2000"),
    ("notify.command", Shape::List, "notify.sh,{title},{text}"),
    ("notify.webhook", Shape::Text, "https://example.org/hook"),
    ("notify.webhook_secret_file", Shape::Text, "~/.config/atm/webhook.secret"),
    ("notify.desktop", Shape::Flag, "true"),
    ("notify.tmux", Shape::Text, "bell"),
    ("notify.on", Shape::List, "escalation,permission,death"),
    ("notify.quiet_hours", Shape::Text, "22:00-07:00"),
    ("notify.disk_below", Shape::Text, "1GB"),
    ("web.port", Shape::Number, "8417"),
    ("web.read_only", Shape::Flag, "true"),
    ("claude.native_peers", Shape::Flag, "true"),
    ("bridge.nats", Shape::Text, "nats://hub.example.org:4222"),
    ("bridge.creds", Shape::Text, "~/.config/atm/laptop.creds"),
    ("bridge.nkey", Shape::Text, "~/.config/atm/laptop.nk"),
    ("bridge.tls_ca", Shape::Text, "~/.config/atm/ca.pem"),
    ("bridge.tls_cert", Shape::Text, "~/.config/atm/laptop.pem"),
    ("bridge.tls_key", Shape::Text, "~/.config/atm/laptop.key"),
    ("bridge.realm", Shape::Text, "home"),
    ("bridge.machine", Shape::Text, "laptop"),
    ("bridge.teams", Shape::List, "dev,session-1a2b3c4d=night"),
    ("bridge.seal", Shape::Flag, "true"),
];

/// How the value of a key is written, if there is such a key.
pub(crate) fn shape_of(key: &str) -> Option<Shape> {
    KEYS.iter().find(|(known, ..)| *known == key).map(|(_, shape, _)| *shape)
}
