//! Residences of members, as entries of their bucket: signed envelopes for all of the realm.

use atm_wire::Stamp;
use ed25519_dalek::{SigningKey, VerifyingKey};

use crate::engine::Identity;
use crate::envelope::codec::{self, Keys};
use crate::envelope::{Body, Envelope, Home, Refusal};
use crate::name::Machine;
use crate::protocol::homes::{MemberKey, Residence};
use crate::subject;
use crate::trust::Trust;

/// The key of a member's entry.
pub fn entry_of(member: &MemberKey) -> String {
    format!("{}.{}", subject::token(&member.team), subject::token(&member.name))
}

/// The member that an entry is about.
pub fn member_of(entry: &str) -> Option<MemberKey> {
    let (team, name) = entry.split_once('.')?;
    Some(MemberKey { team: subject::text(team)?, name: subject::text(name)? })
}

/// Says, signed, that a member is at home on this machine.
pub fn sign(
    me: &Identity,
    key: &SigningKey,
    member: &MemberKey,
    (epoch, former): (u64, &[Machine]),
    at: Stamp,
) -> Vec<u8> {
    let MemberKey { team, name } = member.clone();
    let body = Body::Home(Home { team, name, epoch, former: former.to_vec() });
    // Only sealing can fail.
    codec::encode(&me.announce(body, at), key, None).unwrap_or_default()
}

/// Those who may residence: the machines that are trusted here, and this one.
struct Residents<'a> {
    trust: &'a Trust,
    me: &'a Machine,
    own: VerifyingKey,
}

impl Keys for Residents<'_> {
    fn key_of(&self, machine: &Machine) -> Option<VerifyingKey> {
        if machine == self.me { Some(self.own) } else { self.trust.key_of(machine) }
    }
}

/// The residence in an entry, with its signed form; or why it is refused. Every machine speaks for itself alone.
pub fn read(
    bytes: &[u8],
    member: &MemberKey,
    me: &Identity,
    key: &SigningKey,
    trust: &Trust,
) -> Result<(Residence, String), Refusal> {
    let machines = Residents { trust, me: &me.machine, own: key.verifying_key() };
    let Envelope { header, body } = codec::check(bytes, &machines, &me.realm, &me.machine)?.open(key)?;
    let Body::Home(Home { team, name, epoch, former }) = body else {
        return Err(Refusal::Unreadable(format!("it is a {}", body.kind())));
    };
    if (&team, &name) != (&member.team, &member.name) {
        let (signer, claimed) = (header.from.to_string(), entry_of(member));
        return Err(Refusal::ForeignSender { signer, claimed });
    }
    let signed = String::from_utf8(bytes.to_vec()).map_err(|_| Refusal::Malformed)?;
    Ok((Residence { machine: header.from, epoch, at: header.at, former }, signed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(machine: &str) -> Identity {
        Identity { realm: "home".parse().unwrap(), machine: machine.parse().unwrap(), epoch: "e".into() }
    }

    fn member(name: &str) -> MemberKey {
        MemberKey { team: "v1.2".into(), name: name.into() }
    }

    #[test]
    fn entries_are_named_by_two_tokens() {
        assert_eq!(entry_of(&member("b.ob")), "v1=2E2.b=2Eob");
        assert_eq!(member_of("v1=2E2.b=2Eob"), Some(member("b.ob")));
        assert_eq!(member_of("alone"), None);
    }

    #[test]
    fn a_residence_is_of_its_signer_and_of_its_member_alone() {
        let (desk, laptop) = (SigningKey::from_bytes(&[1; 32]), SigningKey::from_bytes(&[2; 32]));
        let at = Stamp::from_millis(1_800_000_000_000);
        let signed = sign(&identity("desk"), &desk, &member("bob"), (3, &["hub".parse().unwrap()]), at);
        let mut trust = Trust::default();
        let read = |trust: &Trust, bytes: &[u8], name: &str| {
            read(bytes, &member(name), &identity("laptop"), &laptop, trust)
        };
        assert_eq!(read(&trust, &signed, "bob").unwrap_err().kind(), "untrusted");
        let public = crate::keys::public_text(&desk.verifying_key());
        trust.add("desk".parse().unwrap(), &public, false, at).unwrap();
        let (residence, text) = read(&trust, &signed, "bob").unwrap();
        assert_eq!(
            (residence.machine.as_str(), residence.epoch, residence.at, residence.former.len()),
            ("desk", 3, at, 1)
        );
        assert_eq!(text.as_bytes(), signed);
        assert_eq!(read(&trust, &signed, "eve").unwrap_err().kind(), "foreign-sender");
        let mut altered = signed.clone();
        *altered.last_mut().unwrap() ^= 1;
        assert_eq!(read(&trust, &altered, "bob").unwrap_err().kind(), "altered");
        let own = sign(&identity("laptop"), &laptop, &member("bob"), (1, &[]), at);
        assert_eq!(read(&trust, &own, "bob").unwrap().0.machine.as_str(), "laptop");
    }
}
