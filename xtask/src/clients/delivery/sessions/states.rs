//! The states of a session that mail comes in.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::super::patience::{comes_true, wait_for};
use super::burst;
use super::report::Outcome;
use super::scene::{Manner, Scene, Sent, Start};

/// So long a client may take to show a dialog or to hang in a tool.
const SOON: Duration = Duration::from_secs(60);
/// What was pushed in a turn is in the client's queue by then.
const PUSHED: Duration = Duration::from_secs(4);

/// The length of a long answer.
const LONG: Duration = Duration::from_secs(35);

/// What the screen of a client shows that takes words.
const PROMPTS: [&str; 2] = ["❯", "> "];

pub(super) struct State {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) run: fn(&Start<'_>) -> Result<Outcome>,
}

pub(super) const ALL: [State; 14] = [
    State { name: "idle", title: "idle", run: idle },
    State { name: "busy", title: "busy, in a tool", run: busy },
    State { name: "long", title: "in a last answer of 35 s", run: long },
    State { name: "dialog", title: "permission dialog open", run: dialog },
    State { name: "bypass", title: "bypasses permissions, idle", run: bypass },
    State { name: "plan", title: "in plan mode, idle", run: plan },
    State { name: "auto", title: "in auto mode, idle", run: auto },
    State { name: "cleared", title: "after `/clear`", run: cleared },
    State { name: "stop", title: "hooks alone: in the last answer of a turn", run: stop },
    State { name: "killed", title: "killed with mail waiting, then resumed", run: killed },
    State { name: "broken", title: "killed in the turn that has the mail, then resumed", run: broken },
    State {
        name: "broken-hooks",
        title: "hooks alone: killed in the turn that has the mail, then resumed",
        run: broken_hooks,
    },
    State {
        name: "broken-tool",
        title: "hooks alone: killed in the turn that got the mail behind a tool, then resumed",
        run: broken_tool,
    },
    State { name: "burst", title: "1,000 in bursts of 100", run: burst::run },
];

fn send_each(scene: &Scene, what: &str, count: usize) -> Result<Vec<Sent>> {
    (1..=count).map(|number| scene.send(&format!("{what} letter {number:02}, please note"))).collect()
}

/// Where there is no socket, mail comes with the next turn: the user types something. Says from when on it could come.
fn let_in(scene: &Scene) -> Result<Option<Instant>> {
    if scene.pushes() {
        return Ok(None);
    }
    let now = Instant::now();
    scene.terminal.enter("Anything new?")?;
    Ok(Some(now))
}

fn accounted(scene: &Scene, sent: &[Sent], from: Option<Instant>) -> Result<Outcome> {
    let mut outcome = scene.account(sent, from)?;
    if from.is_some() {
        outcome.note = "no socket: by hooks, from the user's next words on";
    }
    Ok(outcome)
}

fn idle(start: &Start<'_>) -> Result<Outcome> {
    let scene = Scene::start(start, Manner::default())?;
    idle_in(&scene, "idle")
}

fn idle_in(scene: &Scene, what: &str) -> Result<Outcome> {
    let mut all = Outcome::default();
    for number in 1..=3 {
        scene.await_rest()?;
        let sent = [scene.send(&format!("{what} letter {number:02}, please note"))?];
        let from = let_in(scene)?;
        let one = accounted(scene, &sent, from)?;
        all.sent += one.sent;
        all.arrived += one.arrived;
        all.proved += one.proved;
        all.by_hook += one.by_hook;
        all.doubled += one.doubled;
        all.times.extend(one.times);
        all.note = one.note;
    }
    Ok(all)
}

fn busy(start: &Start<'_>) -> Result<Outcome> {
    let scene = Scene::start(start, Manner::default())?;
    scene.terminal.enter("Please wait: [tool 1]")?;
    wait_for("the client hangs in a tool", SOON, || Ok(scene.model.is_holding(1)))?;
    let sent = send_each(&scene, "busy", 3)?;
    std::thread::sleep(PUSHED);
    ensure!(sent.iter().all(|message| scene.shown(&message.text) == 0), "it came within a tool call");
    let released = Instant::now();
    scene.model.release(1)?;
    let mut outcome = accounted(&scene, &sent, Some(released))?;
    outcome.note =
        if scene.pushes() { "from the tool's end on" } else { "no socket: by hooks, from the tool's end on" };
    Ok(outcome)
}

