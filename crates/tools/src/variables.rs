//! The environment variables of this process: those of its environment block, and those that
//! were removed from it.
//!
//! Other programs can read the block that a process was started with (`/proc/PID/environ`),
//! even without a sandbox, and the block never changes. So the program starts itself again with
//! a block without secrets, and receives the missing values in another way
//! ([`encode_variables`], [`add_variables`]). All code reads variables through this module.

mod passed;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::OnceLock;

use platform::paths;

use passed::is_passed_by_default;
pub use passed::{PASSED, pass_variables};
pub(crate) use passed::{passed, withheld};

/// Variables that stay in the block besides those that every command gets: the loader, the
/// allocator, the C library, `clap`, and other libraries read them directly.
const READ_BY_LIBRARIES: [&str; 14] = [
    "ASAN_OPTIONS",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "DYLD_*",
    "FLEMMA_DEBUG",
    "FLEMMA_LOG",
    "GLIBC_TUNABLES",
    "LD_*",
    "LLVM_PROFILE_FILE",
    "LOCALDOMAIN",
    "MALLOC_*",
    "NO_COLOR",
    "RES_OPTIONS",
    "TOKIO_WORKER_THREADS",
];

/// Variables that are missing from the environment block.
static ADDED: OnceLock<BTreeMap<OsString, OsString>> = OnceLock::new();

/// The value of a variable, if it is set and valid UTF-8.
pub fn variable(name: &str) -> Option<String> {
    variable_os(name)?.into_string().ok()
}

/// The value of a variable, if it is set.
pub fn variable_os(name: impl AsRef<OsStr>) -> Option<OsString> {
    let added = ADDED.get().and_then(|added| added.get(name.as_ref()));
    added.cloned().or_else(|| std::env::var_os(name))
}

/// All variables with their values.
pub fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    let added = ADDED.get();
    // An added value takes precedence, as in `variable_os`.
    let is_added = move |name: &OsString| added.is_some_and(|it| it.contains_key(name));
    let block = std::env::vars_os().filter(move |(name, _)| !is_added(name));
    let added = added.into_iter().flatten();
    block.chain(added.map(|(name, value)| (name.clone(), value.clone())))
}

/// Whether the variable is set but missing from the environment block.
pub fn is_added_variable(name: impl AsRef<OsStr>) -> bool {
    ADDED
        .get()
        .is_some_and(|added| added.contains_key(name.as_ref()))
}

/// Whether a variable contains the API key of a provider, judged by its name.
pub fn is_provider_key(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.ends_with("_API_KEY") || name == "VERTEX_AI_ACCESS_TOKEN"
}

/// Variables of the environment block that may be secret: all except those that every command
/// gets and those that libraries read.
pub fn secret_variables() -> Vec<(OsString, OsString)> {
    let variables = std::env::vars_os();
    variables
        .filter(|(name, value)| may_be_secret(name, value))
        .collect()
}

fn may_be_secret(name: &OsStr, value: &OsStr) -> bool {
    let shown = name.to_string_lossy();
    let read_by_libraries =
        READ_BY_LIBRARIES
            .iter()
            .any(|pattern| match pattern.strip_suffix('*') {
                Some(start) => shown.starts_with(start),
                None => shown == *pattern,
            });
    !read_by_libraries && !is_passed_by_default(name, value)
}

/// Encodes variables like an environment block: `NAME=value`, each followed by a NUL.
pub fn encode_variables(variables: &[(OsString, OsString)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in variables {
        bytes.extend_from_slice(&paths::bytes(name));
        bytes.push(b'=');
        bytes.extend_from_slice(&paths::bytes(value));
        bytes.push(0);
    }
    bytes
}

/// Adds variables encoded by [`encode_variables`]. Must be called at the start of the program;
/// only the first call has an effect.
pub fn add_variables(encoded: &[u8]) {
    let _ = ADDED.set(decode(encoded));
}

fn decode(encoded: &[u8]) -> BTreeMap<OsString, OsString> {
    let entries = encoded.split(|byte| *byte == 0);
    let entries = entries.filter_map(|entry| {
        // A name may start with `=`, as in the standard library.
        let end = entry.iter().skip(1).position(|byte| *byte == b'=')? + 1;
        let (name, value) = (&entry[..end], &entry[end + 1..]);
        Some((
            paths::from_bytes(name.to_vec()),
            paths::from_bytes(value.to_vec()),
        ))
    });
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_secret_is_taken_out_of_the_block() {
        let is_secret = |name: &str, value: &str| may_be_secret(name.as_ref(), value.as_ref());
        for name in [
            "ANTHROPIC_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "FLEMMA_MCP_TOKEN",
            "GITHUB_TOKEN",
            "MY_OWN_THING",
            "SSH_AUTH_SOCK",
        ] {
            assert!(is_secret(name, "x"), "{name}");
        }
        for name in ["HOME", "LC_ALL", "LD_PRELOAD", "MALLOC_ARENA_MAX", "PATH"] {
            assert!(!is_secret(name, "x"), "{name}");
        }
        assert!(!is_secret("https_proxy", "http://proxy:3128"));
        assert!(is_secret("https_proxy", "http://me:word@proxy:3128"));
        assert!(is_secret("HTTPS_PROXY", "me:word@proxy:3128"));
    }

    #[test]
    fn variables_arrive_as_they_were_written() {
        let given = [
            ("EMPTY", &b""[..]),
            ("LINES", b"one\ntwo=2\n"),
            ("NOT_UTF8", b"\xff\xfe"),
            ("=ODD", b"="),
        ];
        let given: Vec<_> = given
            .iter()
            .map(|(name, value)| (name.into(), paths::from_bytes(value.to_vec())))
            .collect();
        let arrived = decode(&encode_variables(&given));
        assert_eq!(arrived, given.into_iter().collect());
    }
}
