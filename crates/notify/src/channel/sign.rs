//! HMAC-SHA256 (RFC 2104).

use sha2::{Digest, Sha256};

const BLOCK: usize = 64;

/// The signature of `message`, in hexadecimal.
pub(super) fn sign(secret: &[u8], message: &[u8]) -> String {
    let mut key = [0_u8; BLOCK];
    if secret.len() > BLOCK {
        key[..32].copy_from_slice(&Sha256::digest(secret));
    } else {
        key[..secret.len()].copy_from_slice(secret);
    }
    let inner = Sha256::new().chain_update(key.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
    let outer = Sha256::new().chain_update(key.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize();
    crate::event::hex(&outer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_vectors_of_rfc_4231() {
        let rows: [(&[u8], &[u8], &str); 3] = [
            (&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ];
        for (secret, message, expected) in rows {
            assert_eq!(sign(secret, message), expected);
        }
    }
}
