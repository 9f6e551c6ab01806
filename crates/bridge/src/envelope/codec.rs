//! Envelopes as bytes.
//!
//! `atm1 MACHINE SIGNATURE\n` and then the signed bytes: a line of JSON with the header, and the body, which is JSON or
//! sealed. The signature covers exactly the bytes after the first line, under a prefix that no other use of the key has.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};
use serde_json::error::Category;

use super::seal::{Opener, SealError, Sealer};
use super::{Body, Envelope, Header, Refusal};
use crate::name::{Machine, Realm};

/// What begins an envelope of this version.
const MARK: &str = "atm1";
/// Put before what is signed, so that a signature for something else is none for an envelope.
const PURPOSE: &[u8] = b"atm bridge envelope, version 1\n";
/// The first line has a name and a signature.
const LONGEST_FIRST_LINE: usize = 256;
/// The header has names and numbers.
const LONGEST_HEADER: usize = 2048;
/// The largest envelope that is read, those from the object store included.
pub const LARGEST: usize = 64 << 20;
/// The largest envelope that is for all machines: an entry of a bucket, which every machine reads and remembers. Twenty thousand
/// members in an announcement have room, and a task with a long text.
pub const LARGEST_FOR_ALL: usize = 4 << 20;

/// The header as it is signed, and whether the body after it is sealed for its recipient.
#[derive(Serialize, Deserialize)]
struct SignedHeader(Header, bool);

/// An envelope whose signature is right, before its body was read.
#[derive(Debug)]
pub struct Checked {
    /// Who tells whom, and when.
    pub header: Header,
    sealed: bool,
    body: Vec<u8>,
}

/// The key of a machine, if it is trusted.
pub trait Keys {
    /// The key of this machine.
    fn key_of(&self, machine: &Machine) -> Option<VerifyingKey>;
}

/// Signs an envelope, and seals its body for the holder of `recipient`'s key if one is given.
pub fn encode(
    envelope: &Envelope,
    own: &SigningKey,
    recipient: Option<&VerifyingKey>,
) -> Result<Vec<u8>, SealError> {
    encode_by(&mut Sealer::default(), envelope, own, recipient)
}

/// The same for one of many.
pub fn encode_by(
    sealer: &mut Sealer,
    envelope: &Envelope,
    own: &SigningKey,
    recipient: Option<&VerifyingKey>,
) -> Result<Vec<u8>, SealError> {
    // Strings, numbers and lists: that cannot fail.
    let mut body = serde_json::to_vec(&envelope.body).unwrap_or_default();
    if let Some(recipient) = recipient {
        body = sealer.seal(recipient, &body)?;
    }
    let header = SignedHeader(envelope.header.clone(), recipient.is_some());
    let header = serde_json::to_vec(&header).unwrap_or_default();
    let signed = [&header, &b"\n"[..], &body].concat();
    let signature = own.sign(&[PURPOSE, &signed].concat());
    let first = format!("{MARK} {} {}\n", envelope.header.from, BASE64.encode(signature.to_bytes()));
    Ok([first.as_bytes(), &signed].concat())
}

/// Checks who signed these bytes and for whom. Nothing in them is looked at before the signature is right.
pub fn check(bytes: &[u8], keys: &impl Keys, realm: &Realm, own: &Machine) -> Result<Checked, Refusal> {
    if bytes.len() > LARGEST {
        return Err(Refusal::TooLarge(LARGEST));
    }
    let (first, signed) = cut_line(bytes, LONGEST_FIRST_LINE).ok_or(Refusal::Malformed)?;
    let first = std::str::from_utf8(first).map_err(|_| Refusal::Malformed)?;
    let mut words = first.split(' ');
    let mark = words.next().unwrap_or_default();
    if mark != MARK {
        let version = mark.strip_prefix("atm").and_then(|version| version.parse().ok());
        return Err(version.map_or(Refusal::Malformed, Refusal::Version));
    }
    let (Some(machine), Some(proof), None) = (words.next(), words.next(), words.next()) else {
        return Err(Refusal::Malformed);
    };
    let machine: Machine = machine.parse().map_err(|_| Refusal::Malformed)?;
    let proof = BASE64.decode(proof).map_err(|_| Refusal::Malformed)?;
    let signature = Signature::from_slice(&proof).map_err(|_| Refusal::Malformed)?;
    let key = keys.key_of(&machine).ok_or_else(|| Refusal::Untrusted(machine.to_string()))?;
    key.verify_strict(&[PURPOSE, signed].concat(), &signature).map_err(|_| Refusal::Altered)?;

    let (header, body) = cut_line(signed, LONGEST_HEADER).ok_or(Refusal::Malformed)?;
    let SignedHeader(header, sealed) = serde_json::from_slice(header).map_err(|_| Refusal::Malformed)?;
    if header.from != machine {
        return Err(Refusal::ForeignSender { signer: machine.to_string(), claimed: header.from.to_string() });
    }
    if &header.realm != realm {
        return Err(Refusal::OtherRealm(header.realm.to_string()));
    }
    if header.to.is_none() && bytes.len() > LARGEST_FOR_ALL {
        return Err(Refusal::TooLarge(LARGEST_FOR_ALL));
    }
    if let Some(other) = header.to.as_ref().filter(|to| *to != own) {
        return Err(Refusal::OtherMachine(other.to_string()));
    }
    Ok(Checked { header, sealed, body: body.to_vec() })
}

