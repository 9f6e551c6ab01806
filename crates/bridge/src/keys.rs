//! This machine's key: an ed25519 key in a file of its own, for its owner alone.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use atm_store::files::{read_small, replace_own};
use atm_store::{Sole, StoreError};
use atm_wire::backup::hex;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ed25519_dalek::{SigningKey, VerifyingKey};
use ring::rand::{SecureRandom, SystemRandom};

/// What begins the file.
const MARK: &str = "atm-bridge-key-1 ";
/// The file has a mark and a key.
const LARGEST: u64 = 256;

/// A key that cannot be read or made.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file is not what we wrote.
    #[error("{} is not a key of this program", .0.display())]
    NotAKey(PathBuf),
    /// Others may read the file.
    #[error("{} can be read by other users (mode {mode:o}); chmod 600 it, or remove it and trust the new key elsewhere", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The system gave no random numbers.
    #[error("the system gave no random numbers")]
    NoRandomness,
    /// Not a public key.
    #[error("{0:?} is not a public key: `atm bridge key` prints one")]
    NotPublic(String),
}

/// The key in this file; one is made where there is none.
pub fn load_or_create(path: &Path) -> Result<SigningKey, KeyError> {
    if let Some(key) = load(path)? {
        return Ok(key);
    }
    // Of two that start at once, one makes it.
    let _turn = Sole::hold(&lock_of(path))?;
    if let Some(key) = load(path)? {
        return Ok(key);
    }
    let mut seed = [0; 32];
    SystemRandom::new().fill(&mut seed).map_err(|_| KeyError::NoRandomness)?;
    replace_own(path, &format!("{MARK}{}\n", BASE64.encode(seed)))?;
    load(path)?.ok_or_else(|| KeyError::NotAKey(path.to_owned()))
}

/// The lock that is held while the key is made, or trust is changed.
pub(crate) fn lock_of(path: &Path) -> PathBuf {
    path.with_file_name("change.lock")
}

/// The key in this file, if there is one.
pub fn load(path: &Path) -> Result<Option<SigningKey>, KeyError> {
    let Some(file) = read_small(path, LARGEST)? else { return Ok(None) };
    if let Ok(found) = path.metadata() {
        let mode = found.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(KeyError::Exposed { path: path.to_owned(), mode });
        }
    }
    let seed = std::str::from_utf8(&file.bytes)
        .ok()
        .and_then(|text| text.strip_prefix(MARK))
        .and_then(|seed| BASE64.decode(seed.trim_end()).ok())
        .and_then(|seed| <[u8; 32]>::try_from(seed).ok())
        .ok_or_else(|| KeyError::NotAKey(path.to_owned()))?;
    Ok(Some(SigningKey::from_bytes(&seed)))
}

/// A public key as text: 64 hexadecimal digits, which no shell or command line takes for anything else.
pub fn public_text(key: &VerifyingKey) -> String {
    hex(key.as_bytes())
}

/// The public key in a text.
pub fn parse_public(text: &str) -> Result<VerifyingKey, KeyError> {
    let not_public = || KeyError::NotPublic(text.chars().take(80).collect());
    let digits = text.trim().as_bytes();
    let mut bytes = [0; 32];
    if digits.len() != 2 * bytes.len() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(not_public());
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        let pair = std::str::from_utf8(pair).map_err(|_| not_public())?;
        *byte = u8::from_str_radix(pair, 16).map_err(|_| not_public())?;
    }
    let key = VerifyingKey::from_bytes(&bytes).map_err(|_| not_public())?;
    // Everybody can sign for a key of small order.
    if key.is_weak() { Err(not_public()) } else { Ok(key) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Each of two first starts could show a key that the other one had replaced.
    #[test]
    fn of_many_that_make_a_key_at_once_all_have_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bridge").join("key");
        let made = std::thread::scope(|scope| {
            let makers: Vec<_> = (0..8).map(|_| scope.spawn(|| load_or_create(&path).unwrap())).collect();
            makers.into_iter().map(|maker| maker.join().unwrap().to_bytes()).collect::<Vec<_>>()
        });
        assert!(made.iter().all(|key| *key == load(&path).unwrap().unwrap().to_bytes()));
    }

    #[test]
    fn a_key_is_made_once_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bridge").join("key");
        let key = load_or_create(&path).unwrap();
        assert_eq!(load_or_create(&path).unwrap().to_bytes(), key.to_bytes());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_ne!(load_or_create(&folder.path().join("other")).unwrap().to_bytes(), key.to_bytes());
    }

    #[test]
    fn a_key_that_others_can_read_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        load_or_create(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(load_or_create(&path), Err(KeyError::Exposed { mode: 0o640, .. })));
    }

    #[test]
    fn a_file_that_is_no_key_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        fs::write(&path, "precious").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(matches!(load_or_create(&path), Err(KeyError::NotAKey(_))));
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }

    #[test]
    fn public_keys_are_one_word() {
        let key = SigningKey::from_bytes(&[5; 32]).verifying_key();
        let text = public_text(&key);
        assert!(!text.contains(char::is_whitespace));
        assert_eq!(parse_public(&text).unwrap(), key);
        assert_eq!(parse_public(&text.to_uppercase()).unwrap(), key);
        // The last ones are no point of the curve, and one that everybody can sign for.
        for wrong in ["", "x", "0a", &text[1..], &"+1".repeat(32), &"é".repeat(32), &"00".repeat(32)] {
            assert!(parse_public(wrong).is_err(), "{wrong}");
        }
    }
}
