//! What lets machines in: certificates, nkeys, and the JWT of an operator. All made anew for each test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use atm_bridge::nats::setup::{Rights, rights};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use nkeys::KeyPair;
use serde_json::{Value, json};
use tempfile::TempDir;

/// An authority with a certificate for this host, and one for a client.
pub(crate) struct Authority {
    folder: TempDir,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let authority = Self { folder: tempfile::tempdir().unwrap() };
        authority.openssl("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout ca.key -out ca.pem -subj /CN=authority");
        fs::write(authority.path("server.ext"), "subjectAltName=DNS:localhost\n").unwrap();
        fs::write(authority.path("client.ext"), "extendedKeyUsage=clientAuth\n").unwrap();
        for name in ["server", "client"] {
            authority.openssl(&format!("req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {name}.key -out {name}.csr -subj /CN={name}"));
            authority.openssl(&format!("x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile {name}.ext -out {name}.pem"));
        }
        authority
    }

    fn openssl(&self, words: &str) {
        let output =
            Command::new("openssl").args(words.split(' ')).current_dir(self.folder.path()).output().unwrap();
        assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The part of a server's configuration.
    pub(crate) fn tls(&self, more: &str) -> String {
        let folder = self.folder.path().display();
        format!("tls {{ cert_file: \"{folder}/server.pem\", key_file: \"{folder}/server.key\" {more} }}")
    }

    pub(crate) fn words(&self, names: &[(&str, &str)]) -> Vec<String> {
        let words = names
            .iter()
            .flat_map(|(option, file)| [(*option).to_owned(), self.path(file).display().to_string()]);
        words.collect()
    }
}

/// The least rights of a machine in the realm.
pub(crate) fn rights_of(machine: &str) -> Rights {
    rights(&"home".parse().unwrap(), &machine.parse().unwrap())
}

/// An operator with a system account, and one account with `JetStream`.
pub(crate) struct Operator {
    account: KeyPair,
    pub(crate) configuration: String,
}

impl Operator {
    pub(crate) fn new() -> Self {
        let (operator, system, account) =
            (KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_account());
        let claims = |storage: i64| {
            json!({
                "limits": {
                    "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
                    "conn": -1, "leaf": -1, "mem_storage": storage, "disk_storage": storage, "streams": storage,
                    "consumer": storage,
                },
                "type": "account", "version": 2,
            })
        };
        let of_operator = json!({"type": "operator", "version": 2, "system_account": system.public_key()});
        let configuration = format!(
            "operator: {}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload {{\n  {}: {}\n  {}: {}\n}}\n",
            sign(&operator, &operator.public_key(), &of_operator),
            system.public_key(),
            system.public_key(),
            sign(&operator, &system.public_key(), &claims(0)),
            account.public_key(),
            sign(&operator, &account.public_key(), &claims(-1)),
        );
        Self { account, configuration }
    }

    /// The credentials of a user of the account; without rights, it may do everything.
    pub(crate) fn user(&self, folder: &Path, name: &str, rights: Option<Rights>) -> PathBuf {
        let user = KeyPair::new_user();
        let mut claims = json!({"subs": -1, "data": -1, "payload": -1, "type": "user", "version": 2});
        if let Some(Rights { publish, subscribe }) = rights {
            claims["pub"] = json!({ "allow": publish });
            claims["sub"] = json!({ "allow": subscribe });
        }
        let text = format!(
            "-----BEGIN NATS USER JWT-----\n{}\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
            sign(&self.account, &user.public_key(), &claims),
            user.seed().unwrap()
        );
        let path = folder.join(format!("{name}.creds"));
        fs::write(&path, text).unwrap();
        path
    }
}

/// A JWT as NATS writes them.
fn sign(issuer: &KeyPair, subject: &str, nats: &Value) -> String {
    let header = json!({"typ": "JWT", "alg": "ed25519-nkey"});
    let claims = json!({
        "jti": subject, "iat": 1_794_768_140, "iss": issuer.public_key(), "sub": subject, "name": "test", "nats": nats,
    });
    let signed = format!("{}.{}", BASE64.encode(header.to_string()), BASE64.encode(claims.to_string()));
    let signature = issuer.sign(signed.as_bytes()).unwrap();
    format!("{signed}.{}", BASE64.encode(signature))
}
