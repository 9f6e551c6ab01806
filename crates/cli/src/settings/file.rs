//! What a settings file may hold, and what of it counts without anybody's trust.

use std::path::PathBuf;

use atm_office::retry::{Policies, Policy};
use atm_office::upkeep::Upkeep;
use atm_office::wake::Ladder;
use atm_wire::stamp::parse_duration;
use serde::Deserialize;

use crate::args::ColorChoice;
use crate::size;

/// What a settings file may hold.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) root: Option<PathBuf>,
    pub(super) state: Option<PathBuf>,
    pub(super) team: Option<String>,
    #[serde(rename = "as")]
    pub(super) who: Option<String>,
    pub(super) color: Option<String>,
    pub(super) delivery: Option<Delivery>,
    pub(super) archive: Option<Archive>,
    pub(super) wake: Option<Wake>,
}

impl File {
    /// Takes out what only a person may decide, and says which keys those were. What is left can do no harm:
    ///
    /// | key | why |
    /// |---|---|
    /// | `team`, `as` | names, looked up in the user's own tree |
    /// | `color` | |
    /// | `delivery.retry_after` | mail is offered again to its own recipient, at most so often |
    /// | `[archive]` | mail that was read moves into the user's own archive; nothing is removed |
    /// | `[wake]` | when a member is woken for its own mail |
    ///
    /// and what is taken out:
    ///
    /// | key | why |
    /// |---|---|
    /// | `root` | whose mail is put before the model, and where mail is written |
    /// | `state` | where the texts of all mail are kept, and what is known of it |
    /// | `delivery.escalate_to` | somebody else gets to read the mail |
    /// | `delivery.expire_after` | mail that waits is given up |
    pub(super) fn keep_harmless(&mut self) -> Vec<&'static str> {
        let (mut escalates, mut expires) = (false, false);
        if let Some(delivery) = &mut self.delivery {
            delivery.keep_harmless(&mut escalates, &mut expires);
        }
        self.delivery.take_if(|delivery| delivery.is_empty());
        let taken = [
            (self.root.take().is_some(), "root"),
            (self.state.take().is_some(), "state"),
            (escalates, "delivery.escalate_to"),
            (expires, "delivery.expire_after"),
        ];
        taken.into_iter().filter_map(|(is_there, key)| is_there.then_some(key)).collect()
    }

    /// All keys and tables that it has.
    pub(super) fn keys(&self) -> Vec<&'static str> {
        let there = [
            (self.root.is_some(), "root"),
            (self.state.is_some(), "state"),
            (self.team.is_some(), "team"),
            (self.who.is_some(), "as"),
            (self.color.is_some(), "color"),
            (self.delivery.is_some(), "delivery"),
            (self.archive.is_some(), "archive"),
            (self.wake.is_some(), "wake"),
        ];
        there.into_iter().filter_map(|(is_there, key)| is_there.then_some(key)).collect()
    }
}

/// How long mail waits before each wake for it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wake {
    after: Option<Vec<String>>,
}

impl Wake {
    pub(super) fn ladder(&self) -> Result<Option<Ladder>, String> {
        let span = |text: &String| parse_duration(text).map_err(|error| format!("[wake]: {error}"));
        self.after
            .as_ref()
            .map(|after| after.iter().map(span).collect())
            .transpose()
            .map(|after| after.map(Ladder))
    }
}

/// What stays in the inboxes, and when the archive is packed.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Archive {
    keep: Option<usize>,
    older_than: Option<String>,
    compress_after: Option<String>,
    rotate_over: Option<String>,
}

impl Archive {
    /// Changes `upkeep` where this says something.
    pub(super) fn apply(&self, upkeep: &mut Upkeep) -> Result<(), String> {
        let span = |text: &String| parse_duration(text).map_err(|error| error.to_string());
        upkeep.keep = self.keep.unwrap_or(upkeep.keep);
        if let Some(after) = &self.older_than {
            upkeep.older_than = Some(span(after)?);
        }
        if let Some(after) = &self.compress_after {
            upkeep.compress_after = span(after)?;
        }
        if let Some(over) = &self.rotate_over {
            upkeep.rotate_over = size::parse(over)?;
        }
        Ok(())
    }
}

/// The policy for queued mail, with exceptions by priority.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Delivery {
    retry_after: Option<Vec<String>>,
    escalate_to: Option<Vec<String>>,
    expire_after: Option<String>,
    high: Option<Box<Delivery>>,
    low: Option<Box<Delivery>>,
}

impl Delivery {
    /// Changes `policy` where this says something.
    fn apply(&self, policy: &mut Policy) -> Result<(), String> {
        let span = |text: &String| parse_duration(text).map_err(|error| error.to_string());
        if let Some(after) = &self.retry_after {
            policy.retry_after = after.iter().map(span).collect::<Result<_, _>>()?;
        }
        if let Some(after) = &self.expire_after {
            policy.expire_after = Some(span(after)?);
        }
        if let Some(to) = &self.escalate_to {
            policy.escalate_to.clone_from(to);
        }
        Ok(())
    }

