//! Names of secret files, which are the defaults of the programs that use them.

mod named;

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use super::SecretKind;
use crate::names::folded;

use SecretKind::{Credentials, Environment, History, Key, KeyStore, Process};
use named::NAMED;

/// Names of public files in secret folders such as `~/.ssh` and `~/.gnupg`.
const PUBLIC: &[&str] = &[
    "known_hosts",
    "known_hosts.old",
    "authorized_keys",
    "pubring.kbx",
    "pubring.gpg",
    "trustdb.gpg",
    "gpg.conf",
];

/// Folders whose subfolders are home folders.
const HOMES: &[&str] = &["home", "users"];

/// Suffixes of key stores and private keys.
const ENDINGS: &[(&str, SecretKind)] = &[
    (".kdbx", KeyStore),
    (".kdb", KeyStore),
    (".jks", KeyStore),
    (".keystore", KeyStore),
    (".p12", KeyStore),
    (".pfx", KeyStore),
    // What OpenSSL, TLS servers, Rails, and cloud consoles name private keys. `public` knows those
    // that are not. Sources, of November 2026: openssl-genpkey(1), "Ruby on Rails Guides: Securing
    // Rails Applications", and the names that AWS and GitHub Apps give to downloads.
    (".key", Key),
    (".pem", Key),
    (".agekey", Key),
    (".ppk", Key),
    ("_rsa", Key),
    ("_dsa", Key),
    ("_ecdsa", Key),
    ("_ed25519", Key),
];

/// Names that files with credentials have in projects too, and what such names end with.
const IN_PROJECTS: &[&str] = &[
    // Sources, all of November 2026: npmrc(5), direnv(1), htpasswd(1) and htdigest(1) of Apache,
    // Firebase's "Add the Admin SDK to your server", Google's "Create and delete service account
    // keys" and "Obtain OAuth 2.0 credentials", Terraform's "Sensitive data in state".
    ".npmrc",
    ".htpasswd",
    ".htdigest",
    "service-account.json",
    "service_account.json",
    "serviceaccount.json",
    "serviceaccountkey.json",
    "service-account-key.json",
    "service_account_key.json",
    "client_secret.json",
    ".tfstate",
    ".tfstate.backup",
];

/// Prefixes of private keys. Names that end in `.pub` are public.
const KEYS: &[&str] = &[
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_xmss",
    "privkey",
    "ssh_host_",
];

/// Suffixes of `.env` files that contain no real values.
const SAMPLES: &[&str] = &[
    "example", "sample", "template", "dist", "defaults", "schema",
];

/// Files that are secret only directly in a home folder. Elsewhere they belong to a project.
const DIRECTLY_IN_HOME: &[&str] = &[".yarnrc.yml", ".condarc"];

/// Secret files and folders of the system.
pub(super) const IN_SYSTEM: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/krb5.keytab",
    // It has the passwords of wireless networks.
    "/etc/netplan",
    "/etc/NetworkManager/system-connections",
    "/etc/wireguard",
    "/etc/letsencrypt",
    "/etc/kubernetes",
    "/etc/rancher",
    "/var/lib/flatpak/secrets",
    // Kubernetes and Docker mount secrets in these two.
    "/var/run/secrets",
    "/run/secrets",
];

/// Variables that move a listed path, and its default below the home folder.
pub(super) const MOVED: &[(&str, &str)] = &[
    ("XDG_CACHE_HOME", ".cache"),
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("AWS_CONFIG_FILE", ".aws/config"),
    ("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"),
    ("AZURE_CONFIG_DIR", ".azure"),
    ("CARGO_HOME", ".cargo"),
    ("CLOUDSDK_CONFIG", ".config/gcloud"),
    ("DOCKER_CONFIG", ".docker"),
    ("GH_CONFIG_DIR", ".config/gh"),
    ("GNUPGHOME", ".gnupg"),
    ("GOOGLE_APPLICATION_CREDENTIALS", ".config/gcloud/key.json"),
    ("HISTFILE", ".bash_history"),
    ("HF_HOME", ".cache/huggingface"),
    ("KUBECONFIG", ".kube/config"),
    ("NETRC", ".netrc"),
    ("NPM_CONFIG_USERCONFIG", ".npmrc"),
    ("PASSWORD_STORE_DIR", ".password-store"),
    ("PGPASSFILE", ".pgpass"),
    ("XAUTHORITY", ".xauthority"),
];

/// Secret entries of a process below `/proc/PID`.
const OF_A_PROCESS: &[&str] = &["environ", "mem", "auxv", "fd", "map_files"];

/// The kind of secret that the names in this absolute path indicate.
pub(super) fn kind(path: &Path, home: Option<&Path>) -> Option<SecretKind> {
    let names = folded_names(path);
    let (last, above) = names.split_last()?;
    // Checked first: `~/.ssh/known_hosts` is in a secret folder and contains no secret.
    if is_public(last) {
        return None;
    }
    // Undo, swap, and backup files of Vim and Neovim have the path of their file as a name, with
    // `%` between its parts (options 'undodir', 'directory', and 'backupdir').
    if last.contains('%') {
        let file = format!("/{}", last.replace('%', "/"));
        return kind(Path::new(&file), home);
    }
    let home = home.map(folded_names);
    let is_home = |above: &[String]| {
        home.as_deref().is_some_and(|home| home == above)
            || matches!(above, [first, _] if HOMES.contains(&first.as_str()))
            || matches!(above, [only] if only == "root")
    };
    system(path, &names)
        .or_else(|| named(&names, is_home))
        .or_else(|| file(last))
        .or_else(|| {
            let is_one = DIRECTLY_IN_HOME.contains(&last.as_str()) && is_home(above);
            is_one.then_some(Credentials)
        })
}

