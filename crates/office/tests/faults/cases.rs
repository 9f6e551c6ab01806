//! Every operation of a command failing once, and every two that follow each other.

use std::env;
use std::time::Instant;

use crate::plan::{Kind, Plan};
use crate::world::World;

/// So many cases of a command are tried; all of them with `ATM_ALL_FAULTS=1`.
const MANY: usize = 500;
/// And of one that takes long.
const FEW: usize = 120;

/// A command, and what must be true afterwards.
pub(crate) struct Trial<'a, A> {
    pub(crate) name: &'a str,
    pub(crate) world: &'a World,
    /// The command, as a process of its own runs it.
    pub(crate) command: &'a dyn Fn() -> A,
    /// Compares its answer with the truth; without an answer it died.
    pub(crate) judge: &'a dyn Fn(Option<A>) -> Result<(), String>,
}

/// What a command is put through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ordeal {
    /// Each of its operations fails, and so does each with the next.
    Faults,
    /// The same in the ways that differ most, for a command that takes long. Operations that repeat are tried twice.
    FewFaults,
    /// The power is cut at every instant.
    PowerCuts,
}

impl<A: Clone> Trial<'_, A> {
    /// Puts the command through it.
    pub(crate) fn pass(&self, ordeal: Ordeal) {
        match ordeal {
            Ordeal::Faults => self.run(false),
            Ordeal::FewFaults => self.run(true),
            Ordeal::PowerCuts => self.cut_power(),
        }
    }
}

impl<A> Trial<'_, A> {
    /// Tries all cases and panics with those that came out wrong.
    pub(crate) fn run(&self, is_few: bool) {
        let start = Instant::now();
        self.world.keep();
        let (plan, judged) = self.try_one(&[]);
        judged.unwrap_or_else(|why| panic!("{}: without any fault: {why}", self.name));
        let operations = plan.done();
        if let Some(faults) = asked_for() {
            let (plan, judged) = self.try_one(&faults);
            for (number, done) in plan.done().iter().enumerate() {
                println!("{number:4} {}", done.what);
            }
            return judged.unwrap();
        }
        let mut cases: Vec<Vec<(usize, Kind)>> = Vec::new();
        for (number, done) in operations.iter().enumerate() {
            let before = operations[..number].iter().filter(|earlier| earlier.what == done.what).count();
            if is_few && before > 1 {
                continue;
            }
            let kinds = done.kinds().into_iter().filter(|kind| !is_few || kind.is_distinct());
            cases.extend(kinds.map(|kind| vec![(number, kind)]));
            let pairs = done.pairs().into_iter().filter(|pair| !is_few || pair[0] != pair[1]);
            cases.extend(pairs.map(|[first, second]| vec![(number, first), (number + 1, second)]));
        }
        let all = cases.len();
        assert!(all > operations.len() / 2, "{}: only {all} cases", self.name);
        let cases = thinned(cases, if is_few { FEW } else { MANY });
        let mut wrong = Vec::new();
        let hit: usize = cases.iter().map(|case| self.try_case(case, &mut wrong)).sum();
        let name = self.name;
        let count = format!("{hit} of {all} cases over {} operations", operations.len());
        println!("{name}: {count}, {} wrong, in {:.1} s", wrong.len(), start.elapsed().as_secs_f64());
        assert!(hit > cases.len() / 2, "{name}: only {count}");
        assert!(
            wrong.is_empty(),
            "{name}: {} of {} cases came out wrong:\n{}\nrepeat one: ATM_FAULTS='<faults>' cargo nextest run \
             -p {} --test faults --no-capture <this test>",
            wrong.len(),
            hit,
            wrong.iter().take(12).cloned().collect::<Vec<_>>().join("\n"),
            env!("CARGO_PKG_NAME"),
        );
    }

    fn try_case(&self, faults: &[(usize, Kind)], wrong: &mut Vec<String>) -> usize {
        let (plan, judged) = self.try_one(faults);
        if !plan.has_hit() {
            // The second fault found an operation that it cannot happen to.
            return 0;
        }
        if let Err(why) = judged {
            let done = plan.done();
            let what = faults.iter().filter_map(|(at, _)| done.get(*at)).map(|done| done.what.as_str());
            let what = what.collect::<Vec<_>>().join(", ");
            let names = faults.iter().map(|(at, kind)| format!("{at} {}", kind.name()));
            let names = names.collect::<Vec<_>>().join(", ");
            wrong.push(format!("- ATM_FAULTS='{names}' ({what}): {why}"));
        }
        1
    }

    fn try_one(&self, faults: &[(usize, Kind)]) -> (Plan, Result<(), String>) {
        self.world.reset();
        let plan = Plan::new(faults);
        let answer = plan.run(self.command);
        let judged = self.judge((!plan.is_dead()).then_some(answer));
        (plan, judged)
    }

    /// Compares the answer with the truth. The commands that come next wait for nobody and do not fail.
    pub(crate) fn judge(&self, answer: Option<A>) -> Result<(), String> {
        Plan::default().run(|| (self.judge)(answer))
    }
}

/// A part of the cases, the same each time and spread over all of them, unless all are asked for.
fn thinned<C>(cases: Vec<C>, most: usize) -> Vec<C> {
    let all = cases.len();
    if all <= most || env::var_os("ATM_ALL_FAULTS").is_some() {
        return cases;
    }
    // By multiples of a large prime: neighbours are alike, and so are cases at an even distance.
    cases.into_iter().enumerate().filter(|(at, _)| at * 7_919 % all < most).map(|(_, case)| case).collect()
}

/// The faults that somebody wants to see again: `ATM_FAULTS='17 ENOSPC, 18 EIO'`.
fn asked_for() -> Option<Vec<(usize, Kind)>> {
    let asked = env::var("ATM_FAULTS").ok()?;
    let fault = |text: &str| {
        let (at, kind) = text.trim().split_once(' ')?;
        Some((at.parse().ok()?, Kind::parse(kind.trim())?))
    };
    Some(asked.split(", ").map(|text| fault(text).unwrap_or_else(|| panic!("no fault: {text:?}"))).collect())
}
