//! Whether this machine may do all that a bridge does, without doing any of it.
//!
//! Each subject that `init` prints is published to once. What would be stored expects a message before it that never was; what
//! would make, take or delete something asks for it in words that the server refuses. So nothing changes, and beside its answers the
//! server says what is not allowed.

use std::collections::BTreeSet;

use async_nats::{Client, HeaderMap, RequestErrorKind};
use futures_util::future::join_all;

use super::super::{Names, setup};
use super::{Check, Outcome};
use crate::name::{Machine, Realm};

/// The last token of a subject that stands for many.
const ANY: &str = "check";
/// What no request of the server's API is.
const NONSENSE: &str = "{";

/// How a right is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// A message that the stream does not take, and says so.
    Store,
    /// A question that changes nothing.
    Ask,
    /// A request that is refused before anything is done.
    Refused,
    /// Nobody answers.
    Tell,
}

/// A right, and a subject that it covers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Trial {
    right: String,
    subject: String,
    how: How,
}

/// What came of trying them all.
#[derive(Debug)]
pub(super) struct Tried {
    trials: Vec<Trial>,
    /// Those that should have been answered, and were not.
    unanswered: Vec<Trial>,
}

/// What the server did not allow, by its own words: publication or subscription, and the subject.
pub fn denied_in(words: &[String]) -> Vec<(String, String)> {
    let denied = |word: &String| {
        let rest = word.split_once("Permissions Violation for ")?.1;
        let (kind, rest) = rest.split_once(" to \"")?;
        Some((kind.to_owned(), rest.split('"').next()?.to_owned()))
    };
    words.iter().filter_map(denied).collect()
}

/// Every right of a machine, with how it is tried.
fn trials(realm: &Realm, machine: &Machine) -> Vec<Trial> {
    let names = Names::of(realm);
    let objects = [format!("OBJ_{}.>", names.objects), format!("$O.{}.M.{ANY}", names.objects)];
    let buckets = names
        .buckets()
        .map(|(bucket, _)| [setup::bucket_stream(bucket) + ".>", format!("$KV.{bucket}.{ANY}")]);
    // What is asked of one subject of a stream is asked with that subject.
    let inner = |right: &str| {
        let found = buckets.iter().chain([&objects]).find(|[stream, _]| right.ends_with(stream.as_str()));
        found.map_or_else(|| ANY.to_owned(), |[_, subject]| subject.clone())
    };
    let of = |right: &String| {
        let api = right.strip_prefix("$JS.API.");
        let is_api = |verb: &str| api.is_some_and(|api| api.starts_with(verb));
        let (how, tail) = if is_api("DIRECT.GET.") {
            (How::Ask, inner(right))
        } else if is_api("STREAM.INFO.") || is_api("CONSUMER.INFO.") {
            (How::Ask, ANY.to_owned())
        } else if is_api("CONSUMER.MSG.NEXT.") || right.starts_with("$JS.FC.") {
            // A consumer that is not there says nothing, and that of dead letters is there only while they are read.
            (How::Tell, ANY.to_owned())
        } else if is_api("CONSUMER.CREATE.") {
            (How::Refused, format!("{ANY}.{}", inner(right)))
        } else if api.is_some() {
            (How::Refused, ANY.to_owned())
        } else if right.starts_with("$JS.ACK.") {
            (How::Tell, "1.0.0.0.0".to_owned())
        } else if right.starts_with("$O.") {
            (How::Store, format!("M.{ANY}"))
        } else {
            (How::Store, ANY.to_owned())
        };
        let subject = right.replace(".*.", &format!(".{machine}."));
        let subject =
            subject.strip_suffix('>').map_or_else(|| subject.clone(), |head| format!("{head}{tail}"));
        Trial { right: right.clone(), subject, how }
    };
    setup::rights(realm, machine).publish.iter().map(of).collect()
}

/// Tries them all.
pub(super) async fn try_all(client: &Client, realm: &Realm, machine: &Machine) -> Tried {
    let trials = trials(realm, machine);
    for trial in trials.iter().filter(|trial| trial.how == How::Tell) {
        // What cannot be sent is said by all that is asked.
        let _ = client.publish(trial.subject.clone(), NONSENSE.into()).await;
    }
    let asked = trials.iter().filter(|trial| trial.how != How::Tell);
    let answers = asked.map(async |trial| (!is_answered(client, trial).await).then(|| trial.clone()));
    let unanswered = join_all(answers).await.into_iter().flatten().collect();
    Tried { trials, unanswered }
}

