//! The token that programs need to call a server of ours on a local port.

use atm_store::Memo;
use uuid::Uuid;

use crate::error::OfficeError;
use crate::office::Office;

/// Two random ids, without their hyphens.
const LENGTH: usize = 64;

impl Office {
    /// The token of this state folder, made if there is none. It is kept, for its owner alone, so that what clients have
    /// in their settings stays good; who removes the file gets a new one at the next start.
    pub fn http_token(&self) -> Result<String, OfficeError> {
        Memo::of_token(&self.state, self.times).update(|old| {
            let known = old.map(str::trim).filter(|old| is_token(old)).map(ToOwned::to_owned);
            let token = known.clone().unwrap_or_else(new_token);
            Ok((known.is_none().then(|| format!("{token}\n")), token))
        })
    }
}

fn new_token() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

fn is_token(text: &str) -> bool {
    text.len() == LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use atm_store::{Root, State};

    use super::*;

    #[test]
    fn it_is_kept_for_its_owner_alone_and_a_bad_one_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::new(folder.path().join("state"));
        let office = Office::new(Root::new(folder.path().join("root")), state.clone());
        let first = office.http_token().unwrap();
        assert!(is_token(&first));
        assert_eq!(office.http_token().unwrap(), first);
        let mode = fs::metadata(state.token()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::write(state.token(), "short").unwrap();
        let second = office.http_token().unwrap();
        assert!(is_token(&second) && second != first);
    }
}
