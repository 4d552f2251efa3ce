//! `mcp`: servers of the Model Context Protocol, whose tools models can call.

use super::Field;
use crate::settings::kind::{Kind, MANY};

/// The option.
pub const MCP: Field = Field::table("mcp", Kind::Table(&[FIELDS]), "");

const FIELDS: &[Field] = &[
    Field::new(
        "servers",
        Kind::Map(&Kind::Table(&[SERVER])),
        "{}",
        "\
Servers of the Model Context Protocol, see |flemma-mcp-servers|. One is a
program with its arguments, or an address: >lua

mcp = {
  servers = {
    files = { command = { \"npx\", \"-y\", \"@modelcontextprotocol/server-filesystem\", \".\" } },
    docs = { url = \"https://example.com/mcp\", headers = { Authorization = \"Bearer ${DOCS_TOKEN}\" } },
  },
}
<
`env` is added to a program's environment, `cwd` is where it runs, `timeout` the
seconds that a call may take (otherwise `tools.default_timeout`). `${NAME}` and
`${NAME:-otherwise}` stand for variables of the environment.",
    ),
    Field::new(
        "project",
        Kind::Flag,
        "true",
        "\
Whether the servers of a project's `.mcp.json` are used as well, once you agreed
to them with `:Flemma mcp:trust`.",
    ),
];

const SERVER: &[Field] = &[
    Field::new(
        "command",
        Kind::Any(&[Kind::Text, Kind::List(&Kind::Text)]),
        "null",
        "",
    ),
    Field::new("args", Kind::List(&Kind::Text), "null", ""),
    Field::new("env", Kind::Map(&Kind::Text), "null", ""),
    Field::new("cwd", Kind::Text, "null", ""),
    Field::new("url", Kind::Text, "null", ""),
    Field::new("headers", Kind::Map(&Kind::Text), "null", ""),
    Field::new("timeout", Kind::Whole(1, MANY), "null", ""),
    Field::new("type", Kind::Choice(&["stdio", "http"]), "null", ""),
];
