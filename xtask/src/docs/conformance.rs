//! The table of capabilities: every test that it names has to exist.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::collect;

/// The table.
const TABLE: &str = "docs/CONFORMANCE.md";

/// What the table says that is not so.
pub(super) fn problems(root: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(root.join(TABLE))?;
    let mut problems = Vec::new();
    for (capability, tests) in rows(&text) {
        if tests.is_empty() {
            problems.push(format!("{TABLE}: no test covers {capability:?}"));
        }
        for test in tests {
            if !exists(root, &test)? {
                problems.push(format!("{TABLE}: there is no test `{test}`"));
            }
        }
    }
    Ok(problems)
}

/// The rows: what they are about, and the tests in their last column.
fn rows(text: &str) -> Vec<(String, Vec<String>)> {
    let rows = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| capability"));
    rows.map(|row| {
        let columns: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let tests = columns.last().copied().unwrap_or_default().split('`').skip(1).step_by(2);
        (columns[0].trim().to_owned(), tests.map(ToOwned::to_owned).collect())
    })
    .collect()
}

/// Whether a crate has a test of that name in a file of that module.
fn exists(root: &Path, test: &str) -> Result<bool> {
    let parts: Vec<&str> = test.split("::").collect();
    let [crate_name, modules @ .., name] = parts.as_slice() else { return Ok(false) };
    let mut files = Vec::new();
    let folder = root.join("crates").join(crate_name);
    if !folder.is_dir() {
        return Ok(false);
    }
    collect(&folder, "rs", &mut files)?;
    let wanted = format!("fn {name}(");
    Ok(files.iter().filter(|file| is_of(file, modules)).any(|file| {
        let source = fs::read_to_string(file).unwrap_or_default();
        source.contains(&wanted)
            && ["#[test]", "#[rstest", "proptest!"].iter().any(|mark| source.contains(mark))
    }))
}

/// Whether a file is the last of these modules, or has it.
fn is_of(file: &Path, modules: &[&str]) -> bool {
    let mut path: Vec<String> =
        file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if path.last().is_some_and(|last| last == "mod" || last == "main") {
        path.pop();
    }
    path.iter().rev().zip(modules.iter().rev()).all(|(part, module)| part == module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_names_its_tests_and_a_module_is_the_end_of_a_path() {
        let text =
            "| capability | how | covered by |\n|---|---|---|\n| X | `atm x` | `cli::a::b`, `cli::c::d` |\n";
        assert_eq!(rows(text), [("X".to_owned(), vec!["cli::a::b".to_owned(), "cli::c::d".to_owned()])]);
        assert!(is_of(Path::new("/r/crates/cli/tests/it/panes/mod.rs"), &["panes"]));
        assert!(is_of(Path::new("/r/crates/office/tests/spec/order.rs"), &["spec", "order"]));
        assert!(!is_of(Path::new("/r/crates/office/tests/spec/order.rs"), &["spec"]));
    }

    #[test]
    fn every_test_of_the_table_exists() {
        let root = crate::repo::root().unwrap();
        assert_eq!(problems(root).unwrap(), [""; 0]);
        assert!(!exists(root, "cli::panes::shutdown::there_is_no_such_test").unwrap());
        assert!(!exists(root, "cli::panes::nudges::who_approves_its_end_has_its_pane_closed").unwrap());
    }
}
