//! Tests of the bridge's library: the simulation of its protocol.

mod sim;
