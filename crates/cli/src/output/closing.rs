//! Noticing that nobody reads any more, also while there is nothing to write.

use std::io;
use std::thread;

use atm_store::watch::Stop;
use rustix::event::{PollFd, PollFlags, poll};

/// Stops when the reader of stdout closes its end. Only a pipe reports that; a file or a terminal never does.
pub(crate) fn stop_with_reader() -> Stop {
    let stop = Stop::default();
    let told = stop.clone();
    // Without it, the next line that cannot be written ends the command.
    let _ = thread::Builder::new().name("stdout".to_owned()).spawn(move || {
        let stdout = io::stdout();
        loop {
            let mut asked = [PollFd::new(&stdout, PollFlags::empty())];
            match poll(&mut asked, None) {
                Ok(_) if asked[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) => break told.stop(),
                Err(rustix::io::Errno::INTR) => {}
                // Something else about it that never ends.
                Ok(_) | Err(_) => break,
            }
        }
    });
    stop
}
