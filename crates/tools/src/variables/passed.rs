//! The variables that commands written by a model get: those that programs need, and those that
//! the user passes on by name. All others are withheld because any of them may be secret.

use std::ffi::{OsStr, OsString};
use std::sync::{PoisonError, RwLock};

use platform::variables::{NEEDED, matches};

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
static ADDED: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// Sets the names that the user passes on in addition to [`PASSED`]. A trailing `*` matches any
/// suffix.
pub fn pass_variables(names: Vec<String>) {
    *ADDED.write().unwrap_or_else(PoisonError::into_inner) = names;
}

/// The names of this process's variables that commands don't get.
pub(crate) fn withheld() -> Vec<String> {
    let added = added();
    let withheld = super::variables().filter(|(name, value)| !is_passed(name, value, &added));
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
    ADDED.read().unwrap_or_else(PoisonError::into_inner).clone()
}

fn is_passed(name: &OsStr, value: &OsStr, added: &[String]) -> bool {
    let is = |pattern: &str| matches(name, pattern);
    let usual = PASSED
        .iter()
        .flat_map(|(_, names)| names.split_whitespace());
    let mut usual = usual.chain(NEEDED);
    let has_password = || has_password(&name.to_string_lossy(), &value.to_string_lossy());
    // A name that the user passes on counts whatever its value is.
    added.iter().any(|it| is(it)) || usual.any(is) && !has_password()
}

/// Whether commands get the variable without the user naming it.
pub(super) fn is_passed_by_default(name: &OsStr, value: &OsStr) -> bool {
    is_passed(name, value, &[])
}

/// Whether the value contains an address with a password, as proxies and package registries may
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