/// Longer than a client takes equal words for one message, and than what is not shown by then is taken for lost while its session
/// rests: what was pushed comes in the turn after the answer, and has to come once.
fn long(start: &Start<'_>) -> Result<Outcome> {
    let scene = Scene::start(start, Manner::default())?;
    scene.terminal.enter("Please think: [hold 1]")?;
    wait_for("the model holds its answer back", SOON, || Ok(scene.model.is_holding(1)))?;
    let sent = send_each(&scene, "long", 3)?;
    std::thread::sleep(LONG);
    ensure!(sent.iter().all(|message| scene.shown(&message.text) == 0), "it came within an answer");
    let released = Instant::now();
    scene.model.release(1)?;
    let rests = if scene.pushes() { rest_before(&scene, &sent, released)? } else { Duration::ZERO };
    let from = if scene.pushes() {
        Some(released)
    } else {
        scene.await_rest()?;
        let_in(&scene)?
    };
    let mut outcome = accounted(&scene, &sent, from)?;
    outcome.note = match (scene.pushes(), rests.is_zero()) {
        (false, _) => "no socket: by hooks, from the user's next words on",
        (true, true) => "from the answer's end on; its registry never said `idle` before it was shown",
        (true, false) => "from the answer's end on; its registry said `idle` before it was shown",
    };
    Ok(outcome)
}