/// The machine that an envelope says it is from, before anything is checked.
pub fn says_from(bytes: &[u8]) -> Option<&str> {
    let (first, _) = cut_line(bytes, LONGEST_FIRST_LINE)?;
    std::str::from_utf8(first).ok()?.split(' ').nth(1)
}

/// Up to the first line end within `most` bytes, and what follows it.
fn cut_line(bytes: &[u8], most: usize) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().take(most).position(|&byte| byte == b'\n')?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

impl Checked {
    /// The envelope, its body opened with our key.
    pub fn open(self, own: &SigningKey) -> Result<Envelope, Refusal> {
        self.open_by(&mut Opener::default(), own)
    }

    /// The same for one of many.
    pub fn open_by(self, opener: &mut Opener, own: &SigningKey) -> Result<Envelope, Refusal> {
        let body = if self.sealed { opener.open(own, &self.body).ok_or(Refusal::Sealed)? } else { self.body };
        let body: Body = serde_json::from_slice(&body).map_err(|error| unreadable(&error))?;
        Ok(Envelope { header: self.header, body })
    }
}

/// What an error of a content says, which quotes it, and what may be said of it to everybody.
fn unreadable(error: &serde_json::Error) -> Refusal {
    let what = match error.classify() {
        Category::Data => "something else is expected",
        Category::Syntax => "it is no JSON",
        Category::Eof => "it ends too soon",
        Category::Io => "it cannot be read",
    };
    let place = format!("{what} at line {} column {}", error.line(), error.column());
    Refusal::Unreadable { place, why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use atm_wire::Stamp;

    use super::*;
    use crate::local::Letter;

    #[derive(Default)]
    struct Ring(BTreeMap<String, VerifyingKey>);

    impl Keys for Ring {
        fn key_of(&self, machine: &Machine) -> Option<VerifyingKey> {
            self.0.get(machine.as_str()).copied()
        }
    }

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_bytes(&[seed; 32])
    }

    fn ring() -> Ring {
        Ring(BTreeMap::from([
            ("laptop".into(), key(1).verifying_key()),
            ("eve".into(), key(3).verifying_key()),
        ]))
    }

    fn letter() -> Envelope {
        let letter = Letter {
            id: "0197".into(),
            team: "alpha".into(),
            to: "bob".into(),
            from: "ann".into(),
            from_lead: false,
            home: None,
            after: Some(3),
            letter: "{\"text\":\"hello\\n\"}".into(),
        };
        let header = Header {
            realm: "home".parse().unwrap(),
            from: "laptop".parse().unwrap(),
            to: Some("hub".parse().unwrap()),
            epoch: "e1".into(),
            n: 4,
            attempt: 1,
            at: Stamp::from_millis(1_800_000_000_000),
        };
        Envelope { header, body: Body::Letter(letter) }
    }

    fn read(bytes: &[u8]) -> Result<Envelope, Refusal> {
        let (realm, hub) = ("home".parse().unwrap(), "hub".parse().unwrap());
        check(bytes, &ring(), &realm, &hub)?.open(&key(2))
    }

    #[test]
    fn an_envelope_comes_back_as_it_was() {
        let plain = encode(&letter(), &key(1), None).unwrap();
        assert_eq!(read(&plain).unwrap(), letter());
        assert!(String::from_utf8(plain).unwrap().contains("hello"));
        let sealed = encode(&letter(), &key(1), Some(&key(2).verifying_key())).unwrap();
        assert_eq!(read(&sealed).unwrap(), letter());
        assert!(!String::from_utf8_lossy(&sealed).contains("hello"));
    }

    /// Whoever is trusted by one machine could have every machine of the realm parse and remember 64 MiB an entry.
    #[test]
    fn what_is_for_all_is_bounded_before_its_content_is_read() {
        let sized = |to: Option<&str>, length: usize| {
            let mut envelope = letter();
            envelope.header.to = to.map(|to| to.parse().unwrap());
            let Body::Letter(letter) = &mut envelope.body else { unreachable!() };
            letter.letter = "x".repeat(length);
            encode(&envelope, &key(1), None).unwrap()
        };
        assert!(read(&sized(None, LARGEST_FOR_ALL / 2)).is_ok());
        let refused = read(&sized(None, LARGEST_FOR_ALL)).err();
        assert_eq!(refused, Some(Refusal::TooLarge(LARGEST_FOR_ALL)));
        assert!(read(&sized(Some("hub"), LARGEST_FOR_ALL)).is_ok(), "a letter may be as large as it is");
    }

    /// The server could read of a sealed content what does not fit: the reason stands in a header.
    #[test]
    fn what_cannot_be_read_is_displayed_without_a_word_of_it() {
        let mut body = serde_json::to_value(&letter().body).unwrap();
        body["of"]["from_lead"] = "a secret".into();
        let error = serde_json::from_str::<Body>(&body.to_string()).unwrap_err();
        let refusal = unreadable(&error);
        assert!(!refusal.to_string().contains("secret"), "{refusal}");
        let Refusal::Unreadable { why, .. } = refusal else { panic!("{refusal}") };
        assert!(why.contains("a secret"), "{why}");
    }

    #[test]
    fn every_altered_byte_is_refused() {
        let bytes = encode(&letter(), &key(1), None).unwrap();
        for place in 0..bytes.len() {
            let mut altered = bytes.clone();
            altered[place] ^= 1;
            assert!(read(&altered).is_err(), "byte {place}");
        }
        for end in 0..bytes.len() {
            assert!(read(&bytes[..end]).is_err(), "cut at {end}");
        }
        assert_eq!(read(&[&bytes[..], b" "].concat()).unwrap_err(), Refusal::Altered);
    }

    #[test]
    fn an_unknown_key_is_refused_until_it_is_trusted() {
        let mut envelope = letter();
        envelope.header.from = "stranger".parse().unwrap();
        let bytes = encode(&envelope, &key(9), None).unwrap();
        assert_eq!(read(&bytes).unwrap_err(), Refusal::Untrusted("stranger".into()));
    }

    #[test]
    fn a_trusted_machine_does_not_speak_for_another() {
        let bytes = encode(&letter(), &key(3), None).unwrap();
        assert_eq!(read(&bytes).unwrap_err(), Refusal::Altered);
        // Signed with its own key and name on the outside, another name inside.
        let text = String::from_utf8(bytes).unwrap().replacen("atm1 laptop ", "atm1 eve ", 1);
        let refusal = Refusal::ForeignSender { signer: "eve".into(), claimed: "laptop".into() };
        assert_eq!(read(text.as_bytes()).unwrap_err(), refusal);
    }

    #[test]
    fn another_realm_machine_or_version_is_refused() {
        let mut envelope = letter();
        envelope.header.realm = "work".parse().unwrap();
        assert_eq!(
            read(&encode(&envelope, &key(1), None).unwrap()).unwrap_err(),
            Refusal::OtherRealm("work".into())
        );
        let mut envelope = letter();
        envelope.header.to = Some("desk".parse().unwrap());
        assert_eq!(
            read(&encode(&envelope, &key(1), None).unwrap()).unwrap_err(),
            Refusal::OtherMachine("desk".into())
        );
        assert_eq!(read(b"atm2 laptop xx\n{}").unwrap_err(), Refusal::Version(2));
        for garbage in
            [&b""[..], b"\n", b"atm1", b"atm1 laptop\n", b"atm1 laptop !! \n", b"\xff\xff\n", &[b'a'; 9000]]
        {
            assert_eq!(read(garbage).unwrap_err(), Refusal::Malformed);
        }
    }

    #[test]
    fn sealed_for_another_machine_or_of_an_unknown_kind_is_refused() {
        let bytes = encode(&letter(), &key(1), Some(&key(7).verifying_key())).unwrap();
        assert_eq!(read(&bytes).unwrap_err(), Refusal::Sealed);
        let signed = |body: &str| {
            let header = SignedHeader(letter().header, false);
            let signed = format!("{}\n{body}", serde_json::to_string(&header).unwrap());
            let signature = key(1).sign(&[PURPOSE, signed.as_bytes()].concat());
            format!("atm1 laptop {}\n{signed}", BASE64.encode(signature.to_bytes()))
        };
        for body in ["{}", "[]", "{\"kind\":\"run\",\"of\":\"rm\"}", "{\"kind\":\"letter\",\"of\":{}}"] {
            assert_eq!(read(signed(body).as_bytes()).unwrap_err().kind(), "unreadable", "{body}");
        }
    }
}
