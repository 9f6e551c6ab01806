//! The licences of all dependencies, held against the list in `deny.toml`: for machines without `cargo-deny`.

use std::fs;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::repo;

pub(crate) fn check() -> Result<()> {
    let settings: toml::Table = toml::from_str(&fs::read_to_string(repo::root()?.join("deny.toml"))?)?;
    let allowed =
        settings.get("licenses").and_then(|table| table.get("allow")).and_then(toml::Value::as_array);
    let allowed: Vec<&str> = allowed
        .context("deny.toml has no [licenses] allow")?
        .iter()
        .filter_map(toml::Value::as_str)
        .collect();
    let output = repo::cargo(["metadata", "--format-version", "1", "--locked"])?.output()?;
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let mut refused = Vec::new();
    for package in packages.iter().filter(|package| !package["source"].is_null()) {
        let licence = package["license"].as_str().unwrap_or_default();
        if !is_allowed(licence, &allowed) {
            refused.push(format!("  {} {}: {licence:?}", package["name"], package["version"]));
        }
    }
    if !refused.is_empty() {
        bail!("these dependencies have licences that deny.toml does not allow:\n{}", refused.join("\n"));
    }
    eprintln!(
        "licences: {} packages from elsewhere, all allowed",
        packages.iter().filter(|package| !package["source"].is_null()).count()
    );
    Ok(())
}

/// Whether an SPDX expression leaves a choice that is allowed. `/` is how `OR` was written once.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = tokens.as_slice();
    any_of(&mut rest, allowed) && rest.is_empty()
}

fn any_of(rest: &mut &[&str], allowed: &[&str]) -> bool {
    let mut found = all_of(rest, allowed);
    while let [first, more @ ..] = *rest
        && *first == "OR"
    {
        *rest = more;
        found |= all_of(rest, allowed);
    }
    found
}

fn all_of(rest: &mut &[&str], allowed: &[&str]) -> bool {
    let mut found = one(rest, allowed);
    while let [first, more @ ..] = *rest
        && *first == "AND"
    {
        *rest = more;
        found &= one(rest, allowed);
    }
    found
}

fn one(rest: &mut &[&str], allowed: &[&str]) -> bool {
    match *rest {
        ["(", more @ ..] => {
            *rest = more;
            let found = any_of(rest, allowed);
            if let [")", more @ ..] = *rest {
                *rest = more;
            }
            found
        }
        [name, "WITH", exception, more @ ..] => {
            *rest = more;
            allowed.contains(&format!("{name} WITH {exception}").as_str())
        }
        [name, more @ ..] => {
            *rest = more;
            allowed.contains(name)
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{check, is_allowed};

    #[test]
    fn all_dependencies_are_allowed() {
        check().unwrap();
    }

    #[test]
    fn an_expression_is_allowed_if_one_of_its_choices_is() {
        let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"];
        for (expression, expected) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("", false),
            ("MIT OR GPL-3.0", true),
            ("GPL-3.0/MIT", true),
            ("MIT AND GPL-3.0", false),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("(MIT OR Apache-2.0) AND OpenSSL", false),
            ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true),
            ("MIT WITH Other-exception", false),
            ("MIT GPL-3.0", false),
        ] {
            assert_eq!(is_allowed(expression, &allowed), expected, "{expression:?}");
        }
    }
}
