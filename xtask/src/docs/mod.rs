//! `cargo xtask docs`: writes the documents that are made from the code, and sees whether all of them are in order.

mod book;
mod conformance;
mod reference;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::repo;

/// The document that is written from the rules.
const RULES: &str = "docs/RULES.md";
/// The help of all commands.
const COMMANDS: &str = "docs/reference/commands.md";
/// The shapes of all JSON answers.
const ANSWERS: &str = "docs/reference/json.md";

/// What a newcomer needs first: how to run it, and how to test it.
const README_NAMES: [&str; 2] = ["cargo run", "cargo xtask test"];

/// Documents that are worth reading only while they are short, with their limit in bytes.
const SHORT: [(&str, usize); 2] = [("README.md", 14_000), ("ARCHITECTURE.md", 16_000)];

/// The decisions, one page each.
const DESIGN: &str = "docs/design";

/// Writes what is generated, checks all, and builds the book.
pub(crate) fn run() -> Result<()> {
    let root = repo::root()?;
    repo::run(&mut repo::cargo(["build", "--quiet", "--locked", "--package", "atm"])?)?;
    let atm = repo::target()?.join("debug").join("atm");
    for (name, text) in generated(&atm)? {
        let path = root.join(name);
        if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
            }
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
            eprintln!("wrote {name}");
        }
    }
    check(&atm)?;
    let book = book::build(root)?;
    eprintln!("built the book: {}", book.join("index.html").display());
    Ok(())
}

