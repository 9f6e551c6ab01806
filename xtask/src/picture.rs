//! `cargo xtask picture`: draws the pictures in the README from what the program really shows. The tests that compare them have the scenes.

use anyhow::Result;

use crate::repo;

/// The pictures, each with its package and the arguments that select its test.
const PICTURES: [(&str, &str, &[&str]); 3] = [
    (
        "docs/screen.svg",
        "atm",
        &["--test", "it", "--", "--exact", "picture::the_readme_shows_what_the_program_prints"],
    ),
    (
        "docs/ui.svg",
        "atm",
        &["--test", "it", "--", "--exact", "picture::the_readme_shows_the_terminal_ui_of_a_real_run"],
    ),
    (
        "docs/web-team.png and docs/web-phone.png (with what `cargo xtask setup` installs)",
        "atm",
        &[
            "--features",
            "test-tools",
            "--test",
            "web",
            "--",
            "--exact",
            "looks::the_documents_show_the_page_of_a_real_run",
        ],
    ),
];

pub(crate) fn run() -> Result<()> {
    for (path, package, test) in PICTURES {
        let mut cargo = repo::cargo(["test", "--quiet", "--locked", "--package", package])?;
        repo::run(cargo.args(test).env("ATM_WRITE_PICTURE", "1"))?;
        println!("{path}");
    }
    Ok(())
}
