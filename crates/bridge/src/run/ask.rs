//! Asks whether another bridge of this machine's name is there, and answers.
//!
//! Only machines of this name may read below its inbox prefix, and no machine may publish there: but the server answers wherever it is
//! asked to. So a question is a request of the server's API with a random word in the subject for its answer, and so is the answer.

use std::time::Instant;

use atm_wire::backup::hex;
use futures_util::StreamExt;
use ring::rand::{SecureRandom, SystemRandom};

use super::Shared;
use super::worker::Input;
use crate::nats::NatsError;

const ASK: &str = "ask";
const ANSWER: &str = "answer";

/// Asks, about a word that was heard under this machine's name.
pub(super) async fn ask(shared: &Shared) {
    let mut word = [0; 16];
    // Without random numbers anybody could answer.
    if SystemRandom::new().fill(&mut word).is_err() {
        return;
    }
    let question = hex(&word);
    if !shared.namesakes().ask(&question, Instant::now()) {
        return;
    }
    shared.asked.notify_one();
    if let Err(error) = shared.link.say_to_namesakes(&format!("{ASK}.{question}")).await {
        shared.report(&error);
    }
}

/// Hears questions and answers.
pub(super) async fn listen(shared: Shared) {
    loop {
        if let Err(error) = follow(&shared).await {
            shared.report(&error);
        }
        tokio::time::sleep(super::presence::BETWEEN).await;
    }
}

async fn follow(shared: &Shared) -> Result<(), NatsError> {
    let mut words = shared.link.hear_namesakes().await?;
    loop {
        // At rest no question is open, and nothing wakes this.
        let is_asking = shared.namesakes().is_asking();
        let word = tokio::select! {
            word = words.next() => Some(word),
            () = shared.asked.notified() => None,
            () = tokio::time::sleep(super::presence::BETWEEN), if is_asking => None,
        };
        for _ in 0..shared.namesakes().give_up(Instant::now()) {
            let me = shared.plan.me.machine.to_string();
            shared.engine.send(Input::Refused("not-ours", me));
        }
        let Some(word) = word else { continue };
        let Some(word) = word else { return Ok(()) };
        let mut tokens = word.subject.rsplit('.');
        let (Some(question), Some(kind)) = (tokens.next(), tokens.next()) else { continue };
        let now = Instant::now();
        if kind == ASK && shared.namesakes().is_to_answer(question, now) {
            shared.link.say_to_namesakes(&format!("{ANSWER}.{question}")).await?;
        } else if kind == ANSWER && shared.namesakes().hear_answer(question, now) {
            shared.engine.send(Input::Namesake);
        }
    }
}
