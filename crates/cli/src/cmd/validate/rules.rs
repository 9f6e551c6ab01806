//! The rules as a document.

use std::fmt::Write;

use atm_wire::lint::{Level, Rule};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Out;

#[derive(Serialize)]
struct Shape {
    id: &'static str,
    level: Level,
    about: &'static str,
    title: &'static str,
    why: &'static str,
    advice: &'static str,
}

/// Prints all rules: Markdown, or JSON.
pub(super) fn show(out: &mut Out) -> Result<i32, Failure> {
    if out.json {
        let rules: Vec<Shape> = Rule::ALL
            .iter()
            .map(|rule| Shape {
                id: rule.code(),
                level: rule.level(),
                about: rule.group(),
                title: rule.title(),
                why: rule.why(),
                advice: rule.advice(),
            })
            .collect();
        out.document(&rules)?;
    } else {
        out.raw(markdown().as_bytes())?;
    }
    Ok(0)
}

const HEAD: &str = "\
# Rules

What `atm validate` finds, by code. A code keeps its meaning for good. This page is written by `cargo xtask docs` from
the table in the code; `atm validate --rules --json` prints the same for programs.

| level | means | exit code |
|---|---|---|
| error | mail, a member or a task is lost or cannot be used by some program | 6 |
| warning | programs cope, but hardly anybody meant it so | 0 |
| dialect | not as documented, and right all the same: real clients write it so | 0 |
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
        let cell = |text: &str| text.replace('|', "\\|");
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            rule.code(),
            rule.level(),
            cell(rule.title()),
            cell(rule.why()),
            cell(rule.advice())
        );
    }
    text
}
