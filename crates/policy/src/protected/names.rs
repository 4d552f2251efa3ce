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

/// A row of [`PROJECT`]: the name, what it is, and where that is documented.
type Row = (&'static str, ProtectedKind, &'static str);

/// Files that run by themselves, or that define what runs, when a program starts in a folder or
/// opens it: protected in every folder. As documented on 26 November 2026. A name that ends with a
/// slash is a folder with all of its content; one with a slash inside is below a folder of that
/// name. In lower case.
const PROJECT: &[Row] = &[
    // Version control and its hooks.
    (
        ".git/",
        ProtectedKind::Git,
        "git-scm.com/docs/gitrepository-layout",
    ),
    (".hg/hgrc", ProtectedKind::Project, "hgrc(5)"),
    (".hg/hgrc-not-shared", ProtectedKind::Project, "hgrc(5)"),
    (
        ".jj/repo/config.toml",
        ProtectedKind::Project,
        "docs.jj-vcs.dev/latest/config",
    ),
    (
        ".githooks/",
        ProtectedKind::Project,
        "git-config(1), core.hooksPath, by convention",
    ),
    (
        ".git-hooks/",
        ProtectedKind::Project,
        "github.com/sds/overcommit",
    ),
    (
        ".husky/",
        ProtectedKind::Project,
        "typicode.github.io/husky",
    ),
    (
        ".overcommit.yml",
        ProtectedKind::Project,
        "github.com/sds/overcommit",
    ),
    (
        ".pre-commit-config.yaml",
        ProtectedKind::Project,
        "pre-commit.com",
    ),
    (
        ".simple-git-hooks.cjs",
        ProtectedKind::Project,
        "github.com/toplenboren/simple-git-hooks",
    ),
    (
        ".simple-git-hooks.js",
        ProtectedKind::Project,
        "github.com/toplenboren/simple-git-hooks",
    ),
    (
        ".simple-git-hooks.json",
        ProtectedKind::Project,
        "github.com/toplenboren/simple-git-hooks",
    ),
    (
        "lefthook.json",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        "lefthook.jsonc",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        "lefthook.toml",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        "lefthook.yaml",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        "lefthook.yml",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        ".lefthook.json",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        ".lefthook.jsonc",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        ".lefthook.toml",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        ".lefthook.yaml",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        ".lefthook.yml",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        "lefthook-local.json",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        "lefthook-local.jsonc",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        "lefthook-local.toml",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        "lefthook-local.yaml",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        "lefthook-local.yml",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        ".lefthook-local.json",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        ".lefthook-local.jsonc",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        ".lefthook-local.toml",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        ".lefthook-local.yaml",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        ".lefthook-local.yml",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        ".config/lefthook.json",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        ".config/lefthook.jsonc",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        ".config/lefthook.toml",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        ".config/lefthook.yaml",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    (
        ".config/lefthook.yml",
        ProtectedKind::Project,
        "lefthook.dev/configuration",
    ),
    // Keys, connections.
    (".ssh/", ProtectedKind::Shell, "ssh_config(5)"),
    (".gnupg/", ProtectedKind::Shell, "gpg(1)"),
    // Environments and build tools.
    (".envrc", ProtectedKind::Project, "direnv.net"),
    (
        ".mise/",
        ProtectedKind::Project,
        "mise.jdx.dev/configuration.html",
    ),
    (".mise-tasks/", ProtectedKind::Project, "mise.jdx.dev/tasks"),
    (
        ".mise.local.toml",
        ProtectedKind::Project,
        "mise.jdx.dev/configuration.html",
    ),
    (
        ".mise.toml",
        ProtectedKind::Project,
        "mise.jdx.dev/configuration.html",
    ),
    (
        "mise.local.toml",
        ProtectedKind::Project,
        "mise.jdx.dev/configuration.html",
    ),
    (
        "mise.toml",
        ProtectedKind::Project,
        "mise.jdx.dev/configuration.html",
    ),
    (
        "mise/config.toml",
        ProtectedKind::Project,
        "mise.jdx.dev/configuration.html",
    ),
    (
        ".config/mise.toml",
        ProtectedKind::Project,
        "mise.jdx.dev/configuration.html",
    ),
    (
        ".config/mise/",
        ProtectedKind::Project,
        "mise.jdx.dev/configuration.html",
    ),
    (
        ".cargo/config",
        ProtectedKind::Project,
        "doc.rust-lang.org/cargo/reference/config.html",
    ),
    (
        ".cargo/config.toml",
        ProtectedKind::Project,
        "doc.rust-lang.org/cargo/reference/config.html",
    ),
    (
        ".npmrc",
        ProtectedKind::Project,
        "docs.npmjs.com/cli/configuring-npm/npmrc",
    ),
    (".pnpmfile.cjs", ProtectedKind::Project, "pnpm.io/pnpmfile"),
    (".pnpmfile.mjs", ProtectedKind::Project, "pnpm.io/pnpmfile"),
    (
        ".yarnrc",
        ProtectedKind::Project,
        "classic.yarnpkg.com/docs/yarnrc",
    ),
    (
        ".yarnrc.yml",
        ProtectedKind::Project,
        "yarnpkg.com/configuration/yarnrc",
    ),
    (
        "bunfig.toml",
        ProtectedKind::Project,
        "bun.sh/docs/runtime/bunfig",
    ),
    // Interpreters and debuggers, which read them in the current folder.
    (".gdbinit", ProtectedKind::Project, "gdb(1)"),
    (
        ".ghci",
        ProtectedKind::Project,
        "downloads.haskell.org, GHC User's Guide, GHCi",
    ),
    (".irbrc", ProtectedKind::Project, "docs.ruby-lang.org, IRB"),
    (
        ".lldbinit",
        ProtectedKind::Project,
        "lldb.llvm.org/man/lldb.html",
    ),
    (".ocamlinit", ProtectedKind::Project, "ocaml(1)"),
    (
        ".octaverc",
        ProtectedKind::Project,
        "docs.octave.org, Startup Files",
    ),
    (
        ".pdbrc",
        ProtectedKind::Project,
        "docs.python.org/3/library/pdb.html",
    ),
    (".pryrc", ProtectedKind::Project, "github.com/pry/pry"),
    (".rprofile", ProtectedKind::Project, "R manual, ?Startup"),
    // Editors.
    (".devcontainer/", ProtectedKind::Project, "containers.dev"),
    (
        ".devcontainer.json",
        ProtectedKind::Project,
        "containers.dev",
    ),
    (
        ".dir-locals-2.el",
        ProtectedKind::Project,
        "GNU Emacs manual, Directory Variables",
    ),
    (
        ".dir-locals.el",
        ProtectedKind::Project,
        "GNU Emacs manual, Directory Variables",
    ),
    (".exrc", ProtectedKind::Project, ":help 'exrc'"),
    (
        ".fleet/",
        ProtectedKind::Project,
        "jetbrains.com/help/fleet",
    ),
    (".gvimrc", ProtectedKind::Editor, ":help gvimrc of Vim"),
    (
        ".helix/",
        ProtectedKind::Project,
        "docs.helix-editor.com/configuration.html",
    ),
    (".idea/", ProtectedKind::Project, "jetbrains.com/help/idea"),
    (
        ".lazy.lua",
        ProtectedKind::Project,
        "lazy.folke.io/configuration",
    ),
    (
        ".luacheckrc",
        ProtectedKind::Project,
        "luacheck.readthedocs.io/en/stable/config.html",
    ),
    (
        ".luarc.json",
        ProtectedKind::Project,
        "luals.github.io/wiki/configuration",
    ),
    (
        ".luarc.jsonc",
        ProtectedKind::Project,
        "luals.github.io/wiki/configuration",
    ),
    (
        ".lvimrc",
        ProtectedKind::Project,
        "github.com/embear/vim-localvimrc",
    ),
    (
        ".neoconf.json",
        ProtectedKind::Project,
        "github.com/folke/neoconf.nvim",
    ),
    (
        ".nlsp-settings/",
        ProtectedKind::Project,
        "github.com/tamago324/nlsp-settings.nvim",
    ),
    (".nvim.lua", ProtectedKind::Project, ":help 'exrc'"),
    (".nvimrc", ProtectedKind::Project, ":help 'exrc'"),
    (".vim/", ProtectedKind::Editor, ":help vimfiles of Vim"),
    (".vimrc", ProtectedKind::Editor, ":help vimrc of Vim"),
    (
        ".vs/",
        ProtectedKind::Project,
        "learn.microsoft.com/visualstudio, tasks.vs.json",
    ),
    (
        ".vscode/",
        ProtectedKind::Project,
        "code.visualstudio.com/docs/debugtest/tasks",
    ),
    (
        ".ycm_extra_conf.py",
        ProtectedKind::Project,
        "github.com/ycm-core/YouCompleteMe",
    ),
    (".zed/", ProtectedKind::Project, "zed.dev/docs/tasks"),
    // Agents, and the servers and hooks that they start.
    (
        ".aider.conf.yml",
        ProtectedKind::Project,
        "aider.chat/docs/config/aider_conf.html",
    ),
    (
        ".amazonq/",
        ProtectedKind::Project,
        "docs.aws.amazon.com/amazonq, MCP",
    ),
    (
        ".claude/",
        ProtectedKind::Project,
        "code.claude.com/docs/en/hooks",
    ),
    (
        ".codex/",
        ProtectedKind::Project,
        "developers.openai.com/codex/config",
    ),
    (
        ".continue/",
        ProtectedKind::Project,
        "docs.continue.dev/reference",
    ),
    (
        ".crush.json",
        ProtectedKind::Project,
        "github.com/charmbracelet/crush",
    ),
    (
        ".cursor/",
        ProtectedKind::Project,
        "cursor.com/docs/agent/hooks",
    ),
    (".flemma/", ProtectedKind::Project, ":help flemma-project"),
    (
        ".gemini/",
        ProtectedKind::Project,
        "geminicli.com/docs/hooks",
    ),
    (
        ".junie/",
        ProtectedKind::Project,
        "junie.jetbrains.com/docs",
    ),
    (".kiro/", ProtectedKind::Project, "kiro.dev/docs/hooks"),
    (
        ".mcp.json",
        ProtectedKind::Project,
        "code.claude.com/docs/en/mcp",
    ),
    (
        ".opencode/",
        ProtectedKind::Project,
        "opencode.ai/docs/config",
    ),
    (
        ".qwen/",
        ProtectedKind::Project,
        "qwenlm.github.io/qwen-code-docs",
    ),
    (
        ".roo/",
        ProtectedKind::Project,
        "docs.roocode.com/features/mcp",
    ),
    (
        ".windsurf/",
        ProtectedKind::Project,
        "docs.windsurf.com/windsurf/cascade/hooks",
    ),
    (
        "crush.json",
        ProtectedKind::Project,
        "github.com/charmbracelet/crush",
    ),
    (
        "opencode.json",
        ProtectedKind::Project,
        "opencode.ai/docs/config",
    ),
    (
        "opencode.jsonc",
        ProtectedKind::Project,
        "opencode.ai/docs/config",
    ),
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

/// Returns the names and paths that are protected in every folder, except `.git`.
pub fn everywhere() -> impl Iterator<Item = &'static str> {
    let named = PROJECT
        .iter()
        .map(|(name, _, _)| name.trim_end_matches('/'));
    // Git itself must write there, for example to commit.
    named.filter(|name| *name != ".git")
}

/// Returns what is protected by its name directly below a project's folder. Of Git's own folder,
/// only what runs commands: the rest changes with normal work.
pub fn in_project(root: &Path) -> impl Iterator<Item = PathBuf> {
    let git = [".git/hooks", ".git/config"].into_iter();
    git.chain(everywhere()).map(|name| root.join(name))
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
    // Any folder of the path counts, because hooks can be deep below `.git`.
    let project = |is_wanted: fn(&str) -> bool| {
        let mut rows = PROJECT.iter().filter(move |(name, _, _)| is_wanted(name));
        rows.find(|(name, _, _)| contains(&names, name))
            .map(|(_, kind, _)| *kind)
    };
    let folder = project(|name| name.contains('/'));
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
        project(|name| !name.contains('/')).or_else(|| is_chat.then_some(ProtectedKind::Chat))
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
    let by_folder = folder.or(below_config);
    let by_folder = by_folder.or(start.then_some(ProtectedKind::Shell));
    by_folder.or_else(file).or_else(system)
}

/// Returns true if a path matches the name of a row. A folder's name matches anywhere in the path,
/// a file's only at the end.
fn contains(path: &[String], name: &str) -> bool {
    let wanted: Vec<&str> = name.trim_end_matches('/').split('/').collect();
    if name.ends_with('/') {
        path.windows(wanted.len()).any(|it| it == wanted)
    } else {
        path.len() >= wanted.len() && path[path.len() - wanted.len()..] == wanted[..]
    }
}
