//! The table `sandbox`.

use super::{ANYWHERE, CHAT, Loosens, OptionDef, OptionKind, option, table, unset};

pub(super) const SANDBOX: OptionDef = table(
    "sandbox",
    OptionKind::Table(&[FIELDS]),
    "\
What commands can do on this machine; see |flemma-sandboxing|. A chat can
restrict it: `flemma.opt.sandbox = { policy = { network = false } }`.",
);

const fn unless(strict: &'static str, what: &'static str) -> Loosens {
    Loosens::Unless { strict, what }
}

const FIELDS: &[OptionDef] = &[
    option(
        "enabled",
        OptionKind::Flag,
        "true",
        "Whether commands are sandboxed, and `write` and `edit` restricted to `rw_paths`.",
    )
    .scopes(ANYWHERE)
    .loosens(unless("true", "would run commands outside the sandbox")),
    option(
        "backend",
        OptionKind::Choice(&["auto", "required", "bwrap"]),
        r#""auto""#,
        "\
\"auto\": bubblewrap, if it is installed and works; otherwise commands run
unrestricted, and pending calls say UNSANDBOXED. \"required\" and \"bwrap\": no
command runs without a sandbox.",
    )
    .scopes(CHAT)
    .loosens(unless(
        r#""required""#,
        "would let commands run where no sandbox can be had",
    )),
    // Only the user can set these three: each gives commands access beyond the sandbox.
    option(
        "sockets",
        OptionKind::List(&OptionKind::Text),
        "[]",
        "\
Sockets that commands can reach, by name: \"ssh-agent\" (for `git push`),
\"gpg-agent\", \"tmux\", \"nvim\", \"dbus\", \"docker\", \"podman\", \"x11\",
\"wayland\"; or by path. A command can do everything that the program behind the
socket can do for you: with docker or tmux, that is everything.",
    ),
    option(
        "env",
        OptionKind::List(&OptionKind::Text),
        "[]",
        "\
Environment variables that commands and MCP servers get in addition to those in
|flemma-sandbox-environment|, such as \"GITHUB_TOKEN\" or
\"AWS_*\". They apply without a sandbox too.",
    ),
    option(
        "reveal",
        OptionKind::List(&OptionKind::Text),
        "[]",
        "\
Secret files and folders (|flemma-secrets|) that tools, references, and commands
can read, such as \"$CWD/.env\" or \"~/.ssh/config\". A folder includes everything
in it. Links are not followed: name the file that a link points to.",
    ),
    table("policy", OptionKind::Table(&[POLICY]), ""),
    table("backends", OptionKind::Table(&[BACKENDS]), ""),
];

const POLICY: &[OptionDef] = &[
    option(
        "rw_paths",
        OptionKind::List(&OptionKind::Text),
        r#"["$CWD", "$FLEMMA_BUFFER_PATH", "/tmp"]"#,
        "\
Folders below which files can be written. \"$CWD\" is Neovim's working
directory, \"$FLEMMA_BUFFER_PATH\" the folder of the chat, \"~\" your home.
Git's hooks and configuration, `.envrc`, and similar files stay unchanged;
see |flemma-sandbox-limits|.",
    )
    .scopes(CHAT)
    // Folders are not compared, so every list but the empty one counts as looser.
    .loosens(unless("[]", "would change which folders can be written")),
    option(
        "network",
        OptionKind::Flag,
        "true",
        "Whether commands can reach the network.",
    )
    .scopes(CHAT)
    .loosens(unless("false", "would let commands reach the network")),
    option(
        "allow_privileged",
        OptionKind::Flag,
        "false",
        "Whether commands keep your privileges, such as root's.",
    )
    .scopes(CHAT)
    .loosens(unless("false", "would let commands keep your privileges")),
];

const BACKENDS: &[OptionDef] = &[table(
    "bwrap",
    OptionKind::Table(&[&[
        unset(
            "path",
            OptionKind::Text,
            "The bubblewrap program. nil: /usr/bin/bwrap, else the first in $PATH.",
        ),
        option(
            "extra_args",
            OptionKind::List(&OptionKind::Text),
            "[]",
            "Additional arguments for bubblewrap, after Flemma's.",
        ),
    ]]),
    "",
)];
