//! Permissions: the options and their layers, a chat's frontmatter, trust, protected
//! paths, and the rules that follow from them for each chat.
//!
//! Decides about no single call; `chat` does that with the rules made here. Knows no
//! editor, opens no connection, and starts no process.

pub mod frontmatter;
pub mod options;
pub mod project;
pub mod protected;
pub mod references;
pub mod remembered;
pub mod rules;
pub mod sandbox;
pub mod settings;
pub mod trust;

use sha2::{Digest, Sha256};

/// Returns the SHA-256 of some bytes as 64 hexadecimal digits, which identify texts that must
/// not be stored themselves.
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
