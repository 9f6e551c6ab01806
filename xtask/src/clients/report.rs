//! The table of results, and its place in the documents.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Error, Result, anyhow};

/// What was seen of one client.
pub(super) struct Row {
    pub(super) client: &'static str,
    pub(super) version: Result<String>,
    /// Its own check of the server.
    pub(super) server: Result<String>,
    /// A turn with new mail.
    pub(super) mail: Result<String>,
    pub(super) plugin: Option<Result<String>>,
    /// Uninstalling.
    pub(super) undone: Result<String>,
}

impl Row {
    /// Of a client in which it could not be set up.
    pub(super) fn failed(client: &'static str, version: Result<String>, error: Error) -> Self {
        let not = || Err(anyhow!("not tried"));
        Self { client, version, server: Err(error), mail: not(), plugin: None, undone: not() }
    }

    fn cells(&self) -> impl Iterator<Item = &Result<String>> {
        [&self.version, &self.server, &self.mail].into_iter().chain(&self.plugin).chain([&self.undone])
    }

    pub(super) fn works(&self) -> bool {
        self.cells().all(Result::is_ok)
    }
}

/// The rows as a Markdown table.
pub(super) fn table(rows: &[Row]) -> String {
    let mut table = String::from(
        "| client | version | the server, by its own check | new mail, in a turn | plugin | uninstalled |\n|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let none = Ok("–".to_owned());
        let plugin = row.plugin.as_ref().unwrap_or(&none);
        let cells = [&row.version, &row.server, &row.mail, plugin, &row.undone].map(shown);
        let _ = writeln!(table, "| {} | {} |", row.client, cells.join(" | "));
    }
    table
}

/// One line, in which nothing ends the cell.
fn shown(cell: &Result<String>) -> String {
    let text = match cell {
        Ok(text) => text.clone(),
        Err(error) => format!("**no**: {error:#}"),
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// Puts a table into the document, between the markers of that name.
pub(super) fn write(document: &Path, name: &str, command: &str, table: &str) -> Result<()> {
    let date = Command::new("date").args(["-u", "+%Y-%m-%d"]).output().context("there is no `date`")?;
    let date = String::from_utf8_lossy(&date.stdout);
    let system = Command::new("uname").arg("-s").output().context("there is no `uname`")?;
    let system = String::from_utf8_lossy(&system.stdout);
    let results = format!("By `{command}`, {} on {}:\n\n{table}", date.trim(), system.trim());
    let old = fs::read_to_string(document).with_context(|| format!("cannot read {}", document.display()))?;
    let (begin, end) = markers(name);
    let new = between(&old, &begin, &end, &results)
        .with_context(|| format!("{} needs the lines {begin} and {end}", document.display()))?;
    fs::write(document, new).with_context(|| format!("cannot write {}", document.display()))
}

fn markers(name: &str) -> (String, String) {
    (format!("<!-- {name}:begin -->"), format!("<!-- {name}:end -->"))
}

fn between(old: &str, begin: &str, end: &str, results: &str) -> Option<String> {
    let (before, rest) = old.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}\n\n{results}\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        let ok = |text: &str| Ok(text.to_owned());
        Row {
            client: "Codex",
            version: ok("0.1"),
            server: ok("a | b"),
            mail: Err(anyhow!("two\nlines")),
            plugin: None,
            undone: ok("same bytes"),
        }
    }

    #[test]
    fn what_does_not_work_says_why_in_one_cell() {
        assert!(!row().works());
        let table = table(&[row()]);
        assert!(
            table.ends_with("| Codex | 0.1 | a \\| b | **no**: two lines | – | same bytes |\n"),
            "{table}"
        );
        assert!(!Row::failed("Codex", Ok("0.1".to_owned()), anyhow!("no")).works());
    }

    #[test]
    fn results_replace_results_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let document = folder.path().join("CLIENTS.md");
        let (begin, end) = markers("clients");
        fs::write(&document, format!("top\n{begin}\nold\n{end}\nbottom\n")).unwrap();
        let write = || write(&document, "clients", "cargo xtask clients", &table(&[row()]));
        write().unwrap();
        let new = fs::read_to_string(&document).unwrap();
        assert!(new.starts_with("top\n") && new.ends_with("\nbottom\n") && !new.contains("old"), "{new}");
        write().unwrap();
        assert_eq!(fs::read_to_string(&document).unwrap(), new);
        fs::write(&document, "no markers").unwrap();
        assert!(write().is_err());
    }
}
