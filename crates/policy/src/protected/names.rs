//! Names of files and folders that are protected anywhere in a project.

use std::path::{Path, PathBuf};

use platform::places;
use tools::folded;

/// Kind of a protected file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtectedKind {
    /// Git's own folder: its hooks and its configuration run commands.
    Git,
    /// Named by a repository's Git configuration.
    Named,
    /// Read by shells, logins, and SSH.
    Shell,
    /// Runs or configures things when a folder is opened.
    Project,
    /// A conversation.
    Chat,
    /// Configuration, data, and state of Neovim and Flemma.
    Editor,
    /// Flemma's policy, trust and journal.
    State,
    /// The program that decides about calls.
    Host,
    /// Run as a tool, or read by one.
    Tool,
}

impl ProtectedKind {
    /// Describes such a file, to follow "it is".
    pub fn what(self) -> &'static str {
        match self {
            ProtectedKind::Git => "in a .git folder, where hooks and settings run commands",
            ProtectedKind::Named => "named by Git's configuration, so Git runs or reads it",
            ProtectedKind::Shell => "read when a shell or a session starts",
            ProtectedKind::Project => "read by editors and tools when this folder is opened",
            ProtectedKind::Chat => "a conversation, whose text decides what runs",
            ProtectedKind::Editor => "in a folder that Neovim or Flemma runs code from",
            ProtectedKind::State => "in the folder of Flemma's decisions",
            ProtectedKind::Host => "the program that asks you",
            ProtectedKind::Tool => "in a folder whose scripts run as tools",
        }
    }
}

/// Files in a home folder that shells, logins, and the programs below them read.
pub const START_FILES: &[&str] = &[
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".cshrc",
    ".gitconfig",
    ".inputrc",
    ".kshrc",
    ".login",
    ".mkshrc",
    ".pam_environment",
    ".profile",
    ".tcshrc",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];

/// Folders whose content is protected in every folder.
const FOLDERS: &[(&str, ProtectedKind)] = &[
    (".git", ProtectedKind::Git),
    (".ssh", ProtectedKind::Shell),
    (".gnupg", ProtectedKind::Shell),
    (".flemma", ProtectedKind::Project),
    (".claude", ProtectedKind::Project),
    (".codex", ProtectedKind::Project),
    (".cursor", ProtectedKind::Project),
    (".devcontainer", ProtectedKind::Project),
    (".gemini", ProtectedKind::Project),
    (".githooks", ProtectedKind::Project),
    (".husky", ProtectedKind::Project),
    (".idea", ProtectedKind::Project),
    (".vscode", ProtectedKind::Project),
    (".windsurf", ProtectedKind::Project),
    (".zed", ProtectedKind::Project),
    (".vim", ProtectedKind::Editor),
];

/// Files that are protected in every folder.
const FILES: &[(&str, ProtectedKind)] = &[
    (".envrc", ProtectedKind::Project),
    (".dir-locals.el", ProtectedKind::Project),
    (".exrc", ProtectedKind::Project),
    (".gvimrc", ProtectedKind::Editor),
    (".lazy.lua", ProtectedKind::Project),
    (".lefthook.yml", ProtectedKind::Project),
    (".luacheckrc", ProtectedKind::Project),
    (".luarc.json", ProtectedKind::Project),
    (".luarc.jsonc", ProtectedKind::Project),
    (".mcp.json", ProtectedKind::Project),
    (".mise.toml", ProtectedKind::Project),
    (".npmrc", ProtectedKind::Project),
    (".nvim.lua", ProtectedKind::Project),
    (".nvimrc", ProtectedKind::Project),
    (".overcommit.yml", ProtectedKind::Project),
    (".pnpmfile.cjs", ProtectedKind::Project),
    (".pre-commit-config.yaml", ProtectedKind::Project),
    (".vimrc", ProtectedKind::Editor),
    (".yarnrc", ProtectedKind::Project),
    (".yarnrc.yml", ProtectedKind::Project),
    ("lefthook.yml", ProtectedKind::Project),
];