/// The documents that the program writes.
fn generated(atm: &Path) -> Result<[(&'static str, String); 3]> {
    let rules = Command::new(atm).args(["validate", "--rules"]).output().context("cannot start atm")?;
    ensure!(rules.status.success(), "{}", String::from_utf8_lossy(&rules.stderr));
    let rules = String::from_utf8(rules.stdout).context("the rules are not UTF-8")?;
    Ok([(RULES, rules), (COMMANDS, reference::commands(atm)?), (ANSWERS, reference::answers(atm)?)])
}

/// Checks that generated documents are as the code makes them, that links and named source files exist, that what a newcomer needs is named, that short documents are short,
/// and that every decision is in the index.
pub(crate) fn check(atm: &Path) -> Result<()> {
    let root = repo::root()?;
    let stale = generated(atm)?
        .into_iter()
        .filter(|(name, text)| fs::read_to_string(root.join(name)).ok().as_ref() != Some(text));
    let stale: Vec<&str> = stale.map(|(name, _)| name).collect();
    ensure!(
        stale.is_empty(),
        "made from the code, and not as the code is: {}. `cargo xtask docs` writes them.",
        stale.join(", ")
    );
    let mut documents = Vec::new();
    collect(root, "md", &mut documents)?;
    let mut problems = Vec::new();
    for document in &documents {
        let text = read(document)?;
        let name = document.strip_prefix(root).unwrap_or(document).display();
        let broken = links(&text).into_iter().filter(|link| !resolves(root, document, &text, link));
        problems.extend(broken.map(|link| format!("{name}: the link `{link}` leads nowhere")));
        let gone = source_files(&text).into_iter().filter(|file| !root.join(file).exists());
        problems.extend(gone.map(|file| format!("{name}: there is no `{file}`")));
    }
    for (name, limit) in SHORT {
        let size = read(&root.join(name))?.len();
        if size > limit {
            problems.push(format!("{name}: {size} bytes, more than {limit}"));
        }
    }
    problems.extend(unlisted_decisions(&root.join(DESIGN))?);
    problems.extend(unlisted_pages(root)?);
    problems.extend(conformance::problems(root)?);
    let readme = fs::read_to_string(root.join("README.md")).unwrap_or_default();
    let unnamed = README_NAMES.iter().filter(|command| !readme.contains(**command));
    problems.extend(unnamed.map(|command| format!("README.md: does not name `{command}`")));
    if !problems.is_empty() {
        bail!("the documents need mending:\n  {}", problems.join("\n  "));
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// All files with this extension below `folder`, but for hidden and built ones.
fn collect(folder: &Path, extension: &str, documents: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        let name = entry.file_name();
        if entry.file_type()?.is_dir() {
            let skipped = name == "target" || name.to_string_lossy().starts_with('.');
            if !skipped {
                collect(&path, extension, documents)?;
            }
        } else if path.extension().is_some_and(|found| found == extension) {
            documents.push(path);
        }
    }
    Ok(())
}

/// The targets of all links that are not web addresses.
fn links(text: &str) -> Vec<String> {
    let mut targets = Vec::new();
    for line in prose(text) {
        if let Some((label, target)) = line.split_once("]: ")
            && label.starts_with('[')
        {
            targets.push(target.to_owned());
        }
        let inline = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        targets.extend(inline.map(str::to_owned));
    }
    let bare =
        |target: String| target.split_whitespace().next().map(|t| t.trim_matches(['<', '>']).to_owned());
    let relative = |target: &String| !target.contains("://") && !target.starts_with("mailto:");
    targets.into_iter().filter_map(bare).filter(relative).collect()
}

/// The files of the workspace that a text names in code spans, from the root on.
fn source_files(text: &str) -> Vec<&str> {
    let spans = outside_code(text).flat_map(|line| line.split('`').skip(1).step_by(2));
    let is_path = |span: &&str| {
        span.starts_with("crates/") && span.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
    };
    spans.filter(is_path).collect()
}

/// Pages of decisions that the index does not link to.
fn unlisted_decisions(folder: &Path) -> Result<Vec<String>> {
    let index = read(&folder.join("README.md"))?;
    let listed: HashSet<String> = links(&index).into_iter().collect();
    let mut pages = Vec::new();
    collect(folder, "md", &mut pages)?;
    let names =
        pages.iter().filter_map(|page| page.file_name()).map(|name| name.to_string_lossy().into_owned());
    let unlisted = names.filter(|name| name != "README.md" && !listed.contains(name));
    Ok(unlisted.map(|name| format!("{DESIGN}/README.md: does not list {name}")).collect())
}

/// Documents that the book's table of contents does not link to. Of the decisions it has the index.
fn unlisted_pages(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("docs");
    let listed: HashSet<String> = links(&read(&folder.join("SUMMARY.md"))?).into_iter().collect();
    let mut pages = Vec::new();
    collect(&folder, "md", &mut pages)?;
    let names =
        pages.iter().filter_map(|page| page.strip_prefix(&folder).ok()).map(|name| name.to_string_lossy());
    let unlisted = names.filter(|name| name != "SUMMARY.md" && !listed.contains(name.as_ref()));
    Ok(unlisted.map(|name| format!("docs/SUMMARY.md: does not list {name}")).collect())
}

/// The lines outside of code blocks, without their code spans.
fn prose(text: &str) -> Vec<String> {
    outside_code(text).map(|line| line.split('`').step_by(2).collect()).collect()
}

/// The lines outside of code blocks.
fn outside_code(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

fn resolves(root: &Path, document: &Path, text: &str, link: &str) -> bool {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let file = match path.strip_prefix('/') {
        Some(from_root) => root.join(from_root),
        None => document.with_file_name("").join(path),
    };
    if anchor.is_empty() {
        return file.exists();
    }
    if path.is_empty() {
        return anchors(text).contains(anchor);
    }
    fs::read_to_string(file).is_ok_and(|text| anchors(&text).contains(anchor))
}

/// The anchors that a forge makes from the headings.
fn anchors(text: &str) -> HashSet<String> {
    let mut in_code = false;
    let mut anchors = HashSet::new();
    for line in text.lines() {
        in_code ^= line.trim_start().starts_with("```");
        if !in_code && line.starts_with('#') {
            let slug = slug(line.trim_start_matches('#').trim());
            let repeated = (1..).map(|n| format!("{slug}-{n}"));
            let free = std::iter::once(slug.clone()).chain(repeated).find(|name| !anchors.contains(name));
            anchors.extend(free);
        }
    }
    anchors
}

fn slug(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    heading.to_lowercase().chars().filter(kept).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_in_prose_only() {
        let text = "See [a](docs/A.md), [`b`](B.md#part \"title\") and [web](https://example.org).\n\
                    `[no](span.md)`\n```\n[no](block.md)\n```\n[ref]: <C.md>\n";
        assert_eq!(links(text), ["docs/A.md", "B.md#part", "C.md"]);
    }

    #[test]
    fn source_files_are_found_in_code_spans() {
        let text =
            "`crates/store/src/lib.rs`, `crates/<name>/src`, `crates/cli` and `flock`; crates/not/this.";
        assert_eq!(source_files(text), ["crates/store/src/lib.rs", "crates/cli"]);
    }

    #[test]
    fn a_decision_must_be_in_the_index() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("README.md"), "| [0001](0001-a.md) | A |\n").unwrap();
        fs::write(folder.path().join("0001-a.md"), "# 0001: A\n").unwrap();
        assert!(unlisted_decisions(folder.path()).unwrap().is_empty());
        fs::write(folder.path().join("0002-b.md"), "# 0002: B\n").unwrap();
        assert_eq!(
            unlisted_decisions(folder.path()).unwrap(),
            ["docs/design/README.md: does not list 0002-b.md"]
        );
    }

    #[test]
    fn anchors_are_made_as_forges_make_them() {
        let text = "# The `lock` order, twice\n## Part\n## Part\n```\n# not a heading\n```\n";
        let expected = ["the-lock-order-twice", "part", "part-1"].map(str::to_owned);
        assert_eq!(anchors(text), HashSet::from(expected));
    }

    #[test]
    fn a_link_must_lead_to_a_file_and_to_its_heading() {
        let folder = tempfile::tempdir().unwrap();
        let document = folder.path().join("README.md");
        let text = "# Top\n";
        fs::write(&document, text).unwrap();
        let resolves = |link: &str| super::resolves(folder.path(), &document, text, link);
        assert!(resolves("README.md") && resolves("/README.md#top") && resolves("#top") && resolves("."));
        assert!(!resolves("MISSING.md") && !resolves("README.md#bottom") && !resolves("#bottom"));
    }
}
