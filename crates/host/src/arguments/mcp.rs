//! What can be said behind `flemma mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// `flemma mcp`
#[derive(Debug, Args)]
pub struct Mcp {
    /// What to do.
    #[command(subcommand)]
    pub command: McpCommand,
}

/// What `flemma mcp` does.
#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// Serve our tools to another program.
    ///
    /// Without --http to the one that started this, over standard input and output. A
    /// call runs when the options or --approve approve its tool; any other ends in an
    /// error that says so, as nobody is there to ask. Servers that the options name
    /// are not served on.
    ///
    /// Whoever can reach the address can call the tools. With $FLEMMA_MCP_TOKEN set,
    /// requests have to name it as `Authorization: Bearer TOKEN`; without it, only
    /// addresses of this machine are served.
    Serve {
        /// Serve at this address and port, at the path /mcp.
        #[arg(long, value_name = "ADDRESS:PORT")]
        http: Option<std::net::SocketAddr>,
        /// Tools and presets that run, beside those of the options.
        #[arg(long, value_name = "LIST", value_delimiter = ',')]
        approve: Vec<String>,
        /// Serve the tools of this folder as well.
        #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        tools_dir: Vec<PathBuf>,
        /// Read the options from this file instead of `flemma/config.toml`.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        config: Option<PathBuf>,
    },
    /// List the servers that the options or a trusted project name.
    List {
        /// Say what this one offers, in full.
        server: Option<String>,
        /// Start them, and ask for their tools.
        #[arg(long)]
        start: bool,
        /// Read the options from this file instead of `flemma/config.toml`.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        config: Option<PathBuf>,
    },
    /// Agree to what a server says of its tools now.
    Accept {
        /// Its name.
        server: String,
        /// Read the options from this file instead of `flemma/config.toml`.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        config: Option<PathBuf>,
    },
    /// Agree to the servers that the project's `.mcp.json` names, as it stands.
    Trust,
}
