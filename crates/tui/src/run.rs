//! The loop: keys and answers come in, the state changes, effects are carried out elsewhere, the screen is drawn.

use std::cell::Cell;
use std::ffi::OsString;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use atm_store::watch::Stop;
use crossterm::event::{self, Event as Input, KeyEventKind, MouseButton, MouseEventKind};

use crate::event::{Act, Effect, Event, Load, Trouble};
use crate::screen::Screen;
use crate::settings::Settings;
use crate::state::State;
use crate::update::{begin, update};
use crate::{live, worker};

/// How often ages on the screen are brought up to date.
const TICK: Duration = Duration::from_secs(1);
/// After this time the thread that reads keys looks whether the terminal is lent.
const LOOK_UP: Duration = Duration::from_millis(150);
/// So many events are taken before the screen is drawn again.
const AT_ONCE: usize = 256;
/// How long letters that are under way may take at the end.
const LAST_DEEDS: Duration = Duration::from_secs(5);

/// Why the UI could not go on.
#[derive(Debug, thiserror::Error)]
pub enum UiError {
    /// The terminal cannot be used.
    #[error("the terminal cannot be used: {0}")]
    Terminal(#[from] io::Error),
    /// A part of it panicked; the panic said why.
    #[error("a part of the terminal UI failed")]
    Panicked,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The person left.
    Left,
    /// The process was told to stop.
    Stopped,
}

/// Shows the UI until the person leaves, or the office's waits end.
#[cfg_attr(debug_assertions, expect(clippy::missing_panics_doc, reason = "a test asks for that panic"))]
pub fn run(settings: Settings) -> Result<Ended, UiError> {
    let mut screen = Screen::open()?;
    let now = settings.office.now();
    let mut state =
        State::new(settings.me.clone(), settings.team.clone(), settings.theme, now, screen.size()?);
    // The first screen is there before anything is looked up.
    screen.draw(&state, &*settings.clock)?;
    #[cfg(debug_assertions)]
    assert!(!settings.panics, "a test wants this panic");
    let machine = Machine::start(settings)?;
    let ended = machine.serve(&mut screen, &mut state);
    machine.stop.stop();
    ended
}

/// The threads, and how to talk to them.
struct Machine {
    settings: Arc<Settings>,
    events: Receiver<Event>,
    told: Sender<Event>,
    loads: Sender<Load>,
    deeds: Sender<Act>,
    /// Letters that were handed to the thread that sends, and are not answered.
    under_way: Cell<usize>,
    lent: Arc<Lent>,
    stop: Stop,
    has_panicked: Arc<AtomicBool>,
}

/// What a thread does: with the settings, telling what comes of it.
type Work = Box<dyn FnOnce(&Settings, &Sender<Event>) + Send>;

/// Whether somebody else reads from the terminal.
#[derive(Default)]
struct Lent {
    /// Whether it is wanted, and whether our reader lets it be.
    is: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Machine {
    fn start(settings: Settings) -> io::Result<Self> {
        let settings = Arc::new(settings);
        let (told, events) = channel();
        let (loads, wanted) = channel();
        let (deeds, to_do) = channel();
        let (stop, lent) = (Stop::default(), Arc::new(Lent::default()));
        let has_panicked = Arc::new(AtomicBool::new(false));
        let begin = |name: &str, work: Work| {
            let (settings, told) = (Arc::clone(&settings), told.clone());
            let has_panicked = Arc::clone(&has_panicked);
            let guarded = move || {
                // The panic hook has said why; the loop ends.
                if catch_unwind(AssertUnwindSafe(|| work(&settings, &told))).is_err() {
                    has_panicked.store(true, Ordering::SeqCst);
                    let _ = told.send(Event::Over);
                }
            };
            thread::Builder::new().name(name.to_owned()).spawn(guarded).map(drop)
        };
        begin("ui-loads", Box::new(move |settings, told| worker::load(settings, &wanted, told)))?;
        begin("ui-deeds", Box::new(move |settings, told| worker::act(settings, &to_do, told)))?;
        let until = stop.clone();
        begin("ui-live", Box::new(move |settings, told| live::follow(settings, &until, told)))?;
        let ends = stop.clone();
        begin("ui-end", Box::new(move |settings, told| live::end(&settings.office, &ends, told)))?;
        let reads = Arc::clone(&lent);
        begin("ui-keys", Box::new(move |_, told| read_keys(&reads, told)))?;
        let under_way = Cell::default();
        Ok(Self { settings, events, told, loads, deeds, under_way, lent, stop, has_panicked })
    }

    fn serve(&self, screen: &mut Screen, state: &mut State) -> Result<Ended, UiError> {
        let mut effects = begin(state);
        let mut ticked = Instant::now();
        loop {
            for effect in effects.drain(..) {
                if effect == Effect::Quit {
                    self.finish(state);
                    return Ok(Ended::Left);
                }
                self.carry_out(effect, screen)?;
            }
            screen.draw(state, &*self.settings.clock)?;
            let first = match self.events.recv_timeout(TICK.saturating_sub(ticked.elapsed())) {
                Ok(event) => Some(event),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Err(UiError::Panicked),
            };
            if ticked.elapsed() >= TICK {
                ticked = Instant::now();
                effects.extend(update(state, Event::Tick(self.settings.office.now())));
            }
            for event in first.into_iter().chain(self.events.try_iter().take(AT_ONCE)) {
                match event {
                    Event::Over if self.has_panicked.load(Ordering::SeqCst) => return Err(UiError::Panicked),
                    Event::Over => {
                        self.finish(state);
                        return Ok(Ended::Stopped);
                    }
                    Event::Done(..) => self.under_way.set(self.under_way.get().saturating_sub(1)),
                    _ => {}
                }
                effects.extend(update(state, event));
            }
        }
    }

    fn carry_out(&self, effect: Effect, screen: &mut Screen) -> Result<(), UiError> {
        match effect {
            // If nobody takes it, its thread has panicked, and the loop is about to end.
            Effect::Load(load) => drop(self.loads.send(load)),
            Effect::Do(act) => {
                self.under_way.set(self.under_way.get() + 1);
                drop(self.deeds.send(act));
            }
            Effect::Edit(text) => {
                let edited = self.lend(screen, || edit(&self.settings, &text))?;
                drop(self.told.send(Event::Edited(edited)));
            }
            Effect::Tmux(args, is_inside) => {
                let shown = self.lend(screen, || attach(&args, is_inside))?;
                if let Err(trouble) = shown {
                    drop(self.told.send(Event::Edited(Err(trouble))));
                }
            }
            Effect::Quit => {}
        }
        Ok(())
    }

    /// Gives the terminal to another program, while our reader leaves it alone.
    fn lend<T>(&self, screen: &mut Screen, work: impl FnOnce() -> T) -> Result<T, UiError> {
        self.lent.ask();
        let done = screen.lend(work);
        self.lent.take_back();
        let (width, height) = screen.size()?;
        drop(self.told.send(Event::Resize(width, height)));
        Ok(done?)
    }

    /// Waits for letters that are being sent: what is accepted would be written later, but its sender wants to know.
    fn finish(&self, state: &mut State) {
        let until = Instant::now() + LAST_DEEDS;
        while self.under_way.get() > 0 {
            let Ok(event) = self.events.recv_timeout(until.saturating_duration_since(Instant::now())) else {
                return;
            };
            if let Event::Done(..) = event {
                self.under_way.set(self.under_way.get() - 1);
                update(state, event);
            }
        }
    }
}

impl Lent {
    fn lock(&self) -> std::sync::MutexGuard<'_, (bool, bool)> {
        self.is.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until our reader leaves the terminal alone; it looks up now and then.
    fn ask(&self) {
        let mut is = self.lock();
        is.0 = true;
        let until = Instant::now() + 10 * LOOK_UP;
        while !is.1 && Instant::now() < until {
            (is, _) = self.changed.wait_timeout(is, LOOK_UP).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn take_back(&self) {
        self.lock().0 = false;
        self.changed.notify_all();
    }

    /// For the reader: waits for as long as the terminal is somebody else's.
    fn leave_alone(&self) {
        let mut is = self.lock();
        while is.0 {
            is.1 = true;
            self.changed.notify_all();
            is = self.changed.wait(is).unwrap_or_else(PoisonError::into_inner);
        }
        is.1 = false;
    }
}

/// Reads keys and the mouse, until nobody listens or the terminal is gone.
fn read_keys(lent: &Lent, told: &Sender<Event>) {
    loop {
        lent.leave_alone();
        let input = match event::poll(LOOK_UP) {
            Ok(false) => continue,
            Ok(true) => event::read(),
            Err(error) => Err(error),
        };
        let Ok(input) = input else {
            let _ = told.send(Event::Over);
            return;
        };
        if let Some(event) = meaning(&input)
            && told.send(event).is_err()
        {
            return;
        }
    }
}

/// What an input means; nothing for what we have no use for.
fn meaning(input: &Input) -> Option<Event> {
    match input {
        Input::Key(key) if key.kind != KeyEventKind::Release => Some(Event::Key((*key).into())),
        Input::Paste(text) => Some(Event::Paste(text.clone())),
        Input::Resize(width, height) => Some(Event::Resize(*width, *height)),
        Input::Mouse(mouse) => match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => Some(Event::Click(mouse.column, mouse.row)),
            MouseEventKind::ScrollDown => Some(Event::Wheel(mouse.column, mouse.row, true)),
            MouseEventKind::ScrollUp => Some(Event::Wheel(mouse.column, mouse.row, false)),
            _ => None,
        },
        _ => None,
    }
}

/// Lets the person write in its own editor.
fn edit(settings: &Settings, text: &str) -> Result<String, Trouble> {
    let failed =
        |what: &str, error: &dyn std::fmt::Display| Trouble { what: format!("{what}: {error}"), hint: None };
    let Some(editor) = &settings.editor else {
        let hint = Some("set EDITOR, like `export EDITOR=vim`".to_owned());
        return Err(Trouble { what: "no editor is set".to_owned(), hint });
    };
    let mut file = tempfile::Builder::new()
        .prefix("letter-")
        .suffix(".txt")
        .tempfile_in(&settings.scratch)
        .map_err(|error| failed("cannot make a file for the editor", &error))?;
    file.write_all(text.as_bytes()).map_err(|error| failed("cannot write the editor's file", &error))?;
    // As a shell would: an editor's command may have arguments.
    let script = format!("{editor} \"$1\"");
    let ended = Command::new("sh").args(["-c", &script, "sh"]).arg(file.path()).status();
    match ended {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(failed("the editor failed, the letter is as it was", &status)),
        Err(error) => return Err(failed("cannot run the editor", &error)),
    }
    std::fs::read_to_string(file.path()).map_err(|error| failed("cannot read what the editor wrote", &error))
}

/// Shows a member's pane: tmux has the terminal until the person detaches.
fn attach(args: &[OsString], is_inside: bool) -> Result<(), Trouble> {
    let mut tmux = Command::new("tmux");
    tmux.args(args);
    if !is_inside {
        // tmux refuses to be attached within another server as long as this says that it is.
        tmux.env_remove("TMUX");
    }
    let trouble = |what: String| Err(Trouble { what, hint: None });
    match tmux.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => trouble(format!("tmux: {status}")),
        Err(error) => trouble(format!("cannot run tmux: {error}")),
    }
}
