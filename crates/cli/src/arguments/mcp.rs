//! The arguments of `flemma mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// `flemma mcp`
#[derive(Debug, Args)]
pub struct Mcp {
    /// What to do.
    #[command(subcommand)]
    pub command: McpCommand,
}

/// Commands of `flemma mcp`.
#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// Serve Flemma's tools to another program.
    ///
    /// Without --http, serves the program that started this, over standard input and
    /// output. A call runs if the options or --approve approve its tool. All other calls
    /// end in an error that says so, because there is no one to ask. Tools of configured
    /// MCP servers are not offered.
    ///
    /// Any program that can reach the address can call the tools. With
    /// $FLEMMA_MCP_TOKEN set, requests must have the header `Authorization: Bearer
    /// TOKEN`; without it, only addresses of this machine are served.
    Serve {
        /// Serve over HTTP at this address and port, under the path /mcp.
        #[arg(long, value_name = "ADDRESS:PORT")]
        http: Option<std::net::SocketAddr>,
        /// Tools and presets that run, in addition to those of the options.
        #[arg(long, value_name = "LIST", value_delimiter = ',')]
        approve: Vec<String>,
        /// Also serve the script tools in this folder.
        #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        tools_dir: Vec<PathBuf>,
        /// Read the options from this file instead of `flemma/config.toml`.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        config: Option<PathBuf>,
    },
    /// List the MCP servers of the options and of a trusted project.
    List {
        /// Describe this server and its tools in full.
        server: Option<String>,
        /// Start the servers and request their tools.
        #[arg(long)]
        start: bool,
        /// Read the options from this file instead of `flemma/config.toml`.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        config: Option<PathBuf>,
    },
    /// Accept a server's current tools.
    Accept {
        /// Name of the server.
        server: String,
        /// Read the options from this file instead of `flemma/config.toml`.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        config: Option<PathBuf>,
    },
    /// Trust the servers in the project's `.mcp.json`, with its current content.
    Trust,
}