/// For how long the client's registry says that the session rests, between the end of an answer and the turn that has what came
/// meanwhile.
fn rest_before(scene: &Scene, sent: &[Sent], released: Instant) -> Result<Duration> {
    let (mut said, mut since) = (scene.registered_status()?, released);
    let mut rests = Duration::ZERO;
    while scene.shown(&sent[0].text) == 0 && released.elapsed() < SOON {
        // An entry that is being written reads as nothing.
        let status = scene.registered_status().unwrap_or_default();
        if status != said && !status.is_empty() {
            eprintln!(
                "clients: the registry said {said} until {:.3} s, then {status}",
                released.elapsed().as_secs_f64()
            );
            if said == "idle" {
                rests += since.elapsed();
            }
            (said, since) = (status, Instant::now());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    if said == "idle" {
        rests += since.elapsed();
    }
    let shown = released.elapsed().as_secs_f64();
    eprintln!(
        "clients: shown {shown:.3} s after the answer's end; the registry said idle for {:.3} s",
        rests.as_secs_f64()
    );
    Ok(rests)
}

fn dialog(start: &Start<'_>) -> Result<Outcome> {
    let scene = Scene::start(start, Manner { asks: true, ..Manner::default() })?;
    scene.terminal.enter("Please wait: [tool 1]")?;
    wait_for("the dialog is open", SOON, || Ok(scene.terminal.screen().contains("Do you want")))?;
    let mut said = [Value::Null, Value::Null];
    wait_for("atm says that it waits for a permission", SOON, || {
        said = [scene.home.atm_plain(&["status", "work"])?, scene.home.atm_plain(&["sessions"])?[0].clone()];
        Ok(said.iter().all(|shown| shown["activity"] == "waiting for permission"))
    })
    .with_context(|| format!("{} {} {:?}", said[0], said[1], scene.registered()))?;
    let sent = send_each(&scene, "dialog", 3)?;
    std::thread::sleep(PUSHED);
    ensure!(!scene.model.is_holding(1), "the dialog was answered by mail");
    let answered = Instant::now();
    scene.terminal.press("Enter")?;
    wait_for("the tool runs", SOON, || Ok(scene.model.is_holding(1)))?;
    scene.model.release(1)?;
    let mut outcome = accounted(&scene, &sent, Some(answered))?;
    outcome.note = "from the answer to the dialog on";
    Ok(outcome)
}

fn bypass(start: &Start<'_>) -> Result<Outcome> {
    let scene = Scene::start(start, Manner { bypasses: true, ..Manner::default() })?;
    idle_in(&scene, "bypass")
}

fn plan(start: &Start<'_>) -> Result<Outcome> {
    let scene = Scene::start(start, Manner { mode: Some("plan"), ..Manner::default() })?;
    ensure!(scene.terminal.screen().contains("plan mode"), "not in plan mode: {}", scene.terminal.screen());
    idle_in(&scene, "plan")
}

fn auto(start: &Start<'_>) -> Result<Outcome> {
    let scene = Scene::start(start, Manner { mode: Some("auto"), ..Manner::default() })?;
    ensure!(scene.terminal.screen().contains("auto mode"), "not in auto mode: {}", scene.terminal.screen());
    idle_in(&scene, "auto")
}

fn cleared(start: &Start<'_>) -> Result<Outcome> {
    let scene = Scene::start(start, Manner::default())?;
    scene.terminal.enter("/clear")?;
    // The client has another conversation at once; its registry says so a moment later.
    std::thread::sleep(PUSHED);
    idle_in(&scene, "cleared")
}

/// No server of ours runs: what comes when no tool follows any more is pushed by the hook of the turn's end.
fn stop(start: &Start<'_>) -> Result<Outcome> {
    let scene = Scene::start(start, Manner { hooks_alone: true, ..Manner::default() })?;
    ensure!(!scene.pushes(), "a server of ours runs");
    scene.terminal.enter("Please think: [hold 1]")?;
    wait_for("the model holds its answer back", SOON, || Ok(scene.model.is_holding(1)))?;
    let sent = send_each(&scene, "stop", 3)?;
    let released = Instant::now();
    scene.model.release(1)?;
    if !scene.has_socket()? {
        scene.await_rest()?;
        let from = let_in(&scene)?;
        return accounted(&scene, &sent, from);
    }
    let mut outcome = accounted(&scene, &sent, Some(released))?;
    outcome.note = "pushed by the hook of the turn's end, from the last answer on";
    Ok(outcome)
}

/// The client dies with mail in its queue and is started again: what it lost comes in the resumed conversation.
fn killed(start: &Start<'_>) -> Result<Outcome> {
    let mut scene = Scene::start(start, Manner::default())?;
    scene.terminal.enter("Please wait: [tool 1]")?;
    wait_for("the client hangs in a tool", SOON, || Ok(scene.model.is_holding(1)))?;
    let sent = send_each(&scene, "killed", 3)?;
    std::thread::sleep(PUSHED);
    scene.terminal.kill()?;
    scene.model.release(1)?;
    let resumed = Instant::now();
    scene.resume()?;
    if scene.pushes() {
        let mut outcome = accounted(&scene, &sent, Some(resumed))?;
        outcome.note = "from the start of the resumed session on";
        return Ok(outcome);
    }
    // Without push, mail comes with the first turn.
    comes_true(SOON, || Ok(PROMPTS.iter().any(|prompt| scene.terminal.screen().contains(prompt))))?;
    let from = let_in(&scene)?;
    accounted(&scene, &sent, from)
}

/// The client dies while its model has the mail and answers: in the resumed conversation the model has each once.
fn broken(start: &Start<'_>) -> Result<Outcome> {
    broken_in(Scene::start(start, Manner::default())?)
}

fn broken_hooks(start: &Start<'_>) -> Result<Outcome> {
    let scene = Scene::start(start, Manner { hooks_alone: true, ..Manner::default() })?;
    ensure!(!scene.pushes(), "a server of ours runs");
    broken_in(scene)
}

/// The same with mail that a hook gave behind a tool.
fn broken_tool(start: &Start<'_>) -> Result<Outcome> {
    let scene = Scene::start(start, Manner { hooks_alone: true, ..Manner::default() })?;
    ensure!(!scene.pushes(), "a server of ours runs");
    scene.terminal.enter("Please wait: [tool 2]")?;
    wait_for("the client hangs in a tool", SOON, || Ok(scene.model.is_holding(2)))?;
    let sent = send_broken(&scene)?;
    scene.model.release(2)?;
    killed_with(scene, &sent)
}

fn broken_in(scene: Scene) -> Result<Outcome> {
    let sent = send_broken(&scene)?;
    if !scene.pushes() {
        scene.terminal.enter("Anything new?")?;
    }
    killed_with(scene, &sent)
}

/// Mail with which the model takes its time.
fn send_broken(scene: &Scene) -> Result<Vec<Sent>> {
    let mut sent = vec![scene.send("broken letter 01, [hold 1] please note")?];
    sent.extend(send_each(scene, "another broken", 2)?);
    Ok(sent)
}

fn killed_with(mut scene: Scene, sent: &[Sent]) -> Result<Outcome> {
    wait_for("the model has the mail", SOON, || Ok(scene.model.is_holding(1)))?;
    // What was pushed in the turn is in the client's queue by then.
    std::thread::sleep(PUSHED);
    scene.terminal.kill()?;
    scene.model.release(1)?;
    scene.count_anew();
    scene.resume()?;
    comes_true(SOON, || Ok(PROMPTS.iter().any(|prompt| scene.terminal.screen().contains(prompt))))?;
    let from = Instant::now();
    scene.terminal.enter("Please go on.")?;
    let mut outcome = scene.account(sent, Some(from))?;
    outcome.note = "from the user's next words in the resumed session on";
    Ok(outcome)
}
