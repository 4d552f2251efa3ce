//! Environment variables: how their names compare, and which ones programs need.

use std::ffi::OsStr;

/// Variables that programs need on this system alone, by name. A trailing `*` matches any suffix.
/// None on Unix.
#[cfg(unix)]
pub const NEEDED: [&str; 0] = [];
/// Variables that programs need on this system alone, by name. A trailing `*` matches any suffix.
/// They are folders and properties of the system, without which many programs don't start.
#[cfg(windows)]
pub const NEEDED: [&str; 23] = [
    "ALLUSERSPROFILE",
    "APPDATA",
    "COMPUTERNAME",
    "COMSPEC",
    "CommonProgram*",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "MSYSTEM",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATHEXT",
    "PROCESSOR_*",
    "PSModulePath",
    "PUBLIC",
    "ProgramData",
    "ProgramFiles*",
    "ProgramW6432",
    "SystemDrive",
    "SystemRoot",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// Returns true if two names are those of the same variable. Windows ignores case.
pub fn is_same_name(one: &OsStr, other: &str) -> bool {
    is_same(one.as_encoded_bytes(), other.as_bytes())
}

/// Returns true if the name of a variable matches `pattern`, in which a trailing `*` matches any suffix.
pub fn matches(name: &OsStr, pattern: &str) -> bool {
    let name = name.as_encoded_bytes();
    match pattern.strip_suffix('*') {
        Some(start) => {
            let begins = name.get(..start.len());
            begins.is_some_and(|it| is_same(it, start.as_bytes()))
        }
        None => is_same(name, pattern.as_bytes()),
    }
}

fn is_same(one: &[u8], other: &[u8]) -> bool {
    if cfg!(windows) {
        one.eq_ignore_ascii_case(other)
    } else {
        one == other
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
        assert_eq!(is_same_name("Path".as_ref(), "PATH"), cfg!(windows));
    }
}
