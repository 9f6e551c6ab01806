//! What a program says, read in a thread: a pipe that nobody empties would stop it, and one that its own children have does
//! not end with it.

use std::io::Read;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// One stream of a program.
#[derive(Debug)]
pub struct Ear {
    heard: Arc<Mutex<Vec<u8>>>,
    end: Receiver<()>,
}

impl Ear {
    /// Reads all that comes, and keeps at most so many bytes of it.
    pub fn on(stream: Option<impl Read + Send + 'static>, most: usize) -> Self {
        let heard = Arc::<Mutex<Vec<u8>>>::default();
        let (at_end, end) = mpsc::channel();
        let theirs = Arc::clone(&heard);
        let listen = move || {
            // Dropped at the end of the stream, which those who wait for it see.
            let _at_end = at_end;
            let Some(mut stream) = stream else { return };
            let mut bytes = [0; 4096];
            loop {
                match stream.read(&mut bytes) {
                    Ok(0) => return,
                    Ok(count) => {
                        let mut heard = theirs.lock().unwrap_or_else(PoisonError::into_inner);
                        let kept = count.min(most.saturating_sub(heard.len()));
                        heard.extend_from_slice(&bytes[..kept]);
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
            }
        };
        // Where the system has no thread, nothing is heard, and the program finds its pipe closed.
        let _ = thread::Builder::new().spawn(listen);
        Self { heard, end }
    }

    /// What was said, as soon as the stream has ended, or after this long: somebody else may have it.
    pub fn words(&self, within: Duration) -> Vec<u8> {
        let _ = self.end.recv_timeout(within);
        std::mem::take(&mut *self.heard.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_was_said_is_known_though_the_stream_goes_on() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let ear = Ear::on(Some(reader), 5);
        writer.write_all(b"hello, world").unwrap();
        let mut heard = Vec::new();
        while heard.is_empty() {
            heard = ear.words(Duration::from_millis(1));
        }
        assert_eq!(heard, b"hello");
        drop(writer);
        assert_eq!(ear.words(Duration::from_secs(30)), b"", "and it ended");
        assert_eq!(Ear::on(None::<std::io::Empty>, 5).words(Duration::from_secs(30)), b"");
    }
}
