//! Our server in TOML, as Codex has it: a table below `mcp_servers`.

use std::path::Path;

use similar::{Algorithm, DiffTag, capture_diff_slices};
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value, value};

use super::SERVER as NAME;
use super::error::SettingsError;

/// Where its user's servers stand.
const SERVERS: &str = "mcp_servers";

/// With our server in it. One that is there keeps what its user made of it; who it speaks for is ours to say.
pub(crate) fn with(text: &str, env: &[(String, String)]) -> Result<String, SettingsError> {
    let mut document = parse(text)?;
    let is_inline = document.get(SERVERS).is_some_and(Item::is_value);
    let no_table = || SettingsError::OtherKind(SERVERS.to_owned(), "a table");
    let servers = match document.get_mut(SERVERS) {
        Some(servers) => Some(servers.as_table_like_mut().ok_or_else(no_table)?),
        None => None,
    };
    let after = match servers {
        Some(servers) if servers.contains_key(NAME) => {
            let there =
                servers.get_mut(NAME).and_then(Item::as_table_like_mut).filter(|server| is_ours(*server));
            renew(there.ok_or(SettingsError::NotOurs("the server `atm`"))?, env);
            line_by_line(text, &document.to_string())
        }
        Some(servers) if is_inline => {
            servers.insert(NAME, Item::Value(Value::InlineTable(server(env).into_inline_table())));
            line_by_line(text, &document.to_string())
        }
        _ => appended(text, server(env)),
    };
    if parse(&after).is_ok_and(|document| speaks_for(&document, env)) {
        return Ok(after);
    }
    Err(SettingsError::Unusual("[mcp_servers]"))
}

/// Without it.
pub(crate) fn without(text: &str) -> Result<String, SettingsError> {
    if !is_in(text) {
        return parse(text).map(|_| text.to_owned());
    }
    let mut document = parse(text)?;
    if let Some(servers) = document.get_mut(SERVERS).and_then(Item::as_table_like_mut) {
        servers.remove(NAME);
    }
    Ok(line_by_line(text, &document.to_string()))
}

/// Whether it is there.
pub(crate) fn is_in(text: &str) -> bool {
    parse(text).is_ok_and(|document| ours(&document).is_some())
}

fn parse(text: &str) -> Result<DocumentMut, SettingsError> {
    text.parse()
        .map_err(|error: toml_edit::TomlError| SettingsError::NoToml(error.to_string().trim_end().to_owned()))
}

fn ours(document: &DocumentMut) -> Option<&dyn TableLike> {
    let server = document.get(SERVERS)?.get(NAME)?.as_table_like()?;
    is_ours(server).then_some(server)
}

/// Whether a server is the one that we set up, wherever the program is.
fn is_ours(server: &dyn TableLike) -> bool {
    let command = server.get("command").and_then(Item::as_str);
    command.is_some_and(|command| Path::new(command).file_name().is_some_and(|name| name == NAME))
}

fn speaks_for(document: &DocumentMut, env: &[(String, String)]) -> bool {
    let said = |name: &str| ours(document)?.get("env")?.get(name)?.as_str();
    ours(document).is_some() && env.iter().all(|(name, value)| said(name) == Some(value))
}

fn server(env: &[(String, String)]) -> Table {
    let mut server = Table::new();
    server.insert("command", value(NAME));
    server.insert("args", value(Array::from_iter(["mcp"])));
    if !env.is_empty() {
        server.insert("env", Item::Table(env.iter().map(|(name, text)| (name, value(text))).collect()));
    }
    server
}

/// Says anew who it speaks for.
fn renew(server: &mut dyn TableLike, env: &[(String, String)]) {
    if let Some(said) = server.get_mut("env").and_then(Item::as_table_like_mut) {
        let stale = |name: &str| name.starts_with("ATM_") && env.iter().all(|(wanted, _)| wanted != name);
        let names: Vec<String> =
            said.iter().map(|(name, _)| name.to_owned()).filter(|name| stale(name)).collect();
        for name in names {
            said.remove(&name);
        }
        for (name, text) in env {
            if said.get(name).and_then(Item::as_str) != Some(text) {
                said.insert(name, value(text));
            }
        }
    } else if !env.is_empty() {
        let pairs = env.iter().map(|(name, text)| (name.as_str(), Value::from(text)));
        server.insert("env", Item::Value(Value::InlineTable(pairs.collect())));
    }
}

/// Behind all that is there: it ends with a table, and so nothing may follow that is not one.
fn appended(text: &str, server: Table) -> String {
    let mut servers = Table::new();
    servers.set_implicit(true);
    servers.insert(NAME, Item::Table(server));
    let mut document = DocumentMut::new();
    document.insert(SERVERS, Item::Table(servers));
    let newline = newline(text);
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => newline,
        _ => &newline.repeat(2),
    };
    format!("{text}{gap}{}", document.to_string().replace('\n', newline))
}

fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The edited text with the lines of the old one, byte for byte, where they say the same: the library ends every line and
/// spaces every heading in its own way. A comment stays wherever it stood.
fn line_by_line(old: &str, edited: &str) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), edited.split_inclusive('\n').collect());
    let said = |lines: &[&str]| lines.iter().map(|line| what_it_says(line)).collect::<Vec<_>>();
    let mut out = String::new();
    for op in capture_diff_slices(Algorithm::Myers, &said(&before), &said(&after)) {
        let (tag, gone, new) = op.as_tag_tuple();
        for line in &before[gone] {
            if tag == DiffTag::Equal || line.trim_start().starts_with('#') {
                out.push_str(line);
            }
        }
        for line in after[new].iter().filter(|_| tag != DiffTag::Equal) {
            if !out.is_empty() && !out.ends_with('\n') {
                out.push_str(newline(old));
            }
            out.push_str(line.trim_end_matches(['\r', '\n']));
            out.push_str(newline(old));
        }
    }
    out
}

fn what_it_says(line: &str) -> String {
    let line = line.trim_start_matches('\u{feff}').trim_end_matches(['\r', '\n']);
    let is_heading = line.trim_start().starts_with('[');
    line.chars().filter(|c| !(is_heading && c.is_whitespace())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(name: &str) -> Vec<(String, String)> {
        [("ATM_ROOT", "/r"), ("ATM_AS", name)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec()
    }

    /// Ways in which people write the same.
    const FILES: [&str; 9] = [
        "",
        "model = \"m\"",
        "# mine\nmodel   = \"m\"   # fast\n\n[ mcp_servers . other ]   # keep\ncommand = 'x'\nargs = [ \"a\",\n  \"b\", ]\n# the end\n",
        "[mcp_servers]\n\n[projects.\"/home/me\"]\ntrust_level = \"trusted\"\n",
        "mcp_servers.other.command = \"x\"\nmodel = \"m\"\n",
        "mcp_servers = { other = { command = \"x\" } } # all\nmodel = \"m\"\n",
        "# mine\r\nmodel = \"m\" # fast\r\n\r\n[mcp_servers.other]\r\ncommand = \"\"\"\r\nx\"\"\"\r\n",
        "# mixed\r\nmodel = \"m\"\n[mcp_servers]\r\nother = { command = \"x\" }\n",
        "\u{feff}model = \"m\"\n",
    ];

    #[test]
    fn there_again_and_back_keeps_every_byte() {
        for text in FILES {
            let there = with(text, &env("bob")).unwrap();
            assert!(is_in(&there) && speaks_for(&parse(&there).unwrap(), &env("bob")), "{there}");
            assert_eq!(with(&there, &env("bob")).unwrap(), there);
            let renewed = with(&there, &env("carol")).unwrap();
            assert_eq!(renewed, there.replace("bob", "carol"), "{text}");
            let back = without(&renewed).unwrap();
            let end = back.strip_prefix(text).unwrap_or_else(|| panic!("{text:?}, and then {back:?}"));
            assert!(end.trim().is_empty(), "{text:?}, and then {back:?}");
            assert_eq!(without(text).unwrap(), *text, "nothing to take out");
        }
    }

    #[test]
    fn what_its_user_made_of_it_stays() {
        let text = with("", &env("bob")).unwrap().replace(
            "args = [\"mcp\"]\n",
            "args = [\"mcp\"]\n# I trust it\ndefault_tools_approval_mode = \"approve\"\n",
        );
        let text = format!("{}RUST_LOG = \"debug\"\n", text.replace("\"atm\"", "\"/opt/bin/atm\""));
        let renewed = with(&text, &[("ATM_TEAM".to_owned(), "dev".to_owned())]).unwrap();
        for kept in ["# I trust it\ndefault_tools_approval_mode", "RUST_LOG = \"debug\"", "\"/opt/bin/atm\""]
        {
            assert!(renewed.contains(kept), "{renewed}");
        }
        assert!(!renewed.contains("ATM_AS") && renewed.contains("ATM_TEAM = \"dev\""), "{renewed}");
        let short = "[mcp_servers.atm]\ncommand = \"atm\"\n";
        let renewed = with(short, &env("bob")).unwrap();
        assert!(renewed.starts_with(short) && renewed.contains("ATM_AS = \"bob\""), "{renewed}");
        assert_eq!(
            without("# above\n[mcp_servers.atm]\ncommand = \"atm\"\n# within\n[x]\n").unwrap(),
            "# above\n# within\n[x]\n"
        );
    }

    #[test]
    fn what_is_not_ours_is_refused() {
        for text in ["[mcp_servers.atm]\ncommand = \"teller\"\n", "[mcp_servers]\natm = 7\n"] {
            assert!(matches!(with(text, &env("bob")), Err(SettingsError::NotOurs(_))), "{text}");
            assert_eq!(without(text).unwrap(), text);
        }
        assert!(matches!(with("mcp_servers = 7\n", &[]), Err(SettingsError::OtherKind(..))));
        assert!(matches!(with("model = \n", &[]), Err(SettingsError::NoToml(_))));
    }
}
