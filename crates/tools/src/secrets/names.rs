//! Names of secret files, which are the defaults of the programs that use them.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use SecretKind::{Credentials, Environment, History, Key, KeyStore, Process};
use platform::files::FileStatus;

use self::SecretKind::Profile;
use super::SecretKind;
use crate::names::folded;

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
    if is_public_name(last) {
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

/// Returns true if a file with this folded name is public wherever it is.
pub(super) fn is_public_name(name: &str) -> bool {
    PUBLIC.contains(&name) || name.ends_with(".pub")
}

/// Returns true if a path that ends in this folded name can be secret in a folder that is not.
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

// The secret files and folders that programs keep in a home folder.

/// Secret files, and folders whose whole content is secret, by the end of their paths. Entries
/// that start with a dot match anywhere, because a home folder may be mounted or copied
/// elsewhere. The others only match directly in a home folder.
const NAMED: &[(&str, SecretKind)] = &[
    (".ssh", Key),
    (".gnupg", Key),
    (".config/age", Key),
    (".config/sops", Key),
    (".putty", Key),
    (".step", Key),
    (".tsh", Key),
    (".aws", Credentials),
    (".azure", Credentials),
    (".boto", Credentials),
    (".bluemix", Credentials),
    (".cargo/credentials", Credentials),
    (".cargo/credentials.toml", Credentials),
    (".cf/config.json", Credentials),
    (".chef", Credentials),
    (".claude/.credentials.json", Credentials),
    (".claude.json", Credentials),
    (".codex/auth.json", Credentials),
    (".composer/auth.json", Credentials),
    (".config/composer/auth.json", Credentials),
    (".config/containers/auth.json", Credentials),
    (".config/doctl", Credentials),
    (".config/fly", Credentials),
    (".fly/config.yml", Credentials),
    (".config/gcloud", Credentials),
    (".config/gh", Credentials),
    (".config/git/credentials", Credentials),
    (".config/github-copilot", Credentials),
    (".config/glab-cli", Credentials),
    (".config/hcloud", Credentials),
    (".config/hub", Credentials),
    (".config/linode-cli", Credentials),
    (".config/op", Credentials),
    (".config/openstack", Credentials),
    (".config/rclone", Credentials),
    (".config/scw", Credentials),
    (".config/stripe", Credentials),
    (".config/tea", Credentials),
    // The history of MongoDB's shell.
    (".dbshell", History),
    (".docker/config.json", Credentials),
    (".dockercfg", Credentials),
    (".gem/credentials", Credentials),
    (".git-credentials", Credentials),
    (".gradle/gradle.properties", Credentials),
    (".heroku", Credentials),
    (".huggingface/token", Credentials),
    (".cache/huggingface/token", Credentials),
    (".kaggle", Credentials),
    (".kube", Credentials),
    (".m2/settings.xml", Credentials),
    (".m2/settings-security.xml", Credentials),
    (".msmtprc", Credentials),
    (".my.cnf", Credentials),
    (".mylogin.cnf", Credentials),
    (".netrc", Credentials),
    // The name of `.netrc` on Windows.
    ("_netrc", Credentials),
    (".nuget/nuget.config", Credentials),
    (".oci", Credentials),
    (".pgpass", Credentials),
    (".pypirc", Credentials),
    (".s3cfg", Credentials),
    (".terraform.d/credentials.tfrc.json", Credentials),
    (".terraformrc", Credentials),
    (".vault-token", Credentials),
    (".wrangler", Credentials),
    (".authinfo", Credentials),
    (".authinfo.gpg", Credentials),
    (".ansible/vault", Credentials),
    (".vault_pass", Credentials),
    (".vault-pass", Credentials),
    // Its cookie lets any program read the screen and the keys of an X session.
    (".xauthority", Credentials),
    (".iceauthority", Credentials),
    (".smbcredentials", Credentials),
    (".mozilla", Profile),
    (".thunderbird", Profile),
    (".librewolf", Profile),
    (".waterfox", Profile),
    (".zen", Profile),
    (".config/google-chrome", Profile),
    (".config/google-chrome-beta", Profile),
    (".config/google-chrome-unstable", Profile),
    (".config/chromium", Profile),
    (".config/bravesoftware", Profile),
    (".config/microsoft-edge", Profile),
    (".config/vivaldi", Profile),
    (".config/opera", Profile),
    (".config/qutebrowser", Profile),
    (".local/share/qutebrowser", Profile),
    (".local/share/evolution", Profile),
    (".config/evolution", Profile),
    (".config/epiphany", Profile),
    (".local/share/epiphany", Profile),
    (".config/slack", Profile),
    (".config/discord", Profile),
    (".config/signal", Profile),
    (".local/share/telegramdesktop", Profile),
    ("snap/firefox", Profile),
    ("snap/chromium", Profile),
    // Flatpak keeps the files of all programs here, also those of browsers.
    (".var/app", Profile),
    ("library/cookies", Profile),
    ("library/mail", Profile),
    ("library/messages", Profile),
    ("library/safari", Profile),
    ("library/application support/firefox", Profile),
    ("library/application support/google/chrome", Profile),
    ("library/application support/chromium", Profile),
    ("library/application support/bravesoftware", Profile),
    ("library/application support/microsoft edge", Profile),
    ("library/application support/thunderbird", Profile),
    ("library/application support/vivaldi", Profile),
    ("library/application support/arc", Profile),
    ("library/keychains", KeyStore),
    (".local/share/keyrings", KeyStore),
    (".local/share/kwalletd", KeyStore),
    (".kde/share/apps/kwallet", KeyStore),
    (".password-store", KeyStore),
    (".local/share/password-store", KeyStore),
    (".local/share/gopass", KeyStore),
    (".config/keepassxc", KeyStore),
    (".config/bitwarden", KeyStore),
    (".config/bitwarden cli", KeyStore),
    (".config/1password", KeyStore),
    (".pki", KeyStore),
    (".bitcoin", KeyStore),
    (".ethereum", KeyStore),
    (".electrum", KeyStore),
    (".bash_history", History),
    (".zsh_history", History),
    (".zhistory", History),
    (".sh_history", History),
    (".psql_history", History),
    (".mysql_history", History),
    (".sqlite_history", History),
    (".rediscli_history", History),
    (".local/share/fish/fish_history", History),
    (".python_history", History),
    (".node_repl_history", History),
    (".irb_history", History),
    (".lesshst", History),
    (".viminfo", History),
    ("appdata/local/microsoft/credentials", KeyStore),
    ("appdata/local/microsoft/vault", KeyStore),
    ("appdata/roaming/microsoft/credentials", KeyStore),
    ("appdata/roaming/microsoft/crypto", KeyStore),
    ("appdata/roaming/microsoft/protect", KeyStore),
    ("appdata/roaming/microsoft/systemcertificates", KeyStore),
    ("appdata/roaming/bitwarden", KeyStore),
    ("appdata/roaming/bitwarden cli", KeyStore),
    ("appdata/local/1password", KeyStore),
    ("appdata/roaming/keepassxc", KeyStore),
    ("appdata/local/google/chrome", Profile),
    ("appdata/local/chromium", Profile),
    ("appdata/local/bravesoftware", Profile),
    ("appdata/local/microsoft/edge", Profile),
    ("appdata/local/vivaldi", Profile),
    ("appdata/local/mozilla", Profile),
    ("appdata/roaming/mozilla", Profile),
    ("appdata/roaming/thunderbird", Profile),
    ("appdata/roaming/opera software", Profile),
    ("appdata/roaming/discord", Profile),
    ("appdata/roaming/signal", Profile),
    ("appdata/roaming/slack", Profile),
    ("appdata/roaming/telegram desktop", Profile),
    ("appdata/roaming/gcloud", Credentials),
    ("appdata/roaming/github cli", Credentials),
    ("appdata/roaming/composer/auth.json", Credentials),
    ("appdata/roaming/nuget/nuget.config", Credentials),
    ("appdata/local/github-copilot", Credentials),
    (
        "appdata/roaming/microsoft/windows/powershell/psreadline",
        History,
    ),
    ("appdata/local/nvim-data/backup", History),
    ("appdata/local/nvim-data/shada", History),
    ("appdata/local/nvim-data/swap", History),
    ("appdata/local/nvim-data/undo", History),
    // These contain parts of files that may be secret themselves.
    (".local/state/nvim/backup", History),
    (".local/state/nvim/shada", History),
    (".local/state/nvim/swap", History),
    (".local/state/nvim/undo", History),
];

// Recognizes private keys by the first lines of a file, whatever its name is, and files with the
// names of keys that have only certificates or public keys.
//
// Sources: RFC 7468, openssl-genpkey(1), ssh-keygen(1), age-keygen(1), PuTTY's "PPK file format".

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
