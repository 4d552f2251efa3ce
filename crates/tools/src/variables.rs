//! The environment variables of this process: those of its environment block, and those that
//! were removed from it.
//!
//! Other programs can read the block that a process was started with (`/proc/PID/environ`),
//! even without a sandbox, and the block never changes. So the program starts itself again with
//! a block without secrets, and receives the missing values in another way
//! ([`encode_variables`], [`add_variables`]). All code reads variables through this module.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::{LazyLock, OnceLock, PoisonError, RwLock};

use platform::paths;
use platform::variables::{NEEDED, matches};

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

/// Returns true if the variable is set but missing from the environment block.
pub fn is_added_variable(name: impl AsRef<OsStr>) -> bool {
    ADDED
        .get()
        .is_some_and(|added| added.contains_key(name.as_ref()))
}

/// Returns true if a variable contains the API key of a provider, judged by its name.
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

// The variables that commands written by a model get: those that programs need, and those that
// the user passes on by name. All others are withheld because any of them may be secret.

/// Variables that commands get, by purpose and separated by spaces. A trailing `*` matches any
/// suffix.
pub const PASSED: [(&str, &str); 6] = [
    (
        "the user and the place",
        "HOME HOSTNAME LOGNAME PATH PWD SHELL SHLVL TEMP TMP TMPDIR TZ USER XDG_CACHE_HOME XDG_CONFIG_DIRS \
     XDG_CONFIG_HOME XDG_DATA_DIRS XDG_DATA_HOME XDG_STATE_HOME",
    ),
    (
        "language and terminal",
        "COLORTERM COLUMNS LANG LANGUAGE LC_* LINES MANPATH TERM TERMINFO",
    ),
    (
        "certificates and proxies",
        "ALL_PROXY CURL_CA_BUNDLE FTP_PROXY GIT_SSL_CAINFO HTTPS_PROXY HTTP_PROXY NIX_SSL_CERT_FILE \
     NODE_EXTRA_CA_CERTS NO_PROXY REQUESTS_CA_BUNDLE SSL_CERT_DIR SSL_CERT_FILE all_proxy ftp_proxy http_proxy \
     https_proxy no_proxy",
    ),
    (
        "compilers and linkers",
        "AR AS CC CFLAGS CMAKE_* CPATH CPLUS_INCLUDE_PATH CPP CPPFLAGS CUDA_HOME CUDA_PATH CXX CXXFLAGS \
     C_INCLUDE_PATH DYLD_LIBRARY_PATH LD LDFLAGS LD_LIBRARY_PATH LIBRARY_PATH MAKEFLAGS PKG_CONFIG_PATH SDKROOT \
     SOURCE_DATE_EPOCH",
    ),
    (
        "toolchains",
        "ANDROID_HOME ANDROID_SDK_ROOT ASDF_DATA_DIR ASDF_DIR BUNDLE_PATH BUN_INSTALL CARGO_BUILD_* CARGO_HOME \
     CARGO_INCREMENTAL CARGO_NET_OFFLINE CARGO_PROFILE_* CARGO_TARGET_DIR CARGO_TERM_* COMPOSER_HOME \
     CONDA_DEFAULT_ENV CONDA_EXE CONDA_PREFIX DENO_DIR DENO_INSTALL DOTNET_ROOT EMSDK FLUTTER_ROOT GEM_HOME \
     GEM_PATH GHCUP_INSTALL_BASE_PREFIX GOBIN GOCACHE GOFLAGS GOMODCACHE GOPATH GOROOT GOTOOLCHAIN GRADLE_HOME \
     GRADLE_USER_HOME GUIX_PROFILE HOMEBREW_PREFIX IN_NIX_SHELL JAVA_HOME JDK_HOME JULIA_DEPOT_PATH KOTLIN_HOME \
     LUA_CPATH LUA_PATH M2_HOME MAVEN_HOME MISE_DATA_DIR NIX_PATH NIX_PROFILES NODE_ENV NODE_PATH NVM_BIN \
     NVM_DIR OPAM_SWITCH_PREFIX PERL5LIB PIPX_HOME PNPM_HOME POETRY_HOME PYENV_ROOT PYENV_VERSION \
     PYTHONDONTWRITEBYTECODE PYTHONHOME PYTHONPATH PYTHONUNBUFFERED RBENV_ROOT RUBYLIB RUSTC_WRAPPER \
     RUSTDOCFLAGS RUSTFLAGS RUSTUP_HOME RUSTUP_TOOLCHAIN RUST_BACKTRACE RUST_LOG RVM_PATH R_HOME SDKMAN_DIR \
     UV_CACHE_DIR VIRTUAL_ENV VOLTA_HOME ZIG_GLOBAL_CACHE_DIR",
    ),
    (
        "how a build runs",
        "CI DEBIAN_FRONTEND DEBUG FORCE_COLOR VERBOSE",
    ),
];

