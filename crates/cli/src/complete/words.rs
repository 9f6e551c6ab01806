//! The words that are being completed.

use std::env;
use std::path::PathBuf;

use crate::args::Global;

/// The options for every command that stand on the line so far.
pub(super) fn global() -> Global {
    let mut words = env::args().skip_while(|word| word != "--").skip(2);
    let mut global = Global {
        root: None,
        state: None,
        team: Vec::new(),
        who: None,
        json: false,
        quiet: false,
        color: None,
        utc: false,
        no_pager: true,
    };
    while let Some(word) = words.next() {
        let (option, value) = match word.split_once('=') {
            Some((option, value)) => (option.to_owned(), Some(value.to_owned())),
            None => (word, None),
        };
        if !["--root", "--state", "--team", "-t", "--as"].contains(&option.as_str()) {
            continue;
        }
        let Some(value) = value.or_else(|| words.next()).filter(|value| !value.is_empty()) else { continue };
        match option.as_str() {
            "--root" => global.root = Some(PathBuf::from(value)),
            "--state" => global.state = Some(PathBuf::from(value)),
            "--as" => global.who = Some(value),
            _ => global.team.push(value),
        }
    }
    global
}

/// The word that is being completed.
pub(super) fn current() -> Option<String> {
    let words: Vec<String> = env::args().skip_while(|word| word != "--").skip(1).collect();
    // Some shells say which word it is; for the others it is the last.
    let index = env::var("_CLAP_COMPLETE_INDEX").ok().and_then(|index| index.parse::<usize>().ok());
    index.and_then(|index| words.get(index)).or_else(|| words.last()).cloned()
}
