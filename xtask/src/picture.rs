//! `cargo xtask picture`: draws the picture in the README from a real run. The test that compares the two has the scene.

use anyhow::Result;

use crate::repo;

const TEST: &str = "picture::the_readme_shows_what_the_program_prints";

pub(crate) fn run() -> Result<()> {
    let mut test = repo::cargo([
        "test",
        "--quiet",
        "--locked",
        "--package",
        "atm",
        "--test",
        "it",
        "--",
        "--exact",
        TEST,
    ])?;
    repo::run(test.env("ATM_WRITE_PICTURE", "1"))?;
    println!("docs/screen.svg");
    Ok(())
}
