//! The rules as a document, with what the doctor finds.

use std::fmt::Write;

use atm_upkeep::doctor::Ailment;
use atm_wire::lint::Rule;
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Out;

#[derive(Serialize)]
struct Shape {
    id: &'static str,
    level: String,
    about: &'static str,
    title: &'static str,
    why: &'static str,
    advice: &'static str,
}

/// Prints all rules: Markdown, or JSON.
pub(super) fn show(out: &mut Out) -> Result<i32, Failure> {
    if out.json {
        let mut rules: Vec<Shape> = Rule::ALL
            .iter()
            .map(|rule| Shape {
                id: rule.code(),
                level: rule.level().to_string(),
                about: rule.group(),
                title: rule.title(),
                why: rule.why(),
                advice: rule.advice(),
            })
            .collect();
        rules.extend(Ailment::ALL.iter().map(|ailment| Shape {
            id: ailment.code(),
            level: ailment.severity().to_string(),
            about: "Doctor",
            title: ailment.title(),
            why: ailment.why(),
            advice: ailment.fix(),
        }));
        out.document(&rules)?;
    } else {
        out.raw(markdown().as_bytes())?;
    }
    Ok(0)
}

const HEAD: &str = "\
# Rules

What `atm validate` finds, by code, and at the end what `atm doctor` finds. A code keeps its meaning for good. This page
is written by `cargo xtask docs` from the tables in the code; `atm validate --rules --json` prints the same for programs.

| level | means | exit code |
|---|---|---|
| error | mail, a member or a task is lost or cannot be used by some program | 6 |
| warning | programs cope, but hardly anybody meant it so | 0 |
| dialect | not as documented, and right all the same: real clients write it so | 0 |
";

const DOCTOR: &str = "
## Doctor

What `atm doctor` finds. What `--fix` does goes into the journal first, with the bytes that were there:
`atm doctor --undo` puts them back.

| code | level | found | why it matters | what is done |
|---|---|---|---|---|
";

fn markdown() -> String {
    let mut text = HEAD.to_owned();
    let mut group = "";
    for rule in Rule::ALL {
        if rule.group() != group {
            group = rule.group();
            let _ = write!(
                text,
                "\n## {group}\n\n| code | level | found | why it matters | what to do |\n|---|---|---|---|---|\n"
            );
        }
        row(&mut text, [rule.code(), rule.level().as_str(), rule.title(), rule.why(), rule.advice()]);
    }
    text.push_str(DOCTOR);
    for ailment in Ailment::ALL {
        let severity = ailment.severity().to_string();
        row(&mut text, [ailment.code(), &severity, ailment.title(), ailment.why(), ailment.fix()]);
    }
    text
}

fn row(text: &mut String, cells: [&str; 5]) {
    let cells = cells.map(|cell| cell.replace('|', "\\|"));
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}
