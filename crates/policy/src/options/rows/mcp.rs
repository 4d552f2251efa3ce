//! The table `mcp`: servers of the Model Context Protocol, whose tools models can call.

use super::{DAY_SECONDS, OptionDef, OptionKind, option, table, unset};

pub(super) const MCP: OptionDef = table("mcp", OptionKind::Table(&[FIELDS]), "");

const FIELDS: &[OptionDef] = &[
    option(
        "servers",
        OptionKind::Map(&OptionKind::Table(&[SERVER])),
        "{}",
        "\
Servers of the Model Context Protocol, see |flemma-mcp-servers|. A server is a
program with its arguments, or an address: >lua

mcp = {
  servers = {
    files = { command = { \"npx\", \"-y\", \"@modelcontextprotocol/server-filesystem\", \".\" } },
    docs = { url = \"https://example.com/mcp\", headers = { Authorization = \"Bearer ${DOCS_TOKEN}\" } },
  },
}
<
`env` is added to a program's environment, `cwd` is the folder in which it runs,
and `timeout` is the maximum number of seconds of a call (default:
`tools.default_timeout`).
`${NAME}` and `${NAME:-otherwise}` are replaced by environment variables.",
    )
    // The environments and headers of servers contain secrets.
    .secret(),
    option(
        "project",
        OptionKind::Flag,
        "true",
        "\
Whether the servers of a project's `.mcp.json` are used as well, after
`:Flemma mcp:trust`.",
    ),
];

const SERVER: &[OptionDef] = &[
    unset(
        "command",
        OptionKind::Any(&[OptionKind::Text, OptionKind::List(&OptionKind::Text)]),
        "",
    ),
    unset("args", OptionKind::List(&OptionKind::Text), ""),
    unset("env", OptionKind::Map(&OptionKind::Text), "").secret(),
    unset("cwd", OptionKind::Text, ""),
    unset("url", OptionKind::Text, ""),
    unset("headers", OptionKind::Map(&OptionKind::Text), "").secret(),
    unset("timeout", OptionKind::Whole(1, DAY_SECONDS), ""),
    unset("type", OptionKind::Choice(&["stdio", "http"]), ""),
];
