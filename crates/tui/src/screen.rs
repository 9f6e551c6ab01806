//! The terminal: taken over, and given back on every way out.

use std::io::{self, Stdout, Write, stdout};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

use crate::draw::draw;
use crate::state::State;

/// Whether the terminal is ours.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// Gives the terminal back as it was, if it is ours. May be called from any thread, and more than once.
pub fn restore() {
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        // Nobody can be told if that fails.
        let _ = disable_raw_mode();
        let _ = execute!(stdout(), DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, Show);
        let _ = stdout().flush();
    }
}

/// The terminal while it is ours; given back when this is dropped.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

impl Screen {
    pub(crate) fn open() -> io::Result<Self> {
        // What a panic says must be readable, and the shell behind us usable.
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                restore();
                before(info);
            }));
        });
        take()?;
        let screen = Terminal::new(CrosstermBackend::new(stdout()));
        screen.map(|terminal| Self { terminal }).inspect_err(|_| restore())
    }

    pub(crate) fn draw(
        &mut self,
        state: &State,
        clock: &dyn Fn(atm_wire::Stamp) -> String,
    ) -> io::Result<()> {
        self.terminal.draw(|frame| draw(state, clock, frame)).map(drop)
    }

    pub(crate) fn size(&self) -> io::Result<(u16, u16)> {
        self.terminal.size().map(|size| (size.width, size.height))
    }

    /// Gives the terminal to somebody else meanwhile.
    pub(crate) fn lend<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        restore();
        let done = work();
        take()?;
        self.terminal.clear()?;
        Ok(done)
    }
}

fn take() -> io::Result<()> {
    IS_TAKEN.store(true, Ordering::SeqCst);
    enable_raw_mode()
        .and_then(|()| execute!(stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste))
        .inspect_err(|_| restore())
}
