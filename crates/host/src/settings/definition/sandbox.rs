//! The options in the table `sandbox`.

use super::Field;
use crate::settings::kind::Kind;

pub(super) const SANDBOX: Field = Field::table(
    "sandbox",
    Kind::Table(&[FIELDS]),
    "\
What commands may do to the machine; see |flemma-sandboxing|. A chat may
narrow it: `flemma.opt.sandbox = { policy = { network = false } }`.",
);

const FIELDS: &[Field] = &[
    Field::new(
        "enabled",
        Kind::Flag,
        "true",
        "Whether commands are held, and `write` and `edit` keep to `rw_paths`.",
    )
    .in_frontmatter("sandbox.enabled"),
    Field::new(
        "backend",
        Kind::Choice(&["auto", "required", "bwrap"]),
        r#""auto""#,
        "\
\"auto\": bubblewrap, where it is installed and holds; without it commands run
free, and waiting calls say UNSANDBOXED. \"required\" and \"bwrap\": no command
runs that is not held.",
    )
    .in_frontmatter("sandbox.backend"),
    Field::new(
        "sockets",
        Kind::List(&Kind::Text),
        "[]",
        "\
Sockets that commands can reach, by name: \"ssh-agent\" (for `git push`),
\"gpg-agent\", \"tmux\", \"nvim\", \"dbus\", \"docker\", \"podman\", \"x11\",
\"wayland\"; or by path. The program that listens there does for a command what it does
for you: through docker or tmux, that is everything.",
    ),
    Field::new(
        "env",
        Kind::List(&Kind::Text),
        "[]",
        "\
Variables of your environment that commands and MCP servers get beside those
of |flemma-sandbox-environment|, such as \"GITHUB_TOKEN\" or \"AWS_*\". They
apply without a sandbox too.",
    ),
    Field::new(
        "reveal",
        Kind::List(&Kind::Text),
        "[]",
        "\
Secret files and folders, see |flemma-secrets|, that tools, references, and
commands may read, such as \"$CWD/.env\" or \"~/.ssh/config\". A folder means
all that is in it. A link is not followed: name the file that it leads to.",
    ),
    Field::table("policy", Kind::Table(&[POLICY]), ""),
    Field::table("backends", Kind::Table(&[BACKENDS]), ""),
];

const POLICY: &[Field] = &[
    Field::new(
        "rw_paths",
        Kind::List(&Kind::Text),
        r#"["$CWD", "$FLEMMA_BUFFER_PATH", "/tmp"]"#,
        "\
Below which folders files can be written. \"$CWD\" is Neovim's working
directory, \"$FLEMMA_BUFFER_PATH\" the folder of the chat, \"~\" your home.
Git's hooks and configuration, `.envrc` and their like stay as they are there;
see |flemma-sandbox-limits|.",
    )
    .in_frontmatter("sandbox.policy.rw_paths"),
    Field::new(
        "network",
        Kind::Flag,
        "true",
        "Whether commands can reach the network.",
    )
    .in_frontmatter("sandbox.policy.network"),
    Field::new(
        "allow_privileged",
        Kind::Flag,
        "false",
        "Whether commands keep privileges that you have, such as root's.",
    )
    .in_frontmatter("sandbox.policy.allow_privileged"),
];

const BACKENDS: &[Field] = &[Field::table(
    "bwrap",
    Kind::Table(&[&[
        Field::new(
            "path",
            Kind::Text,
            "null",
            "The program. nil: /usr/bin/bwrap, else the first in PATH.",
        ),
        Field::new(
            "extra_args",
            Kind::List(&Kind::Text),
            "[]",
            "More arguments for it, after ours.",
        ),
    ]]),
    "",
)];
