//! What came out of a group.

use std::collections::BTreeMap;

use super::oracle::Wrong;

/// Examples that are shown of each kind.
const EXAMPLES: usize = 4;

#[derive(Default)]
pub(super) struct Report {
    cases: usize,
    codes: BTreeMap<String, usize>,
    wrong: BTreeMap<Wrong, Vec<String>>,
    /// Why nothing was tried.
    skipped: Option<String>,
}

impl Report {
    /// Nothing could be tried here.
    pub(super) fn skipped(why: &str) -> Self {
        Self { skipped: Some(why.to_owned()), ..Self::default() }
    }

    pub(super) fn add(&mut self, label: &str, code: Option<i32>, found: Vec<(Wrong, String)>) {
        self.cases += 1;
        let code = code.map_or_else(|| "killed".to_owned(), |code| code.to_string());
        *self.codes.entry(code).or_default() += 1;
        for (wrong, what) in found {
            self.wrong.entry(wrong).or_default().push(format!("{label}: {what}"));
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.cases += other.cases;
        for (code, count) in other.codes {
            *self.codes.entry(code).or_default() += count;
        }
        for (wrong, examples) in other.wrong {
            self.wrong.entry(wrong).or_default().extend(examples);
        }
    }

    /// Prints it; gives the number of wrong answers.
    pub(super) fn print(&self, group: &str, seed: u64) -> usize {
        if let Some(why) = &self.skipped {
            println!("faults: {group}: SKIPPED: {why}");
            return 0;
        }
        let codes: Vec<String> = self.codes.iter().map(|(code, count)| format!("{code}: {count}")).collect();
        let wrong: usize = self.wrong.values().map(Vec::len).sum();
        println!("faults: {group}: {} cases, {wrong} wrong (exit codes {})", self.cases, codes.join(", "));
        for (wrong, examples) in &self.wrong {
            println!("  {}: {}", wrong.describe(), examples.len());
            for example in examples.iter().take(EXAMPLES) {
                println!("    {example}");
            }
        }
        if wrong > 0 {
            println!("  again: cargo xtask faults --only {group} --seed {seed} [--case LABEL]");
        }
        wrong
    }
}
