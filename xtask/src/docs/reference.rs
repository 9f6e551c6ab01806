//! The reference, made from the program: every command's help, and the shape of every JSON answer.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value};

/// The columns of help texts.
const COLUMNS: &str = "98";

/// The page of all commands.
pub(super) fn commands(atm: &Path) -> Result<String> {
    let folder = tempfile::tempdir()?;
    run(Command::new(atm).arg("man").arg(folder.path()))?;
    // A manual page for each command: their names are the commands.
    let mut names: Vec<String> = fs::read_dir(folder.path())?
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().to_string_lossy().strip_suffix(".1").map(str::to_owned))
        .collect();
    names.sort();
    ensure!(names.len() > 20, "`atm man` wrote {} pages only", names.len());
    let mut page =
        "# Commands\n\nWhat `atm COMMAND --help` prints, for every command. Made by `cargo xtask docs`.\n"
            .to_owned();
    for name in names {
        let words = words(atm, &name)?;
        let help = run(Command::new(atm).args(&words).arg("--help").env("COLUMNS", COLUMNS))?;
        let level = if words.len() > 1 { "###" } else { "##" };
        let command = [&["atm".to_owned()][..], &words].concat().join(" ");
        let _ = write!(page, "\n{level} {command}\n\n```text\n{}\n```\n", help.trim_end());
    }
    Ok(page)
}

/// The words of a command, of the name of its manual page. A word may have a hyphen itself, so the longest that the
/// program knows counts.
fn words(atm: &Path, name: &str) -> Result<Vec<String>> {
    let parts: Vec<&str> = name.split('-').skip(1).collect();
    for joined in 0..parts.len().max(1) {
        let (first, last) = parts.split_at(parts.len().saturating_sub(joined + 1));
        let mut words: Vec<String> = first.iter().map(|word| (*word).to_owned()).collect();
        if !last.is_empty() {
            words.push(last.join("-"));
        }
        let known = Command::new(atm).args(&words).arg("--help").output()?;
        if known.status.success() {
            return Ok(words);
        }
    }
    anyhow::bail!("no command for the manual page {name}")
}

/// The page of all JSON answers.
pub(super) fn answers(atm: &Path) -> Result<String> {
    let list: Value = serde_json::from_str(&run(Command::new(atm).args(["schema", "--json"]))?)?;
    let mut page = "# JSON answers\n\nThe shape of every answer that `--json` gives, and of every file. `atm schema NAME` prints \
                    the JSON Schema that this is made from. A key with `?` may be missing; `null` is written where it may be. \
                    Made by `cargo xtask docs`.\n"
        .to_owned();
    for entry in list.as_array().context("`atm schema --json` gives no list")? {
        let name = entry["name"].as_str().context("a schema without a name")?;
        let schema: Value = serde_json::from_str(&run(Command::new(atm).args(["schema", name]))?)?;
        let of = entry["of"].as_str().unwrap_or_default();
        let of = if entry["kind"] == "file" { format!("The file `{of}`.") } else { format!("`{of}`") };
        let _ = write!(page, "\n## {name}\n\n{of}\n\n```ts\n{}```\n", declarations(&schema, name));
    }
    Ok(page)
}

/// A schema as type declarations.
fn declarations(schema: &Value, name: &str) -> String {
    let mut text = String::new();
    if let Some(definitions) = schema["$defs"].as_object() {
        for (name, definition) in definitions {
            if let Some(about) = definition["description"].as_str() {
                let _ = writeln!(text, "// {about}");
            }
            let _ = writeln!(text, "type {} = {}", type_name(name), shape(definition, 0));
        }
    }
    let answer = shape(schema, 0);
    if answer != type_name(name) {
        let _ = writeln!(text, "type Answer = {answer}");
    }
    text
}

/// `member-view` as `MemberView`.
fn type_name(name: &str) -> String {
    name.split(['-', '_'])
        .map(|part| {
            let mut letters = part.chars();
            letters
                .next()
                .map(|first| first.to_uppercase().chain(letters).collect::<String>())
                .unwrap_or_default()
        })
        .collect()
}

fn shape(schema: &Value, depth: usize) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return type_name(reference.rsplit('/').next().unwrap_or_default());
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    if !schema["const"].is_null() {
        return schema["const"].to_string();
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[key].as_array() {
            return choices.iter().map(|choice| shape(choice, depth)).collect::<Vec<_>>().join(" | ");
        }
    }
    match &schema["type"] {
        Value::Array(types) => {
            let each = types.iter().map(|one| of_type(one.as_str().unwrap_or("any"), schema, depth));
            each.collect::<Vec<_>>().join(" | ")
        }
        Value::String(one) => of_type(one, schema, depth),
        _ if schema["properties"].is_object() => of_type("object", schema, depth),
        _ => "any".to_owned(),
    }
}

fn of_type(name: &str, schema: &Value, depth: usize) -> String {
    match name {
        "object" => match schema["properties"].as_object() {
            Some(properties) => object(properties, schema, depth),
            None if schema["additionalProperties"].is_object() => {
                format!("{{ [key: string]: {} }}", shape(&schema["additionalProperties"], depth))
            }
            None => "object".to_owned(),
        },
        "array" => {
            let items = shape(&schema["items"], depth);
            if items.contains(" | ") { format!("({items})[]") } else { format!("{items}[]") }
        }
        "integer" => "number".to_owned(),
        other => other.to_owned(),
    }
}

fn object(properties: &Map<String, Value>, schema: &Value, depth: usize) -> String {
    let required = |key: &str| {
        schema["required"].as_array().is_some_and(|required| required.iter().any(|name| name == key))
    };
    let mut text = "{\n".to_owned();
    let indent = "  ".repeat(depth + 1);
    for (key, property) in properties {
        let mark = if required(key) { "" } else { "?" };
        let about = property["description"].as_str().map(|about| format!("  // {about}")).unwrap_or_default();
        let _ = writeln!(text, "{indent}\"{key}\"{mark}: {},{about}", shape(property, depth + 1));
    }
    text + &"  ".repeat(depth) + "}"
}

fn run(command: &mut Command) -> Result<String> {
    let output = command.output().context("cannot start the program")?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).context("the answer is not UTF-8")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_shown_as_types() {
        let schema = json!({
            "$defs": {
                "one-mail": {
                    "description": "A message.",
                    "type": "object",
                    "required": ["id"],
                    "properties": {
                        "id": { "type": "string" },
                        "of": { "type": ["string", "null"], "description": "its subject" },
                        "stage": { "enum": ["seen", "done"] },
                    },
                },
            },
            "type": "array",
            "items": { "$ref": "#/$defs/one-mail" },
        });
        assert_eq!(
            declarations(&schema, "mails"),
            "// A message.\ntype OneMail = {\n  \"id\": string,\n  \"of\"?: string | null,  // its subject\n  \
             \"stage\"?: \"seen\" | \"done\",\n}\ntype Answer = OneMail[]\n"
        );
    }
}