    pub(super) fn apply_to_all(&self, policies: &mut Policies) -> Result<(), String> {
        for policy in [&mut policies.high, &mut policies.normal, &mut policies.low] {
            self.apply(policy)?;
        }
        self.high.as_ref().map_or(Ok(()), |high| high.apply(&mut policies.high))?;
        self.low.as_ref().map_or(Ok(()), |low| low.apply(&mut policies.low))
    }

    fn keep_harmless(&mut self, escalates: &mut bool, expires: &mut bool) {
        *escalates |= self.escalate_to.take().is_some();
        *expires |= self.expire_after.take().is_some();
        for part in [&mut self.high, &mut self.low].into_iter().flatten() {
            part.keep_harmless(escalates, expires);
        }
    }

    fn is_empty(&self) -> bool {
        let says_nothing = |part: &Option<Box<Delivery>>| part.as_ref().is_none_or(|part| part.is_empty());
        self.retry_after.is_none()
            && self.escalate_to.is_none()
            && self.expire_after.is_none()
            && says_nothing(&self.high)
            && says_nothing(&self.low)
    }
}

/// What is wrong with a settings file.
#[derive(Debug)]
pub(crate) struct Trouble {
    /// All of it, with the line.
    pub(super) message: String,
    /// What is wrong, in one line.
    pub(crate) short: String,
    /// Where, in bytes, if the parser knows.
    pub(crate) at: Option<usize>,
}

impl Trouble {
    fn plain(message: String) -> Self {
        Self { short: message.clone(), message, at: None }
    }
}

/// What is wrong with the text of a settings file, if anything.
pub(crate) fn trouble_in(text: &str) -> Option<Trouble> {
    parse(text).err()
}

pub(super) fn parse(text: &str) -> Result<File, Trouble> {
    let file: File = toml::from_str(text).map_err(|error| Trouble {
        message: error.to_string().trim_end().to_owned(),
        short: error.message().to_owned(),
        at: error.span().map(|span| span.start),
    })?;
    if let Some(color) = file.color.as_ref().filter(|color| parse_color(color).is_none()) {
        return Err(Trouble::plain(format!("color = {color:?}: must be auto, always or never")));
    }
    if let Some(delivery) = &file.delivery {
        delivery
            .apply_to_all(&mut Policies::default())
            .map_err(|why| Trouble::plain(format!("[delivery]: {why}")))?;
    }
    if let Some(wake) = &file.wake {
        wake.ladder().map_err(Trouble::plain)?;
    }
    Ok(file)
}

pub(super) fn parse_color(text: &str) -> Option<ColorChoice> {
    clap::ValueEnum::from_str(text, true).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &str = "root = \"~/x\"\nteam = \"dev\"\nas = \"alice\"\ncolor = \"never\"\n[delivery]\nretry_after = [\"5m\"]\n\
                        expire_after = \"7d\"\n[delivery.high]\nescalate_to = [\"lead\"]\n";

    #[test]
    fn no_settings_make_the_reader_panic() {
        assert!(trouble_in(REAL).is_none());
        bolero::check!().with_iterations(2000).with_type::<(Vec<(u16, u8)>, u16)>().for_each(
            |(changes, cut)| {
                let mut bytes = REAL.as_bytes().to_vec();
                for (at, byte) in changes {
                    let at = usize::from(*at) % bytes.len();
                    bytes[at] = *byte;
                }
                bytes.truncate(usize::from(*cut).max(1));
                let text = String::from_utf8_lossy(&bytes);
                if let Some(trouble) = trouble_in(&text) {
                    assert!(!trouble.short.is_empty());
                    assert!(trouble.at.is_none_or(|at| at <= text.len()), "{text:?}");
                }
            },
        );
    }

    #[test]
    fn without_trust_only_harmless_keys_are_left() {
        let mut file = parse(
            "root = \"a\"\nstate = \"b\"\nteam = \"dev\"\nas = \"alice\"\ncolor = \"never\"\n[delivery]\n\
             retry_after = [\"5m\"]\n[delivery.high]\nescalate_to = [\"eve\"]\n[delivery.low]\nexpire_after = \"1s\"\n\
             [archive]\nkeep = 0\n[wake]\nafter = [\"1m\"]\n",
        )
        .unwrap();
        assert_eq!(file.keep_harmless(), ["root", "state", "delivery.escalate_to", "delivery.expire_after"]);
        assert_eq!(file.keys(), ["team", "as", "color", "delivery", "archive", "wake"]);
        assert_eq!(file.keep_harmless(), [""; 0]);
        let mut policies = Policies::default();
        file.delivery.unwrap().apply_to_all(&mut policies).unwrap();
        assert_eq!(policies.high.escalate_to, Policies::default().high.escalate_to);
        assert_eq!(policies.low.expire_after, Policies::default().low.expire_after);
        assert_eq!(policies.normal.retry_after.len(), 1);
    }
}
