//! Sealing a body for the machine that it is for, so that the server cannot read it.
//!
//! X25519 with a key pair made for this body and the recipient's key (its ed25519 key, taken to the other form of the same
//! curve), then ChaCha20-Poly1305 under a key derived from the result. Each key is used once, so the nonce is constant. The
//! signature around it says who sealed it.

use curve25519_dalek::montgomery::MontgomeryPoint;
use ed25519_dalek::{SigningKey, VerifyingKey};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::{SecureRandom, SystemRandom};

const PURPOSE: &[u8] = b"atm bridge body, version 1";
const KEY_LEN: usize = 32;

/// The system gave no random numbers, or a key is not one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the body cannot be sealed")]
pub struct SealError;

/// The body, readable for the holder of `recipient`'s key alone: the public key made for it, then the encrypted bytes.
pub fn seal(recipient: &VerifyingKey, body: &[u8]) -> Result<Vec<u8>, SealError> {
    let mut secret = [0; KEY_LEN];
    SystemRandom::new().fill(&mut secret).map_err(|_| SealError)?;
    let made = MontgomeryPoint::mul_base_clamped(secret);
    let theirs = recipient.to_montgomery();
    let key = key_of(&theirs.mul_clamped(secret), &made, &theirs).ok_or(SealError)?;
    let mut sealed = body.to_vec();
    key.seal_in_place_append_tag(nonce(), Aad::from(PURPOSE), &mut sealed).map_err(|_| SealError)?;
    Ok([&made.as_bytes()[..], &sealed].concat())
}

/// What was sealed for this key; nothing if it was sealed for another one, or altered.
pub fn open(own: &SigningKey, sealed: &[u8]) -> Option<Vec<u8>> {
    let (made, sealed) = sealed.split_at_checked(KEY_LEN)?;
    let made = MontgomeryPoint(made.try_into().ok()?);
    let shared = made.mul_clamped(own.to_scalar_bytes());
    let key = key_of(&shared, &made, &own.verifying_key().to_montgomery())?;
    let mut body = sealed.to_vec();
    let length = key.open_in_place(nonce(), Aad::from(PURPOSE), &mut body).ok()?.len();
    body.truncate(length);
    Some(body)
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

/// Constant: no key is used twice.
fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_bytes(&[seed; 32])
    }

    #[test]
    fn only_the_recipient_opens_it() {
        let sealed = seal(&key(1).verifying_key(), b"please look").unwrap();
        assert_eq!(open(&key(1), &sealed).as_deref(), Some(&b"please look"[..]));
        assert_eq!(open(&key(2), &sealed), None);
        assert!(!sealed.windows(6).any(|bytes| bytes == b"please"));
    }

    #[test]
    fn the_same_body_is_never_sealed_the_same_way_twice() {
        let to = key(1).verifying_key();
        assert_ne!(seal(&to, b"x").unwrap(), seal(&to, b"x").unwrap());
    }

    #[test]
    fn every_altered_byte_is_noticed() {
        let sealed = seal(&key(1).verifying_key(), b"hi").unwrap();
        for place in 0..sealed.len() {
            let mut altered = sealed.clone();
            altered[place] ^= 4;
            assert_eq!(open(&key(1), &altered), None, "{place}");
        }
        assert_eq!(open(&key(1), &sealed[..31]), None);
        assert_eq!(open(&key(1), &[0; 64]), None);
        assert_eq!(open(&key(1), b""), None);
    }
}
