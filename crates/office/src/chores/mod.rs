//! What happens by the clock: retries, wake-ups, health checks.

pub mod health;
pub mod retry;
pub mod wake;