/// Names that the user passes on in addition to [`PASSED`].
static PASSED_BY_USER: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// Sets the names that the user passes on in addition to [`PASSED`]. A trailing `*` matches any
/// suffix.
pub fn pass_variables(names: Vec<String>) {
    *PASSED_BY_USER
        .write()
        .unwrap_or_else(PoisonError::into_inner) = names;
}

/// The names of this process's variables that commands don't get.
pub(crate) fn withheld() -> Vec<String> {
    let added = added();
    let withheld = variables().filter(|(name, value)| !is_passed(name, value, &added));
    let names = withheld.filter_map(|(name, _)| name.into_string().ok());
    names.collect()
}

/// The variables among `variables` that commands get.
pub(crate) fn passed(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    let added = added();
    variables.filter(move |(name, value)| is_passed(name, value, &added))
}

fn added() -> Vec<String> {
    PASSED_BY_USER
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

fn is_passed(name: &OsStr, value: &OsStr, added: &[String]) -> bool {
    /// Split once, because each command asks for each variable.
    static USUAL: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let names = PASSED.iter().flat_map(|(_, it)| it.split_whitespace());
        names.chain(NEEDED).collect()
    });
    let is = |pattern: &str| matches(name, pattern);
    let has_password = || has_password(&name.to_string_lossy(), &value.to_string_lossy());
    // A name that the user passes on counts whatever its value is.
    added.iter().any(|it| is(it)) || USUAL.iter().any(|it| is(it)) && !has_password()
}

/// Returns true if commands get the variable without the user naming it.
fn is_passed_by_default(name: &OsStr, value: &OsStr) -> bool {
    is_passed(name, value, &[])
}

/// Returns true if the value contains an address with a password, as proxies and package registries may
/// have.
fn has_password(name: &str, value: &str) -> bool {
    // Proxy addresses are also accepted without a scheme.
    // `NO_PROXY` lists hosts without passwords.
    let is_proxy = name.to_ascii_uppercase().ends_with("_PROXY") && !name.starts_with(['N', 'n']);
    if is_proxy && value.contains('@') {
        return true;
    }
    // A user name alone counts, too, because tokens are sent in its place.
    value.split("://").skip(1).any(|rest| {
        let host = rest.split(['/', '?', '#', ' ']).next();
        host.is_some_and(|host| host.contains('@'))
    })
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

    fn passes(name: &str, value: &str, added: &[&str]) -> bool {
        let added: Vec<String> = added.iter().map(|it| (*it).to_owned()).collect();
        is_passed(name.as_ref(), value.as_ref(), &added)
    }

    #[test]
    fn only_what_programs_need_is_passed_on() {
        for name in [
            "PATH",
            "HOME",
            "LC_ALL",
            "CARGO_HOME",
            "GOPATH",
            "VIRTUAL_ENV",
            "https_proxy",
        ] {
            assert!(passes(name, "x", &[]), "{name}");
        }
        for name in [
            "NVIM",
            "SSH_AUTH_SOCK",
            "ANTHROPIC_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "MY_SECRET",
            "DATABASE_URL",
            "CARGO_REGISTRIES_MINE_TOKEN",
            "PATHS",
            "XDG_RUNTIME_DIR",
            "ANYTHING",
        ] {
            assert!(!passes(name, "x", &[]), "{name}");
        }
    }

    #[test]
    fn the_user_passes_variables_on_by_name() {
        assert!(passes("GITHUB_TOKEN", "x", &["GITHUB_TOKEN"]));
        assert!(passes("AWS_REGION", "x", &["AWS_*"]));
        assert!(!passes("GITHUB_TOKEN_2", "x", &["GITHUB_TOKEN"]));
    }

    #[test]
    fn an_address_with_a_password_stays_here() {
        assert!(passes("HTTPS_PROXY", "http://proxy:3128", &[]));
        assert!(!passes("HTTPS_PROXY", "http://me:secret@proxy:3128", &[]));
        assert!(!passes("all_proxy", "me:secret@proxy:3128", &[]));
        assert!(!passes("GOFLAGS", "-x=https://token@host/", &[]));
        assert!(passes("NO_PROXY", "a@b,https://host/@scope", &[]));
        assert!(passes(
            "HTTPS_PROXY",
            "http://me:secret@proxy",
            &["HTTPS_PROXY"]
        ));
    }

    #[test]
    fn the_names_are_sorted_so_that_one_is_found() {
        for (what, names) in PASSED {
            assert!(names.split_whitespace().is_sorted(), "{what}");
        }
    }
}
