//! Ids for people.

/// The end of an id: of a time-ordered id it is the part that differs. Commands accept it.
pub(crate) use atm_wire::brief::short_id as short;
