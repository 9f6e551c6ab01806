//! Residences of members, as entries of their bucket: signed envelopes for all of the realm.

use atm_office::office::USER;
use atm_wire::{MemberName, Stamp, TeamName};
use ed25519_dalek::{SigningKey, VerifyingKey};

use crate::engine::Identity;
use crate::envelope::codec::{self, Keys};
use crate::envelope::{Body, Envelope, Home, Refusal};
use crate::name::Machine;
use crate::protocol::homes::{Former, HIGHEST_EPOCH, MOST_FORMER, MemberKey, Residence, Resident, Slot};
use crate::subject;
use crate::trust::Trust;

/// The largest entry: names, numbers and former homes.
const LARGEST: usize = 16 << 10;
/// The highest epoch that is believed of an entry which cannot be checked: who goes above it leaves room for as many moves again.
const HIGHEST_CLAIM: u64 = HIGHEST_EPOCH / 2;

/// The key of a member's entry.
pub fn entry_of(member: &MemberKey) -> String {
    format!("{}.{}", subject::token(&member.team), subject::token(&member.name))
}

/// The member that an entry is about.
pub fn member_of(entry: &str) -> Option<MemberKey> {
    let (team, name) = entry.split_once('.')?;
    Some(MemberKey { team: subject::text(team)?, name: subject::text(name)? })
}

/// Says, signed, that a member is at home on this machine, or was until it was removed.
pub fn sign(
    me: &Identity,
    key: &SigningKey,
    member: &MemberKey,
    (epoch, resident, former): (u64, Resident, &[Former]),
    at: Stamp,
) -> Vec<u8> {
    let MemberKey { team, name } = member.clone();
    let body = Body::Home(Home { team, name, epoch, resident, former: former.to_vec() });
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
    if bytes.len() > LARGEST {
        return Err(Refusal::TooLarge(LARGEST));
    }
    let machines = Residents { trust, me: &me.machine, own: key.verifying_key() };
    let Envelope { header, body } = codec::check(bytes, &machines, &me.realm, &me.machine)?.open(key)?;
    let Body::Home(Home { team, name, epoch, resident, former }) = body else {
        return Err(Refusal::unreadable(&format!("it is a {}", body.kind())));
    };
    if (&team, &name) != (&member.team, &member.name) {
        let (signer, claimed) = (header.from.to_string(), entry_of(member));
        return Err(Refusal::ForeignSender { signer, claimed });
    }
    let is_member = TeamName::parse(&team).is_ok() && MemberName::parse(&name).is_ok() && name != USER;
    if !is_member || former.len() > MOST_FORMER || !(1..=HIGHEST_EPOCH).contains(&epoch) {
        return Err(Refusal::unreadable("no member has such a home"));
    }
    let signed = String::from_utf8(bytes.to_vec()).map_err(|_| Refusal::Malformed)?;
    Ok((Residence { machine: header.from, epoch, at: header.at, resident, former }, signed))
}

/// What an entry is to this machine, and why it was refused if it was.
pub fn look_at(
    bytes: &[u8],
    member: &MemberKey,
    me: &Identity,
    key: &SigningKey,
    trust: &Trust,
) -> (Slot, Option<Refusal>) {
    match read(bytes, member, me, key, trust) {
        Ok((residence, signed)) => (Slot::Residence(residence, signed), None),
        Err(refusal) => {
            let is_own = refusal == Refusal::Altered && codec::says_from(bytes) == Some(me.machine.as_str());
            (if is_own { Slot::FormerKey } else { Slot::Foreign }, Some(refusal))
        }
    }
}

/// The epoch that an entry claims whose signature cannot be checked here. Who takes its member over all the same goes above it, so that
/// machines which can check it do not put it back.
pub fn claimed_epoch(bytes: &[u8]) -> Option<u64> {
    let body = bytes.get(..bytes.len().min(LARGEST))?.splitn(3, |byte| *byte == b'\n').nth(2)?;
    match serde_json::from_slice(body).ok()? {
        Body::Home(Home { epoch, .. }) => (1..=HIGHEST_CLAIM).contains(&epoch).then_some(epoch),
        _ => None,
    }
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
        let hub = Former { machine: "hub".parse().unwrap(), resident: Resident::Joined(7) };
        let signed = sign(&identity("desk"), &desk, &member("bob"), (3, Resident::Nobody, &[hub]), at);
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
        let own = sign(&identity("laptop"), &laptop, &member("bob"), (1, Resident::Unknown, &[]), at);
        assert_eq!(read(&trust, &own, "bob").unwrap().0.machine.as_str(), "laptop");
    }

    #[test]
    fn what_no_member_can_have_is_refused() {
        let (desk, at) = (SigningKey::from_bytes(&[1; 32]), Stamp::from_millis(1_800_000_000_000));
        let mut trust = Trust::default();
        trust
            .add("desk".parse().unwrap(), &crate::keys::public_text(&desk.verifying_key()), false, at)
            .unwrap();
        let kind = |name: &str, epoch: u64, former: usize| {
            let former =
                vec![Former { machine: "hub".parse().unwrap(), resident: Resident::Unknown }; former];
            let said = (epoch, Resident::Unknown, former.as_slice());
            let signed = sign(&identity("desk"), &desk, &member(name), said, at);
            let laptop = SigningKey::from_bytes(&[2; 32]);
            let read = read(&signed, &member(name), &identity("laptop"), &laptop, &trust);
            read.map_or_else(|refusal| refusal.kind(), |_| "read")
        };
        assert_eq!(kind("bob", 2, 32), "read");
        assert_eq!([kind("../a", 2, 0), kind("user", 2, 0), kind("", 2, 0)], ["unreadable"; 3]);
        assert_eq!([kind("bob", 0, 0), kind("bob", u64::MAX, 0), kind("bob", 2, 33)], ["unreadable"; 3]);
        assert_eq!(
            [kind("bob", HIGHEST_EPOCH, 0), kind("bob", HIGHEST_EPOCH + 1, 0)],
            ["read", "unreadable"]
        );
        assert_eq!(kind("bob", 2, 30_000), "too-large");
    }

    #[test]
    fn our_own_from_before_our_key_was_replaced_is_told_from_strangers() {
        let (old, new) = (SigningKey::from_bytes(&[1; 32]), SigningKey::from_bytes(&[2; 32]));
        let (me, at) = (identity("laptop"), Stamp::from_millis(1_800_000_000_000));
        let look = |signed: &[u8]| look_at(signed, &member("bob"), &me, &new, &Trust::default());
        let said = (4, Resident::Unknown, &[][..]);
        let own = sign(&me, &old, &member("bob"), said, at);
        assert_eq!(look(&own), (Slot::FormerKey, Some(Refusal::Altered)));
        let strange = sign(&identity("eve"), &old, &member("bob"), said, at);
        assert_eq!(look(&strange).0, Slot::Foreign);
        assert_eq!(look(b"nonsense").0, Slot::Foreign);
        assert_eq!([&own[..], &strange, b"nonsense", b""].map(claimed_epoch), [Some(4), Some(4), None, None]);
        // Anybody who may write the bucket could have a member taken for the last time.
        let claimed = |epoch| claimed_epoch(&sign(&me, &old, &member("bob"), (epoch, said.1, said.2), at));
        let highest = [HIGHEST_CLAIM, HIGHEST_CLAIM + 1, HIGHEST_EPOCH - 1];
        assert_eq!(highest.map(claimed), [Some(HIGHEST_CLAIM), None, None]);
    }
}