async fn is_answered(client: &Client, trial: &Trial) -> bool {
    let mut headers = HeaderMap::new();
    if trial.how == How::Store {
        headers.insert("Nats-Expected-Last-Msg-Id", "there is no such message");
    }
    let body = if trial.how == How::Refused { NONSENSE } else { "" };
    match client.request_with_headers(trial.subject.clone(), headers, body.into()).await {
        Ok(_) => true,
        // The request got through, and there is nothing that it could reach.
        Err(error) => error.kind() == RequestErrorKind::NoResponders,
    }
}

impl Tried {
    /// What to say of it, after what the server said.
    pub(super) fn judge(&self, realm: &Realm, machine: &Machine, denied: &[(String, String)]) -> Check {
        let right = |kind: &str, subject: &str| {
            let of = |trial: &&Trial| kind == "Publish" && trial.subject == subject;
            let right = self.trials.iter().find(of).map_or(subject, |trial| &trial.right);
            format!("{} to {right}", kind.to_lowercase())
        };
        let denied: BTreeSet<String> = denied.iter().map(|(kind, subject)| right(kind, subject)).collect();
        let change = format!("allow this user what `atm bridge init --realm {realm} --for {machine}` prints");
        if !denied.is_empty() {
            let denied = denied.into_iter().collect::<Vec<_>>().join(", ");
            return Check::not(Outcome::Bad, "permissions", format!("not allowed: {denied}"), change);
        }
        if !self.unanswered.is_empty() {
            let silent: Vec<&str> = self.unanswered.iter().map(|trial| trial.right.as_str()).collect();
            let found = format!("no answer to {}", silent.join(", "));
            return Check::not(Outcome::Bad, "permissions", found, change);
        }
        Check::good("permissions", format!("may publish to the {} subjects of a bridge", self.trials.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_denied_is_read_from_the_servers_words() {
        let words = [
            "the server says: nats: Permissions Violation for Publish to \"$JS.API.INFO\"".to_owned(),
            "the server says: nats: Permissions Violation for Subscription to \"_INBOX_atm_home_hub.x.*\""
                .to_owned(),
            "the server says: nats: slow".to_owned(),
        ];
        let of = |kind: &str, subject: &str| (kind.to_owned(), subject.to_owned());
        let denied = [of("Publish", "$JS.API.INFO"), of("Subscription", "_INBOX_atm_home_hub.x.*")];
        assert_eq!(denied_in(&words), denied);
    }

    #[test]
    fn every_right_is_tried_by_one_subject_that_it_covers() {
        let (realm, hub) = ("home".parse().unwrap(), "hub".parse().unwrap());
        let trials = trials(&realm, &hub);
        let subjects: BTreeSet<&str> = trials.iter().map(|trial| trial.subject.as_str()).collect();
        assert_eq!(trials.len(), setup::rights(&realm, &hub).publish.len());
        assert_eq!(subjects.len(), trials.len(), "no two are tried by one subject");
        for Trial { right, subject, .. } in &trials {
            let (mut right, mut subject) = (right.split('.'), subject.split('.'));
            loop {
                match (right.next(), subject.next()) {
                    (None, None) => break,
                    (Some(">"), Some(token)) => {
                        assert!(!token.is_empty() && subject.all(|token| !"*>".contains(token)));
                        break;
                    }
                    (Some("*"), Some(token)) => assert!(!"*>".contains(token)),
                    (one, other) => assert_eq!(one, other),
                }
            }
        }
        let all: Vec<&str> = subjects.into_iter().collect();
        for subject in [
            "atm.home.to.hub.from.hub.check",
            "$KV.atm-home-tasks.check",
            "$O.atm-home-objects.M.check",
            "$JS.API.DIRECT.GET.KV_atm-home-homes.$KV.atm-home-homes.check",
            "$JS.API.CONSUMER.CREATE.OBJ_atm-home-objects.check.$O.atm-home-objects.M.check",
        ] {
            assert!(all.contains(&subject), "{subject}: {all:?}");
        }
    }
}
