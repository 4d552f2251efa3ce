//! Environment variables: how their names compare, and which ones programs need.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::ffi::OsStr;

/// Variables that programs need on this system alone, by name. A trailing `*` matches any suffix.
pub use system::NEEDED;

/// Whether two names are those of the same variable. Windows ignores case.
pub fn is_same_name(one: &OsStr, other: &str) -> bool {
    system::is_same(one.as_encoded_bytes(), other.as_bytes())
}

/// Whether the name of a variable matches `pattern`, in which a trailing `*` matches any suffix.
pub fn matches(name: &OsStr, pattern: &str) -> bool {
    let name = name.as_encoded_bytes();
    match pattern.strip_suffix('*') {
        Some(start) => {
            let begins = name.get(..start.len());
            begins.is_some_and(|it| system::is_same(it, start.as_bytes()))
        }
        None => system::is_same(name, pattern.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_a_name_or_its_beginning() {
        for (name, pattern, expected) in [
            ("LC_ALL", "LC_*", true),
            ("LC", "LC_*", false),
            ("LANG", "LANG", true),
            ("LANGUAGE", "LANG", false),
        ] {
            assert_eq!(
                matches(name.as_ref(), pattern),
                expected,
                "{name} {pattern}"
            );
        }
        assert_eq!(is_same_name("Path".as_ref(), "PATH"), !system::HAS_CASE);
    }
}
