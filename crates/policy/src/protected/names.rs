//! Names of files and folders that are protected anywhere in a project.

use std::path::{Path, PathBuf};

use tools::folded;

/// Why a file is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Git's own folder: its hooks and its configuration run commands.
    Git,
    /// Named by a repository's Git configuration.
    Named,
    /// Read by shells, logins and SSH.
    Shell,
    /// Runs or configures things when a folder is opened.
    Project,
    /// A conversation.
    Chat,
    /// Neovim's and Flemma's configuration, data and state.
    Editor,
    /// Flemma's policy, trust and journal.
    State,
    /// The program that decides.
    Host,
    /// Run as a tool, or read by one.
    Tool,
}

impl Kind {
    /// What such a file is, to follow "it is".
    pub fn what(self) -> &'static str {
        match self {
            Kind::Git => "in a .git folder, where hooks and settings run commands",
            Kind::Named => "named by Git's configuration, so Git runs or reads it",
            Kind::Shell => "read when a shell or a session starts",
            Kind::Project => "read by editors and tools when this folder is opened",
            Kind::Chat => "a conversation, whose text decides what runs",
            Kind::Editor => "in a folder that Neovim or Flemma runs code from",
            Kind::State => "in the folder of Flemma's decisions",
            Kind::Host => "the program that asks you",
            Kind::Tool => "in a folder whose scripts run as tools",
        }
    }
}

/// What shells, logins and the programs below them read in a home folder.
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
const FOLDERS: &[(&str, Kind)] = &[
    (".git", Kind::Git),
    (".ssh", Kind::Shell),
    (".gnupg", Kind::Shell),
    (".flemma", Kind::Project),
    (".claude", Kind::Project),
    (".codex", Kind::Project),
    (".cursor", Kind::Project),
    (".devcontainer", Kind::Project),
    (".gemini", Kind::Project),
    (".githooks", Kind::Project),
    (".husky", Kind::Project),
    (".idea", Kind::Project),
    (".vscode", Kind::Project),
    (".windsurf", Kind::Project),
    (".zed", Kind::Project),
    (".vim", Kind::Editor),
];

/// Files that are protected in every folder.
const FILES: &[(&str, Kind)] = &[
    (".envrc", Kind::Project),
    (".dir-locals.el", Kind::Project),
    (".exrc", Kind::Project),
    (".gvimrc", Kind::Editor),
    (".lazy.lua", Kind::Project),
    (".lefthook.yml", Kind::Project),
    (".luacheckrc", Kind::Project),
    (".luarc.json", Kind::Project),
    (".luarc.jsonc", Kind::Project),
    (".mcp.json", Kind::Project),
    (".mise.toml", Kind::Project),
    (".npmrc", Kind::Project),
    (".nvim.lua", Kind::Project),
    (".nvimrc", Kind::Project),
    (".overcommit.yml", Kind::Project),
    (".pnpmfile.cjs", Kind::Project),
    (".pre-commit-config.yaml", Kind::Project),
    (".vimrc", Kind::Editor),
    (".yarnrc", Kind::Project),
    (".yarnrc.yml", Kind::Project),
    ("lefthook.yml", Kind::Project),
];

/// Files that are protected by their folder's name and their own.
const PAIRS: &[(&str, &str, Kind)] = &[
    (".cargo", "config", Kind::Project),
    (".cargo", "config.toml", Kind::Project),
];

/// Below a folder of configuration, whichever it is: `.config/fish`.
const BELOW_CONFIG: &[(&str, Kind)] = &[
    ("autostart", Kind::Shell),
    ("environment.d", Kind::Shell),
    ("fish", Kind::Shell),
    ("flemma", Kind::Editor),
    ("git", Kind::Shell),
    ("nvim", Kind::Editor),
    ("systemd", Kind::Shell),
];

/// Below the root.
const SYSTEM: &[&str] = &["/etc", "/root/.config", "/usr/local/etc"];

/// Returns the names that are protected in every folder, except `.git`.
pub fn everywhere() -> impl Iterator<Item = &'static str> {
    let named = FOLDERS.iter().chain(FILES).map(|(name, _)| *name);
    named.filter(|name| *name != ".git")
}

/// What is protected by its name directly below a project's folder. Of Git's own
/// folder only what runs commands: the rest is what working with it changes.
pub fn in_project(root: &Path) -> impl Iterator<Item = PathBuf> {
    let git = [".git/hooks", ".git/config"].into_iter();
    let pairs = PAIRS
        .iter()
        .map(|(folder, name, _)| root.join(folder).join(name));
    let named = git.chain(everywhere()).map(|name| root.join(name));
    named.chain(pairs)
}

/// What is protected by its name below a home folder, beside [`START_FILES`].
pub fn in_home(home: &Path) -> impl Iterator<Item = PathBuf> {
    let config = home.join(".config");
    let folders = [".ssh", ".gnupg", ".vim"].map(|name| home.join(name));
    let below = BELOW_CONFIG.iter().map(move |(name, _)| config.join(name));
    folders.into_iter().chain(below)
}

/// Why the names in this path protect it, or nothing.
pub fn kind(path: &Path) -> Option<Kind> {
    let names: Vec<String> = path.components().map(folded).collect();
    let (last, _) = names.split_last()?;
    let listed = |list: &[(&str, Kind)], name: &str| {
        let found = list.iter().find(|(it, _)| *it == name);
        found.map(|(_, kind)| *kind)
    };
    let pair = names.windows(2).find_map(|it| {
        let found = PAIRS.iter().find(|(above, name, _)| it == [*above, *name]);
        found.map(|(_, _, kind)| *kind)
    });
    let folder = names.iter().find_map(|name| listed(FOLDERS, name));
    let below_config = names.windows(2).find_map(|pair| match pair {
        [config, name] if config == ".config" => listed(BELOW_CONFIG, name),
        _ => None,
    });
    let file = || {
        if START_FILES.contains(&last.as_str()) {
            return Some(Kind::Shell);
        }
        let is_chat = last.ends_with(".chat");
        listed(FILES, last).or_else(|| is_chat.then_some(Kind::Chat))
    };
    let system = || {
        let is_system = SYSTEM.iter().any(|root| path.starts_with(root));
        is_system.then_some(Kind::Shell)
    };
    let by_folder = folder.or(pair).or(below_config);
    by_folder.or_else(file).or_else(system)
}
