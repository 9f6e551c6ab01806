//! Sealing a body for the machine that it is for, so that the server cannot read it.
//!
//! X25519 with a key pair made for the purpose and the recipient's key (its ed25519 key, taken to the other form of the same
//! curve), then ChaCha20-Poly1305 under a key derived from the result. A key pair serves many bodies for one recipient, since making
//! one costs more than all else that is done to a short letter: bodies are numbered, and the number is the nonce. The signature
//! around it says who sealed it.

use std::collections::HashMap;

use curve25519_dalek::montgomery::MontgomeryPoint;
use ed25519_dalek::{SigningKey, VerifyingKey};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::{SecureRandom, SystemRandom};

const PURPOSE: &[u8] = b"atm bridge body, version 1";
const KEY_LEN: usize = 32;
const NUMBER_LEN: usize = size_of::<u64>();
/// Bodies that are sealed with one key pair.
const MOST_BODIES: u64 = 4_096;
/// Keys that are kept to open more of the same.
const MOST_KEYS: usize = 256;

/// The system gave no random numbers, or a key is not one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the body cannot be sealed")]
pub struct SealError;

/// Seals bodies.
#[derive(Debug, Default)]
pub struct Sealer(HashMap<[u8; KEY_LEN], Sealing>);

/// A key pair for one recipient.
#[derive(Debug)]
struct Sealing {
    made: MontgomeryPoint,
    key: LessSafeKey,
    /// How many bodies were sealed with it.
    count: u64,
}

impl Sealing {
    fn new(recipient: &VerifyingKey) -> Result<Self, SealError> {
        let mut secret = [0; KEY_LEN];
        SystemRandom::new().fill(&mut secret).map_err(|_| SealError)?;
        let made = MontgomeryPoint::mul_base_clamped(secret);
        let theirs = recipient.to_montgomery();
        let key = key_of(&theirs.mul_clamped(secret), &made, &theirs).ok_or(SealError)?;
        Ok(Self { made, key, count: 0 })
    }
}

impl Sealer {
    /// The body, readable for the holder of `recipient`'s key alone: the public key made for it, its number, then the encrypted
    /// bytes.
    pub fn seal(&mut self, recipient: &VerifyingKey, body: &[u8]) -> Result<Vec<u8>, SealError> {
        let known = self.0.get(recipient.as_bytes()).is_some_and(|sealing| sealing.count < MOST_BODIES);
        if !known {
            self.0.insert(recipient.to_bytes(), Sealing::new(recipient)?);
        }
        let sealing = self.0.get_mut(recipient.as_bytes()).ok_or(SealError)?;
        let number = sealing.count.to_be_bytes();
        // Before it is used: no number is used twice, whatever fails.
        sealing.count += 1;
        let mut sealed = body.to_vec();
        let aad = Aad::from(PURPOSE);
        sealing.key.seal_in_place_append_tag(nonce(number), aad, &mut sealed).map_err(|_| SealError)?;
        Ok([&sealing.made.as_bytes()[..], &number, &sealed].concat())
    }
}

/// Opens bodies.
#[derive(Debug, Default)]
pub struct Opener(HashMap<[u8; KEY_LEN], LessSafeKey>);

impl Opener {
    /// What was sealed for this key, which is the same each time; nothing if it was sealed for another one, or altered.
    pub fn open(&mut self, own: &SigningKey, sealed: &[u8]) -> Option<Vec<u8>> {
        let (made, sealed) = sealed.split_first_chunk::<KEY_LEN>()?;
        let (number, sealed) = sealed.split_first_chunk::<NUMBER_LEN>()?;
        if !self.0.contains_key(made) {
            if self.0.len() >= MOST_KEYS {
                self.0.clear();
            }
            let point = MontgomeryPoint(*made);
            let shared = point.mul_clamped(own.to_scalar_bytes());
            self.0.insert(*made, key_of(&shared, &point, &own.verifying_key().to_montgomery())?);
        }
        let mut body = sealed.to_vec();
        let key = self.0.get(made)?;
        let length = key.open_in_place(nonce(*number), Aad::from(PURPOSE), &mut body).ok()?.len();
        body.truncate(length);
        Some(body)
    }
}

fn key_of(
    shared: &MontgomeryPoint,
    made: &MontgomeryPoint,
    recipient: &MontgomeryPoint,
) -> Option<LessSafeKey> {
    // A point of small order gives a secret that everybody knows.
    if shared.as_bytes().iter().all(|&byte| byte == 0) {
        return None;
    }
    let salt = Salt::new(HKDF_SHA256, &[&made.as_bytes()[..], recipient.as_bytes()].concat());
    let extracted = salt.extract(shared.as_bytes());
    let key = extracted.expand(&[PURPOSE], &CHACHA20_POLY1305).ok()?;
    Some(LessSafeKey::new(UnboundKey::from(key)))
}

/// The number of a body: each is used once with a key.
fn nonce(number: [u8; NUMBER_LEN]) -> Nonce {
    let mut bytes = [0; NONCE_LEN];
    bytes[NONCE_LEN - NUMBER_LEN..].copy_from_slice(&number);
    Nonce::assume_unique_for_key(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_bytes(&[seed; 32])
    }

    fn seal(recipient: &VerifyingKey, body: &[u8]) -> Vec<u8> {
        Sealer::default().seal(recipient, body).unwrap()
    }

    fn open(own: &SigningKey, sealed: &[u8]) -> Option<Vec<u8>> {
        Opener::default().open(own, sealed)
    }

    #[test]
    fn only_the_recipient_opens_it() {
        let sealed = seal(&key(1).verifying_key(), b"please look");
        assert_eq!(open(&key(1), &sealed).as_deref(), Some(&b"please look"[..]));
        assert_eq!(open(&key(2), &sealed), None);
        assert!(!sealed.windows(6).any(|bytes| bytes == b"please"));
    }

    #[test]
    fn the_same_body_is_never_sealed_the_same_way_twice() {
        let to = key(1).verifying_key();
        assert_ne!(seal(&to, b"x"), seal(&to, b"x"));
        let mut sealer = Sealer::default();
        let all: std::collections::HashSet<_> =
            (0..2 * MOST_BODIES + 2).map(|_| sealer.seal(&to, b"x").unwrap()).collect();
        assert_eq!(all.len() as u64, 2 * MOST_BODIES + 2);
        // A key pair serves so many, and not more.
        let pairs: std::collections::HashSet<_> = all.iter().map(|sealed| &sealed[..KEY_LEN]).collect();
        assert_eq!(pairs.len(), 3);
    }

    #[test]
    fn many_are_opened_in_any_order() {
        let (mut sealer, mut opener) = (Sealer::default(), Opener::default());
        let bodies: Vec<Vec<u8>> = (0..40_u8).map(|number| vec![number; 3]).collect();
        let all: Vec<Vec<u8>> =
            bodies.iter().map(|body| sealer.seal(&key(1).verifying_key(), body).unwrap()).collect();
        for (one, body) in all.iter().zip(&bodies).rev() {
            assert_eq!(opener.open(&key(1), one).as_ref(), Some(body));
        }
    }

    #[test]
    fn every_altered_byte_is_noticed() {
        let sealed = seal(&key(1).verifying_key(), b"hi");
        for place in 0..sealed.len() {
            let mut altered = sealed.clone();
            altered[place] ^= 4;
            assert_eq!(open(&key(1), &altered), None, "{place}");
        }
        assert_eq!(open(&key(1), &sealed[..39]), None);
        assert_eq!(open(&key(1), &[0; 64]), None);
        assert_eq!(open(&key(1), b""), None);
    }
}
