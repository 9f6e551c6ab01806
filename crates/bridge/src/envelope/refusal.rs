//! Why an envelope is not accepted.

/// Why an envelope is not accepted. Nothing of a refused envelope is acted upon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not an envelope at all.
    #[error("it is not an envelope")]
    Malformed,
    /// A later version of envelopes.
    #[error("it has version {0}, which this bridge does not know")]
    Version(u32),
    /// No key of this machine is trusted.
    #[error("the key of {0} is not trusted here")]
    Untrusted(String),
    /// Not signed by the key that is trusted for this machine.
    #[error("it was altered, or signed by another key")]
    Altered,
    /// Signed by another machine than it is said to be from.
    #[error("it is signed by {signer} and says that it is from {claimed}")]
    ForeignSender {
        /// Who signed it.
        signer: String,
        /// Who it says it is from.
        claimed: String,
    },
    /// Of another realm.
    #[error("it belongs to realm {0}")]
    OtherRealm(String),
    /// For another machine.
    #[error("it is for {0}")]
    OtherMachine(String),
    /// Sealed with a key that is not ours.
    #[error("it is sealed for another key")]
    Sealed,
    /// Larger than an envelope may be.
    #[error("it is larger than {0} bytes")]
    TooLarge(usize),
    /// Signed and accepted as such, but its content cannot be read. What is displayed says where, and nothing of what is there: it
    /// may have been sealed.
    #[error("its content cannot be read: {place}")]
    Unreadable {
        /// What is wrong, and where.
        place: String,
        /// The same with words from the content.
        why: String,
    },
}

impl Refusal {
    /// Of a content of which this may be said to everybody.
    pub(crate) fn unreadable(why: &str) -> Self {
        Self::Unreadable { place: why.to_owned(), why: why.to_owned() }
    }

    /// One word for it, as it is counted.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Version(_) => "version",
            Self::Untrusted(_) => "untrusted",
            Self::Altered => "altered",
            Self::ForeignSender { .. } => "foreign-sender",
            Self::OtherRealm(_) => "other-realm",
            Self::OtherMachine(_) => "other-machine",
            Self::Sealed => "sealed",
            Self::TooLarge(_) => "too-large",
            Self::Unreadable { .. } => "unreadable",
        }
    }
}
