//! Codex's `config.toml`.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};

const SERVERS: &str = "mcp_servers";
const NAME: &str = "atm";

/// With our server in it.
pub(crate) fn with(text: &str, env: &[(String, String)]) -> Result<String, String> {
    let mut document = parse(text)?;
    let wanted = server(env);
    if document.get(SERVERS).and_then(|servers| servers.get(NAME)).is_some_and(|there| same(there, &wanted)) {
        return Ok(text.to_owned());
    }
    let servers = document.entry(SERVERS).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    match servers {
        Item::Table(servers) => {
            servers.remove(NAME);
            let mut wanted = wanted;
            wanted.decor_mut().set_prefix(if text.trim().is_empty() { "" } else { "\n" });
            servers.insert(NAME, Item::Table(wanted));
        }
        Item::Value(Value::InlineTable(servers)) => {
            servers.insert(NAME, Value::InlineTable(inline(&wanted)));
        }
        _ => return Err(format!("{SERVERS} is not a table")),
    }
    let after = document.to_string();
    let there = parse(&after)?;
    match there.get(SERVERS).and_then(|servers| servers.get(NAME)) {
        Some(there) if same(there, &server(env)) => Ok(after),
        _ => Err(format!("[{SERVERS}] is written in a way that we cannot add to")),
    }
}

/// Without it.
pub(crate) fn without(text: &str) -> Result<String, String> {
    let mut document = parse(text)?;
    let Some(servers) = document.get_mut(SERVERS).and_then(Item::as_table_like_mut) else {
        return Ok(text.to_owned());
    };
    if servers.remove(NAME).is_none() {
        return Ok(text.to_owned());
    }
    Ok(document.to_string())
}

/// Whether it is there.
pub(crate) fn is_in(text: &str) -> bool {
    parse(text).is_ok_and(|document| document.get(SERVERS).and_then(|servers| servers.get(NAME)).is_some())
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse::<DocumentMut>().map_err(|error| format!("is no TOML: {}", error.to_string().trim_end()))
}

fn server(env: &[(String, String)]) -> Table {
    let mut server = Table::new();
    server.insert("command", toml_edit::value(NAME));
    server.insert("args", toml_edit::value(Array::from_iter(["mcp"])));
    if !env.is_empty() {
        let mut variables = Table::new();
        for (name, value) in env {
            variables.insert(name, toml_edit::value(value));
        }
        server.insert("env", Item::Table(variables));
    }
    server
}

fn inline(table: &Table) -> InlineTable {
    table.clone().into_inline_table()
}

/// Whether they say the same, however it is spelled.
fn same(there: &Item, wanted: &Table) -> bool {
    let plain = |item: &Item| {
        let mut document = DocumentMut::new();
        let table = item.clone().into_table().ok()?;
        document.insert("x", Item::Value(Value::InlineTable(table.into_inline_table())));
        toml::from_str::<toml::Table>(&document.to_string()).ok()
    };
    plain(there).is_some_and(|there| Some(there) == plain(&Item::Table(wanted.clone())))
}
