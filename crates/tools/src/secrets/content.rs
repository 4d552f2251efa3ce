//! Recognizes private keys by the first lines of a file, whatever its name is, and files with the
//! names of keys that have only certificates or public keys.
//!
//! Sources: RFC 7468, openssl-genpkey(1), ssh-keygen(1), age-keygen(1), PuTTY's "PPK file format".

use std::fs::File;
use std::io::Read;
use std::path::Path;

use platform::files::FileStatus;

/// Bytes that are read of a file that may be a key, and of one whose name says so: bundles of
/// certificates are long, and a key often follows its certificates.
const MOST: [u64; 2] = [4 * 1024, 1024 * 1024];

/// Returns true if a file begins with a private key.
pub(super) fn is_key(path: &Path, status: &FileStatus) -> bool {
    read(path, status, MOST[0]).is_some_and(|text| begins_with_key(&text))
}

/// Returns true if a file with the name of a key has certificates or public keys, and no private
/// key.
pub(super) fn is_public(path: &Path, status: &FileStatus) -> bool {
    status.size < MOST[1] && read(path, status, MOST[1]).is_some_and(|text| has_no_key(&text))
}

fn read(path: &Path, status: &FileStatus, most: u64) -> Option<Vec<u8>> {
    // Opening anything else could wait, or have effects.
    let file = status.is_file().then(|| File::open(path).ok())??;
    let mut text = Vec::new();
    file.take(most).read_to_end(&mut text).ok()?;
    Some(text)
}

fn begins_with_key(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    // In source code and documentation, a key does not come first. Comments precede one of age.
    let mut lines = text.trim_ascii_start().split(|it| *it == b'\n');
    let first = lines.find(|line| !line.starts_with(b"# "));
    first.is_some_and(is_start_of_key)
}

fn has_no_key(text: &[u8]) -> bool {
    let mut lines = text.split(|it| *it == b'\n');
    memchr::memmem::find(text, b"-----BEGIN ").is_some() && !lines.any(is_start_of_key)
}

fn is_start_of_key(line: &[u8]) -> bool {
    line.starts_with(b"-----BEGIN ") && memchr::memmem::find(line, b"PRIVATE KEY").is_some()
        || line.starts_with(b"AGE-SECRET-KEY-")
        || line.starts_with(b"PuTTY-User-Key-File-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_key_is_recognized_and_certificates_are_public() {
        let cert = "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n";
        for key in [
            "-----BEGIN PRIVATE KEY-----\nMII\n",
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMII\n",
            "\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3\n",
            "\u{feff}-----BEGIN PGP PRIVATE KEY BLOCK-----\n",
            "PuTTY-User-Key-File-3: ssh-ed25519\n",
            "# created: 2026-11-26T00:00:00Z\n# public key: age1x\nAGE-SECRET-KEY-1X\n",
        ] {
            assert!(begins_with_key(key.as_bytes()), "{key}");
            assert!(!has_no_key(
                format!("{cert}{}", key.trim_start_matches(['\u{feff}', '\n'])).as_bytes()
            ));
        }
        for other in [
            "let key = \"-----BEGIN PRIVATE KEY-----\";",
            "# created: now\n",
            "",
            cert,
        ] {
            assert!(!begins_with_key(other.as_bytes()), "{other}");
        }
        for public in [cert, "# Root\n-----BEGIN PUBLIC KEY-----\nMII\n"] {
            assert!(has_no_key(public.as_bytes()));
        }
        assert!(!has_no_key(b"0123"));
    }
}
