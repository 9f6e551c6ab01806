//! The documents as a book: `docs/SUMMARY.md` is its table of contents.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::collect;
use crate::repo;

const MDBOOK: &str = "0.5.4";

/// Builds the book below the build folder, and checks that its links lead somewhere.
pub(super) fn build(root: &Path) -> Result<PathBuf> {
    let mdbook = install()?;
    let work = repo::target()?.join("book");
    if work.exists() {
        fs::remove_dir_all(&work).with_context(|| format!("cannot remove {}", work.display()))?;
    }
    let source = work.join("docs");
    copy(&root.join("docs"), &source)?;
    fs::copy(root.join("book.toml"), work.join("book.toml"))?;
    repo::run(Command::new(mdbook).arg("build").arg("--dest-dir").arg(work.join("html")).arg(&work))?;
    let html = work.join("html");
    check(&html)?;
    Ok(html)
}

/// Copies the documents. Links to sources, which are not in the book, become their words.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, copied) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&path, &copied)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            let text = fs::read_to_string(&path)?;
            fs::write(&copied, without_links_out(&text, &path))?;
        } else {
            fs::copy(&path, &copied)?;
        }
    }
    Ok(())
}

/// The text, with the words of a link only where it leads out of the documents.
fn without_links_out(text: &str, path: &Path) -> String {
    let is_out = |target: &str| {
        let target = target.split('#').next().unwrap_or_default();
        let up = target.split('/').take_while(|part| *part == "..").count();
        let folders = path.components().rev().skip(1).take_while(|part| part.as_os_str() != "docs").count();
        !target.contains("://") && up > folders
    };
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(middle) = rest.find("](") {
        let Some(end) = rest[middle..].find(')').map(|end| middle + end) else { break };
        let Some(begin) = rest[..middle].rfind('[') else {
            out.push_str(&rest[..middle + 2]);
            rest = &rest[middle + 2..];
            continue;
        };
        if is_out(&rest[middle + 2..end]) {
            out.push_str(&rest[..begin]);
            out.push_str(&rest[begin + 1..middle]);
        } else {
            out.push_str(&rest[..=end]);
        }
        rest = &rest[end + 1..];
    }
    out + rest
}

/// Every relative link of a page leads to a file of the book.
fn check(html: &Path) -> Result<()> {
    let mut pages = Vec::new();
    collect(html, "html", &mut pages)?;
    let mut broken = Vec::new();
    for page in &pages {
        let text = fs::read_to_string(page)?;
        for link in text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let target = link.split(['#', '?']).next().unwrap_or_default();
            let is_ours = !target.is_empty() && !target.contains(':') && !target.starts_with('/');
            if is_ours && !page.with_file_name("").join(target).exists() {
                let page = page.strip_prefix(html).unwrap_or(page).display();
                broken.push(format!("{page}: the link `{link}` leads nowhere"));
            }
        }
    }
    if !broken.is_empty() {
        broken.sort();
        broken.dedup();
        bail!("the book has links that lead nowhere:\n  {}", broken.join("\n  "));
    }
    Ok(())
}

/// mdBook, below the build folder.
fn install() -> Result<PathBuf> {
    let folder = repo::target()?.join("mdbook");
    let program = folder.join("bin").join("mdbook");
    let version = Command::new(&program).arg("--version").output();
    if !version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(MDBOOK)) {
        eprintln!("docs: cargo install mdbook {MDBOOK} (some minutes, once)");
        let mut cargo =
            repo::cargo(["install", "mdbook", "--no-default-features", "--locked", "--version", MDBOOK])?;
        repo::run(cargo.arg("--root").arg(&folder))?;
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_out_of_the_documents_becomes_its_words() {
        let text =
            "See [a](../../crates/a.rs), [b](../B.md#part) and [web](https://example.org/x). [not] (x)";
        let expected = "See a, [b](../B.md#part) and [web](https://example.org/x). [not] (x)";
        assert_eq!(without_links_out(text, Path::new("/any/docs/guides/tour.md")), expected);
        let text = "[`main.rs`](../crates/cli/src/main.rs) [c](C.md)";
        assert_eq!(without_links_out(text, Path::new("/any/docs/INTERNALS.md")), "`main.rs` [c](C.md)");
    }
}
