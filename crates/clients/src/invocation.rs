//! How a client's process was started: its command line, and whether it has a terminal.

/// Programs that run a client as a script.
const INTERPRETERS: [&str; 4] = ["node", "nodejs", "bun", "deno"];
/// Their options whose value is a word of its own.
const WITH_VALUE: &str = "-r --require --import --loader --experimental-loader -C --conditions --env-file";
/// Their own words for running a script.
const RUN: [&str; 2] = ["run", "x"];

/// How a process was started, as far as the system shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Invocation {
    /// The words of its command line, the program or the interpreter first.
    pub words: Vec<String>,
    /// Where the system shows them in one line, a word with blanks in it stands here as several.
    pub is_split: bool,
    /// Whether its input and output are a terminal; nothing where the system does not show it.
    pub has_terminal: Option<bool>,
}

impl Invocation {
    /// Whether it runs the client of this name: by its program, or by the path of the script that an interpreter runs. Of another
    /// program's words nothing is known.
    pub(crate) fn is_of(&self, name: &str) -> bool {
        let (program, script, _) = self.parts();
        script.map_or_else(|| program.starts_with(name), |script| script.contains(name))
    }

    /// What the client was told: the words behind its program, or behind the script that an interpreter runs.
    fn arguments(&self) -> impl Iterator<Item = &str> + Clone {
        self.parts().2
    }

    /// The program's name, the script that it runs if it is an interpreter, and the rest.
    fn parts(&self) -> (&str, Option<&str>, impl Iterator<Item = &str> + Clone) {
        let mut words = self.words.iter().map(String::as_str);
        let program = words.next().and_then(|word| word.rsplit('/').next()).unwrap_or_default();
        if !INTERPRETERS.contains(&program) {
            return (program, None, words);
        }
        while let Some(word) = words.next() {
            if is_among(word, WITH_VALUE) {
                words.next();
            } else if !word.starts_with('-') && !RUN.contains(&word) {
                return (program, Some(word), words);
            }
        }
        (program, None, words)
    }

    /// Whether it was given an option, by its letter or its long name; letters may stand together.
    pub(crate) fn has_option(&self, letter: Option<char>, name: &str) -> bool {
        self.arguments().take_while(|word| *word != "--").any(|word| {
            let option = word.split('=').next().unwrap_or_default();
            let Some(letters) = option.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
                return option == name;
            };
            letters.chars().all(|one| one.is_ascii_alphabetic())
                && letter.is_some_and(|letter| letters.contains(letter))
        })
    }

    /// The first word that is no option and no value of one. `values` says how many words an option takes at most.
    pub(crate) fn first_word(&self, values: fn(&str) -> usize) -> Option<&str> {
        let mut words = self.arguments().peekable();
        while let Some(word) = words.next() {
            if word == "--" {
                return words.next();
            }
            if !word.starts_with('-') || word == "-" {
                return Some(word);
            }
            let mut left = if word.contains('=') { 0 } else { values(word) };
            if left == 0 {
                // What some clients read behind a switch.
                words.next_if(|next| matches!(*next, "true" | "false"));
            }
            while left > 0 && words.next_if(|next| !next.starts_with('-')).is_some() {
                left -= 1;
            }
        }
        None
    }
}

/// Whether a word is one of these, which have blanks between them.
pub(crate) fn is_among(word: &str, all: &str) -> bool {
    all.split(' ').any(|one| one == word)
}

/// A command line, for tests: words at blanks, with a terminal unless it ends with ` <`.
#[cfg(test)]
pub(crate) fn invoked(line: &str) -> Invocation {
    let words = line.strip_suffix(" <").unwrap_or(line).split(' ').map(ToOwned::to_owned).collect();
    Invocation { words, is_split: false, has_terminal: Some(!line.ends_with(" <")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_what_stands_behind_the_program_or_its_script() {
        for (line, expected) in [
            ("codex exec hi", "exec hi"),
            ("/usr/bin/gemini -p hi", "-p hi"),
            ("node /usr/bin/gemini -p hi", "-p hi"),
            ("/opt/node --max-old-space-size=4096 --no-warnings /lib/gemini.js -p hi", "-p hi"),
            ("node --require /x/hook.js -C dev /lib/gemini.js -p hi", "-p hi"),
            ("bun run /src/index.ts run hi", "run hi"),
            ("bun /src/opencode run hi", "run hi"),
            ("deno run -A npm:@google/gemini-cli -p hi", "-p hi"),
            ("node", ""),
            ("", ""),
        ] {
            let invocation = invoked(line);
            assert_eq!(invocation.arguments().collect::<Vec<_>>().join(" "), expected, "{line}");
        }
    }

    /// Between a client and its hook there may be another program, whose words are not the client's.
    #[test]
    fn a_client_is_run_by_its_program_or_by_its_script() {
        for (line, expected) in [
            ("opencode", true),
            ("/usr/bin/opencode.exe run", true),
            ("/lib/opencode-linux-x64/bin/opencode run", true),
            ("node /usr/bin/opencode run", true),
            ("bun run /src/opencode/index.ts run", true),
            ("node /usr/bin/other run opencode", false),
            ("make opencode", false),
            ("node", false),
            ("", false),
        ] {
            assert_eq!(invoked(line).is_of("opencode"), expected, "{line}");
        }
    }

    #[test]
    fn an_option_is_found_by_its_letter_or_its_name() {
        for (line, expected) in [
            ("c -p", true),
            ("c -yp hi", true),
            ("c -p=hi", true),
            ("c --prompt hi", true),
            ("c --prompt=hi", true),
            ("c --prompts hi", false),
            ("c --prompt-interactive hi", false),
            ("c -y", false),
            ("c -m=pro", false),
            ("c -- -p", false),
            ("c p", false),
            ("c -", false),
            ("c -1p", false),
        ] {
            assert_eq!(invoked(line).has_option(Some('p'), "--prompt"), expected, "{line}");
        }
        assert!(!invoked("c -p").has_option(None, "--attach"));
    }

    #[test]
    fn the_first_word_is_no_value_of_an_option() {
        let values = |option: &str| match option {
            "-m" | "--model" => 1,
            "--tools" => usize::MAX,
            _ => 0,
        };
        for (line, expected) in [
            ("c run", Some("run")),
            ("c -y run", Some("run")),
            ("c -m x run", Some("run")),
            ("c --model=x run", Some("run")),
            ("c --model -y run", Some("run")),
            ("c --tools a b -y run", Some("run")),
            ("c --tools a b", None),
            ("c -m x -- run", Some("run")),
            ("c -", Some("-")),
            ("c -m", None),
            ("c", None),
        ] {
            assert_eq!(invoked(line).first_word(values), expected, "{line}");
        }
    }
}
