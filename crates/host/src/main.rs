//! The `flemma` binary: the host behind the Neovim plugin.
//!
//! Reads the command line and starts what it names. Standard output belongs to
//! the protocol, so nothing here prints to it but `--version` and `--help`.

mod ask;
mod audit;
mod buffers;
mod digest;
mod editor;
mod endpoint;
mod frontmatter;
mod host;
mod lease;
mod local;
mod log;
mod logging;
mod private;
mod protected;
mod protocol;
mod references;
mod rpc;
mod rules;
mod session;
mod settings;
mod status;
mod supervise;
mod transport;
mod trust;
mod tutor;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A model, tools and your text, in one file.
#[derive(Parser)]
#[command(name = "flemma", version, about, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve a Neovim over standard input and output; the plugin starts this.
    Host {
        /// Be the process that does the work; started by the one that watches it.
        #[arg(long, hide = true)]
        inner: bool,
        /// The one that watches collects the orphans of what this one starts.
        #[arg(long, hide = true)]
        collected: bool,
    },
    /// Show what was decided lately, what ran, and how it ended.
    Log {
        /// How many records.
        #[arg(default_value_t = log::USUAL_COUNT)]
        count: usize,
        /// Print JSON lines.
        #[arg(long)]
        json: bool,
    },
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Host { inner: false, .. } => supervise::watch(),
        Command::Host {
            inner: true,
            collected,
        } => host::run(collected),
        Command::Log { count, json } => log::print(count, json),
    }
}
