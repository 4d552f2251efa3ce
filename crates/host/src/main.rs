//! The `flemma` binary: the host behind the Neovim plugin, and the same for a shell.
//!
//! Reads the command line and starts what it names. Under `host` standard output is
//! the wire to Neovim, so nothing prints to it there.

mod agree;
mod agreeing;
mod arguments;
mod audit;
mod backends;
mod buffers;
mod call_environment;
mod commands;
mod completion;
mod config;
mod config_dir;
mod credentials;
mod direct;
mod editor;
mod endpoint;
mod exit_code;
mod form;
mod frontend;
mod half_done;
mod handover;
mod headless;
mod health;
mod host;
mod ids;
mod lease;
mod local;
mod local_guide;
mod log;
mod logging;
mod lua_calls;
mod lua_tools;
mod mcp_commands;
mod mcp_servers;
mod models;
mod neovim;
mod open_files;
mod pending_replies;
mod protocol;
mod resolver_calls;
mod route;
mod rpc;
mod scaffold;
mod scripts;
mod session;
mod shared;
mod spec;
mod status;
mod stdout;
mod supervise;
mod switch;
mod terminal;
mod tutor;
mod unsaid;
mod usage;
mod written;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

// Modules of other crates, under the names that this crate uses.
use policy::{
    digest, frontmatter, options, protected, references, rules, sandbox, settings, trust,
};
use tools::{sources, state_dir};

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
        Command::Host if inner => host::run(collected),
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
        ["--inner", "host"] => Some(|_| host::run(false)),
        ["--inner", "--collected", "host"] => Some(|_| host::run(true)),
        _ => None,
    }
}
