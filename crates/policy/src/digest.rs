//! SHA-256 digests in hexadecimal, which identify texts that must not be stored themselves.

use sha2::{Digest, Sha256};

/// Returns the SHA-256 of some bytes as 64 hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_digest_that_everybody_computes() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256(b""), empty);
    }
}