/// The folded names of an absolute path, without a drive.
fn folded_names(path: &Path) -> Vec<String> {
    let names = path
        .components()
        .filter(|it| matches!(it, Component::Normal(_)));
    names.map(folded).collect()
}

/// Whether a file with this folded name is public wherever it is.
pub(super) fn is_public(name: &str) -> bool {
    PUBLIC.contains(&name) || name.ends_with(".pub")
}

/// Whether a path that ends in this folded name can be secret in a folder that is not.
pub(super) fn may_be_secret(name: &str) -> bool {
    // Built once, because a scan asks about the name of every entry.
    static LAST: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        let named = NAMED.iter().map(|(listed, _)| *listed);
        let paths = named.chain(IN_SYSTEM.iter().copied());
        let last = paths.map(|it| it.rsplit('/').next().unwrap_or(it));
        let others = DIRECTLY_IN_HOME.iter().chain(OF_A_PROCESS).copied();
        last.chain(others).collect()
    });
    LAST.contains(name) || name.contains('%') || file(name).is_some()
}

fn system(path: &Path, names: &[String]) -> Option<SecretKind> {
    if IN_SYSTEM.iter().any(|it| path.starts_with(it)) {
        return Some(Credentials);
    }
    let is_process = names.first().is_some_and(|it| it == "proc");
    // At any depth, because `/proc/PID/task/TID` has the same entries.
    let shows = names.iter().any(|it| OF_A_PROCESS.contains(&it.as_str()));
    (is_process && shows).then_some(Process)
}

/// The names of an entry of [`NAMED`].
type Listed = (Vec<&'static str>, SecretKind);

/// [`NAMED`] by the first name of each.
static BY_FIRST: LazyLock<HashMap<&str, Vec<Listed>>> = LazyLock::new(|| {
    let mut by_first: HashMap<_, Vec<_>> = HashMap::new();
    for (listed, kind) in NAMED {
        let parts: Vec<&str> = listed.split('/').collect();
        by_first.entry(parts[0]).or_default().push((parts, *kind));
    }
    by_first
});

fn named(names: &[String], is_home: impl Fn(&[String]) -> bool) -> Option<SecretKind> {
    names.iter().enumerate().find_map(|(at, name)| {
        let (above, rest) = names.split_at(at);
        let mut listed = BY_FIRST.get(name.as_str())?.iter();
        let found = listed.find(|(parts, _)| {
            let is_there = rest.len() >= parts.len() && rest.iter().zip(parts).all(|(a, b)| a == b);
            is_there && (name.starts_with('.') || is_home(above))
        });
        found.map(|(_, kind)| *kind)
    })
}

fn file(name: &str) -> Option<SecretKind> {
    if name.ends_with(".shada") {
        return Some(History);
    }
    // An editor's undo and swap files, such as `.id_rsa.un~` and `.id_rsa.swo`.
    let inner = name.strip_suffix(".un~").or_else(|| {
        let (inner, ending) = name.rsplit_once('.')?;
        let is_swap = matches!(ending.as_bytes(), [b's', b'a'..=b'w', b'a'..=b'z']);
        is_swap.then_some(inner)
    });
    if let Some(inner) = inner
        && let Some(kind) = file(inner).or_else(|| file(inner.strip_prefix('.')?))
    {
        return Some(kind);
    }
    // Backups such as `key.p12.bak` and `id_rsa~` have the same content.
    let plain = [".bak", ".old", ".orig", ".save", "~"]
        .iter()
        .find_map(|it| name.strip_suffix(it))
        .unwrap_or(name);
    if is_env(plain) {
        return Some(Environment);
    }
    if IN_PROJECTS.iter().any(|it| plain.ends_with(it)) {
        return Some(Credentials);
    }
    // `id_rsa.rs` is source code.
    let extension = plain.rsplit_once('.').map(|(_, it)| it);
    // Keys are stored under these four endings.
    let is_text = extension.is_some_and(|it| !["pem", "key", "txt", "der"].contains(&it));
    if !is_text && KEYS.iter().any(|it| plain.starts_with(it)) {
        return Some(Key);
    }
    let found = ENDINGS.iter().find(|(ending, _)| plain.ends_with(ending));
    found.map(|(_, kind)| *kind)
}

/// `.env`, `.env.local`, `production.env` and the like.
fn is_env(name: &str) -> bool {
    let rest = name.strip_prefix(".env");
    // direnv's `.envrc` has the same variables.
    let rest = rest.map(|it| it.strip_prefix("rc").unwrap_or(it));
    let is_one = rest.is_some_and(|it| it.is_empty() || it.starts_with(['.', '-', '_', '~']));
    let is_sample = SAMPLES.iter().any(|it| name.ends_with(it));
    (is_one || name.ends_with(".env")) && !is_sample
}

/// The listed paths below `place`, which replaces the default path `usual`.
pub(super) fn moved(place: &Path, usual: &str) -> Vec<PathBuf> {
    let names = NAMED.iter().map(|(name, _)| *name);
    let names = names.chain(DIRECTLY_IN_HOME.iter().copied());
    let below = names.filter_map(|name| Path::new(name).strip_prefix(usual).ok());
    let inner = below.map(|rest| {
        if rest.as_os_str().is_empty() {
            place.to_owned()
        } else {
            place.join(rest)
        }
    });
    // `place` itself, because a variable may move a part of a listed folder such as `.aws`.
    inner.chain([place.to_owned()]).collect()
}

/// The listed paths below a home folder.
pub(super) fn in_home(home: &Path) -> impl Iterator<Item = PathBuf> {
    let listed = NAMED.iter().map(|(name, _)| *name);
    listed
        .chain(DIRECTLY_IN_HOME.iter().copied())
        .map(|name| home.join(name))
}
