//! The table `mcp`: servers of the Model Context Protocol, whose tools models can call.

use super::{DAY_SECONDS, Kind, OptionDef, option, table, unset};

pub(super) const MCP: OptionDef = table("mcp", Kind::Table(&[FIELDS]), "");

const FIELDS: &[OptionDef] = &[
    option(
        "servers",
        Kind::Map(&Kind::Table(&[SERVER])),
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
    // Servers have secrets in their environments and headers.
    .secret(),
    option(
        "project",
        Kind::Flag,
        "true",
        "\
Whether the servers of a project's `.mcp.json` are used as well, after
`:Flemma mcp:trust`.",
    ),
];

const SERVER: &[OptionDef] = &[
    unset(
        "command",
        Kind::Any(&[Kind::Text, Kind::List(&Kind::Text)]),
        "",
    ),
    unset("args", Kind::List(&Kind::Text), ""),
    unset("env", Kind::Map(&Kind::Text), "").secret(),
    unset("cwd", Kind::Text, ""),
    unset("url", Kind::Text, ""),
    unset("headers", Kind::Map(&Kind::Text), "").secret(),
    unset("timeout", Kind::Whole(1, DAY_SECONDS), ""),
    unset("type", Kind::Choice(&["stdio", "http"]), ""),
];
