//! `atm web` through the binary: the API, and with the tools that `cargo xtask setup` installs, the page in a real browser.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod actions;
mod door;
mod events;
mod looking;
mod server;

#[cfg(feature = "test-tools")]
mod browser;
#[cfg(feature = "test-tools")]
mod hostile;
#[cfg(feature = "test-tools")]
mod live;
#[cfg(feature = "test-tools")]
mod looks;
#[cfg(feature = "test-tools")]
mod schema;

/// The binary under test.
const ATM: &str = env!("CARGO_BIN_EXE_atm");