/// Files that are protected by their folder's name and their own.
const PAIRS: &[(&str, &str, ProtectedKind)] = &[
    (".cargo", "config", ProtectedKind::Project),
    (".cargo", "config.toml", ProtectedKind::Project),
];

/// Names that are protected below any folder `.config`.
const BELOW_CONFIG: &[(&str, ProtectedKind)] = &[
    ("autostart", ProtectedKind::Shell),
    ("environment.d", ProtectedKind::Shell),
    ("fish", ProtectedKind::Shell),
    ("flemma", ProtectedKind::Editor),
    ("git", ProtectedKind::Shell),
    ("nvim", ProtectedKind::Editor),
    ("systemd", ProtectedKind::Shell),
];

/// Folders that are protected by their absolute path.
const SYSTEM: &[&str] = &["/etc", "/root/.config", "/usr/local/etc"];

/// Returns the names that are protected in every folder, except `.git`.
pub fn everywhere() -> impl Iterator<Item = &'static str> {
    let named = FOLDERS.iter().chain(FILES).map(|(name, _)| *name);
    // Git itself must write there, for example to commit.
    named.filter(|name| *name != ".git")
}

/// Returns what is protected by its name directly below a project's folder. Of Git's own folder,
/// only what runs commands: the rest changes with normal work.
pub fn in_project(root: &Path) -> impl Iterator<Item = PathBuf> {
    let git = [".git/hooks", ".git/config"].into_iter();
    let pairs = PAIRS
        .iter()
        .map(|(folder, name, _)| root.join(folder).join(name));
    let named = git.chain(everywhere()).map(|name| root.join(name));
    named.chain(pairs)
}

/// Returns what is protected by its name below a home folder, besides [`START_FILES`].
pub fn in_home(home: &Path) -> impl Iterator<Item = PathBuf> {
    let config = home.join(".config");
    let folders = [".ssh", ".gnupg", ".vim"].map(|name| home.join(name));
    let below = BELOW_CONFIG.iter().map(move |(name, _)| config.join(name));
    folders.into_iter().chain(below)
}

/// Returns why the names in this path protect it.
pub fn kind(path: &Path) -> Option<ProtectedKind> {
    // In lower case, because on some file systems `.Git` is the same folder.
    let names: Vec<String> = path.components().map(folded).collect();
    let (last, above) = names.split_last()?;
    let listed = |list: &[(&str, ProtectedKind)], name: &str| {
        let found = list.iter().find(|(it, _)| *it == name);
        found.map(|(_, kind)| *kind)
    };
    let pair = names.windows(2).find_map(|it| {
        let found = PAIRS.iter().find(|(above, name, _)| it == [*above, *name]);
        found.map(|(_, _, kind)| *kind)
    });
    // Any folder of the path counts, because hooks can be deep below `.git`.
    let folder = names.iter().find_map(|name| listed(FOLDERS, name));
    let below_config = names.windows(2).find_map(|pair| match pair {
        [config, name] if config == ".config" => listed(BELOW_CONFIG, name),
        _ => None,
    });
    let file = || {
        if START_FILES.contains(&last.as_str()) {
            return Some(ProtectedKind::Shell);
        }
        // A tool that writes to a chat could approve its own calls there.
        let is_chat = last.ends_with(".chat");
        listed(FILES, last).or_else(|| is_chat.then_some(ProtectedKind::Chat))
    };
    let system = || {
        let is_below = SYSTEM.iter().any(|root| path.starts_with(root));
        // Behind the drive and the root.
        let on_drive = names.get(2).map_or("", String::as_str);
        (is_below || places::ON_DRIVE.contains(&on_drive)).then_some(ProtectedKind::Shell)
    };
    let is_start = |it: &[String]| {
        let mut folders = places::START_FOLDERS.iter();
        folders.any(|(outer, inner)| it == [*outer, *inner])
    };
    let start = above.windows(2).any(is_start);
    // A folder says more about a file than its name does.
    let by_folder = folder.or(pair).or(below_config);
    let by_folder = by_folder.or(start.then_some(ProtectedKind::Shell));
    by_folder.or_else(file).or_else(system)
}
