//! The names that were probably meant.

/// How many names are offered.
pub(crate) const AT_MOST: usize = 3;
/// Below this similarity a name is no help.
const SIMILAR: f64 = 0.6;

/// The names among `known` that are most like `wanted`, best first.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let mut scored: Vec<(f64, &str)> = known
        .into_iter()
        .map(|name| {
            let lower = name.to_lowercase();
            let contains = !wanted.is_empty() && (lower.contains(&wanted) || wanted.contains(&lower));
            // The one sees common beginnings, the other swapped letters.
            let score = strsim::jaro_winkler(&wanted, &lower)
                .max(strsim::normalized_damerau_levenshtein(&wanted, &lower));
            (if contains { score.max(0.8) } else { score }, name)
        })
        .filter(|(score, _)| *score >= SIMILAR)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.dedup_by_key(|(_, name)| *name);
    scored.into_iter().take(AT_MOST).map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_the_name() {
        let known = ["team-lead", "backend-dev", "frontend-dev", "bob"];
        assert_eq!(nearest("bobb", known)[0], "bob");
        assert_eq!(nearest("backend", known)[0], "backend-dev");
        assert_eq!(nearest("Team-Lead", known)[0], "team-lead");
        assert_eq!(nearest("bbo", known)[0], "bob");
        assert!(nearest("zzz", known).is_empty());
    }
}
