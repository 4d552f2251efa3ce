//! The `flemma` binary: the host behind the Neovim plugin, and the same for a shell.
//!
//! Reads the command line and starts what it names. Under `host` standard output is
//! the wire to Neovim, so nothing prints to it there.

mod agree;
mod agreeing;
mod arguments;
mod backends;
mod commands;
mod config;
mod direct;
mod exit_code;
mod handover;
mod headless;
mod health;
mod local_guide;
mod log;
mod mcp_commands;
mod scaffold;
mod stdout;
mod supervise;
mod terminal;
mod written;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

// Modules of other crates, under the names that this crate uses.
use nvim::host;
use policy::{frontmatter, options, rules, sandbox, settings, trust};
use session::{
    audit, call_environment, config_dir, credentials, editor, endpoint, frontend, lease,
    mcp_servers, protocol, resolver_calls, scripts, shared, spec,
};
use tools::state_dir;

use arguments::{Arguments, Command, OtherThanRun, Tool};

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let name = words.next();
    let mut words: Vec<OsString> = words.collect();
    if let Some((first, rest)) = words.split_first()
        && first == tools::LEASH
    {
        return tools::hold_leash(rest);
    }
    let start = match supervise::start(&mut words) {
        Ok(start) => start,
        Err(code) => return code,
    };
    if let Some(watch_or_work) = for_neovim(&words) {
        return watch_or_work(start);
    }
    let Arguments {
        inner,
        collected,
        command,
    } = Arguments::parse_from(name.into_iter().chain(words));
    match command {
        Command::Host if inner => serve_neovim(collected),
        Command::Host => supervise::watch_host(start),
        Command::Local => local_guide::print(),
        Command::Health => health::print(),
        Command::Log { count, json } => log::print(count, json),
        Command::Tools(tools) => commands::tools(tools),
        Command::Backends { config } => commands::backends(config),
        Command::Trust(trust) => commands::trust(&trust),
        Command::Completions { shell } => written::completions(shell),
        Command::Man { command } => written::manual(command.as_deref()),
        Command::Tool(Tool {
            other: Some(OtherThanRun::New(new)),
            ..
        }) => scaffold::write(&new),
        Command::Run(run) if run.command.is_none() => commands::run(run),
        // What runs tools is watched, so that nothing outlives it.
        _ if !inner => supervise::watch_command(start),
        Command::Send(send) => {
            supervise::follow_watcher(collected);
            commands::send(send)
        }
        Command::Run(run) => {
            supervise::follow_watcher(collected);
            commands::run(run)
        }
        Command::Tool(tool) => {
            supervise::follow_watcher(collected);
            commands::tool(tool)
        }
        Command::Mcp(mcp) => {
            supervise::follow_watcher(collected);
            mcp_commands::command(mcp)
        }
    }
}

/// What the plugin starts, and what that starts: read without all that a command line can
/// say, which takes half a megabyte in each of the two processes.
fn for_neovim(words: &[OsString]) -> Option<fn(supervise::Start) -> ExitCode> {
    let words: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    match *words?.as_slice() {
        ["host"] => Some(supervise::watch_host),
        ["--inner", "host"] => Some(|_| serve_neovim(false)),
        ["--inner", "--collected", "host"] => Some(|_| serve_neovim(true)),
        _ => None,
    }
}

/// Serves the Neovim at our standard streams. `collected` is whether the watcher collects
/// orphans.
fn serve_neovim(collected: bool) -> ExitCode {
    supervise::follow_watcher(collected);
    host::run()
}
