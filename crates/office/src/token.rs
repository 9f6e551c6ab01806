//! The tokens that programs need to call servers of ours on local ports.

use std::path::PathBuf;

use atm_store::Memo;
use atm_wire::backup::hex;
use atm_wire::{MemberName, TeamName};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::error::OfficeError;
use crate::office::Office;

/// Two random ids, without their hyphens: as long as a block of the hash.
const LENGTH: usize = 64;
/// The server that is bound to nobody. No member is called like that: it has no team.
const UNBOUND: &str = "user";
/// The sessions of the web page. No member is called like that either.
const SESSIONS: &str = "web sessions";

impl Office {
    /// The token of one server: a member's, in a team if that is settled, or the one that is bound to nobody. Each has
    /// another one, so that who may call bob's server may not call the lead's.
    ///
    /// They are derived from one secret of this state folder, made if there is none. It is kept, for its owner alone, so
    /// that what clients have in their settings stays good; who removes the file gets new tokens at the next start, and so
    /// does who had left it open to others.
    pub fn http_token(
        &self,
        member: Option<&MemberName>,
        team: Option<&TeamName>,
    ) -> Result<String, OfficeError> {
        let server = match member {
            Some(member) => format!("{member}@{}", team.map_or("", TeamName::as_str)),
            None => UNBOUND.to_owned(),
        };
        Ok(derive(&self.http_secret()?, &server))
    }

    /// The key with which the web page's sessions are sealed. It is of the same secret, so that they outlive a restart and end
    /// with the tokens.
    pub fn session_key(&self) -> Result<String, OfficeError> {
        Ok(derive(&self.http_secret()?, SESSIONS))
    }

    /// Writes the token of the server that is bound to nobody into a file of its own, for its owner alone: programs take it
    /// from there.
    pub fn leave_http_token(&self) -> Result<(String, PathBuf), OfficeError> {
        let token = self.http_token(None, None)?;
        let memo = Memo::of_web_token(&self.state, self.times);
        memo.remove_if_exposed()?;
        memo.update(|old| {
            let text = format!("{token}\n");
            Ok::<_, OfficeError>(((old != Some(&text)).then_some(text), ()))
        })?;
        memo.restrict()?;
        Ok((token, self.state.web_token()))
    }

    fn http_secret(&self) -> Result<String, OfficeError> {
        let memo = Memo::of_token(&self.state, self.times);
        memo.remove_if_exposed()?;
        let secret = memo.update(|old| {
            let known = old.map(str::trim).filter(|old| is_secret(old)).map(ToOwned::to_owned);
            let secret = known.clone().unwrap_or_else(new_secret);
            Ok::<_, OfficeError>((known.is_none().then(|| format!("{secret}\n")), secret))
        })?;
        memo.restrict()?;
        Ok(secret)
    }
}

/// HMAC-SHA-256 with a key of exactly one block.
pub fn derive(secret: &str, server: &str) -> String {
    let keyed = |pad: u8| {
        let block: Vec<u8> = secret.bytes().map(|byte| byte ^ pad).collect();
        Sha256::new_with_prefix(block)
    };
    let inner = keyed(0x36).chain_update(server).finalize();
    hex(&keyed(0x5c).chain_update(inner).finalize())
}

fn new_secret() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

fn is_secret(text: &str) -> bool {
    text.len() == LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use atm_store::{Root, State};

    use super::*;

    struct Scene {
        office: Office,
        state: State,
        _folder: tempfile::TempDir,
    }

    impl Scene {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let state = State::new(folder.path().join("state"));
            let office = Office::new(Root::new(folder.path().join("root")), state.clone());
            Self { office, state, _folder: folder }
        }

        fn token(&self, member: Option<&str>, team: Option<&str>) -> String {
            let member = member.map(|name| MemberName::parse(name).unwrap());
            let team = team.map(|name| TeamName::parse(name).unwrap());
            self.office.http_token(member.as_ref(), team.as_ref()).unwrap()
        }

        fn mode(&self) -> u32 {
            fs::metadata(self.state.token()).unwrap().permissions().mode() & 0o777
        }
    }

    #[test]
    fn it_is_kept_for_its_owner_alone_and_a_bad_one_is_replaced() {
        let scene = Scene::new();
        let first = scene.token(None, None);
        assert!(is_secret(&first));
        assert_eq!(scene.token(None, None), first);
        assert_eq!(scene.mode(), 0o600);
        fs::write(scene.state.token(), "short").unwrap();
        let second = scene.token(None, None);
        assert!(is_secret(&second) && second != first);
    }

    #[test]
    fn programs_find_the_token_in_a_file_for_its_owner_alone() {
        let scene = Scene::new();
        let (token, file) = scene.office.leave_http_token().unwrap();
        assert_eq!(token, scene.token(None, None));
        assert_eq!(fs::read_to_string(&file).unwrap().trim(), token);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_ne!(scene.office.session_key().unwrap(), token);
    }

    #[test]
    fn every_server_has_another_one_and_none_is_the_secret() {
        let scene = Scene::new();
        let mut tokens = vec![
            scene.token(None, None),
            scene.token(Some("bob"), None),
            scene.token(Some("bob"), Some("dev")),
            scene.token(Some("bob"), Some("ops")),
            scene.token(Some("team-lead"), Some("dev")),
            fs::read_to_string(scene.state.token()).unwrap().trim().to_owned(),
        ];
        assert_eq!(scene.token(Some("bob"), Some("dev")), tokens[2]);
        tokens.sort();
        tokens.dedup();
        assert_eq!(tokens.len(), 6);
    }

    #[test]
    fn a_secret_that_others_could_read_is_replaced() {
        let scene = Scene::new();
        let first = scene.token(None, None);
        for mode in [0o644, 0o640, 0o602] {
            fs::set_permissions(scene.state.token(), Permissions::from_mode(mode)).unwrap();
            assert_ne!(scene.token(None, None), first, "{mode:o}");
            assert_eq!(scene.mode(), 0o600, "{mode:o}");
        }
        // Where a group shares the folder, too.
        fs::remove_file(scene.state.token()).unwrap();
        fs::set_permissions(scene.state.token().parent().unwrap(), Permissions::from_mode(0o2750)).unwrap();
        let shared = scene.token(None, None);
        assert_eq!((scene.mode(), scene.token(None, None)), (0o600, shared));
    }

    #[test]
    fn what_is_no_file_is_refused() {
        let scene = Scene::new();
        scene.token(None, None);
        let file = scene.state.token();
        let elsewhere = file.with_file_name("elsewhere");
        fs::rename(&file, &elsewhere).unwrap();
        symlink(&elsewhere, &file).unwrap();
        let error = scene.office.http_token(None, None).unwrap_err();
        assert!(error.to_string().contains("no regular file"), "{error}");
    }

    /// RFC 4231 has no key of one block; this one was computed with another implementation.
    #[test]
    fn it_is_the_standard_function() {
        assert_eq!(
            derive(&"ab".repeat(32), "bob@dev"),
            "f680bcd2558fea80f7e2c32b9af3fbbb20298c6b4d3fac5babee0d2b9bcd1042"
        );
    }
}
