//! The `flemma` binary: the host that the Neovim plugin starts, and the command line.
//!
//! Under `flemma host`, standard output is the channel to Neovim, so nothing may print to it.

mod arguments;
mod backends;
mod commands;
mod completions;
mod config;
mod direct;
mod exit_code;
mod handover;
mod headless;
mod health;
mod local_guide;
mod log;
mod man_pages;
mod mcp_commands;
mod problems;
mod project_report;
mod reach;
mod runtime;
mod scaffold;
mod stdout;
mod supervise;
mod terminal;
mod trust;
mod undo;
mod usage_command;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use arguments::{CliCommand, CommandLine, ToolArgs, ToolSubcommand};
use supervise::WorkerStart;

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let name = words.next();
    let mut words: Vec<OsString> = words.collect();
    // First, because a command waits for its leash, and parsing arguments takes longer.
    match words.split_first() {
        Some((first, rest)) if first == tools::LEASH => return tools::hold_leash(rest),
        Some((first, rest)) if first == tools::VIEW => return tools::hold_view(rest),
        _ => {}
    }
    let start = match supervise::start(&mut words) {
        Ok(start) => start,
        Err(code) => return code,
    };
    // Neovim starts the host this way. It waits for it, and needs no parser of arguments.
    match host_command(&words) {
        Some(serve_or_watch) => serve_or_watch(start),
        None => run(
            CommandLine::parse_from(name.into_iter().chain(words)),
            start,
        ),
    }
}

/// Returns the function for the arguments that the plugin and the watcher use.
///
/// clap is not asked, because its definition of the whole command line takes half a megabyte
/// in each of the two processes.
fn host_command(words: &[OsString]) -> Option<fn(WorkerStart) -> ExitCode> {
    let words: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    match *words?.as_slice() {
        ["host"] => Some(supervise::watch_host),
        ["--inner", "host"] => Some(|_| serve_neovim(false)),
        ["--inner", "--collected", "host"] => Some(|_| serve_neovim(true)),
        _ => None,
    }
}

/// Runs a command that starts no tool, or has the watcher run it.
fn run(arguments: CommandLine, start: WorkerStart) -> ExitCode {
    match arguments.command {
        CliCommand::Host if arguments.inner => serve_neovim(arguments.collected),
        CliCommand::Host => supervise::watch_host(start),
        CliCommand::Local => local_guide::print(),
        CliCommand::Log { count, json, diff } => log::print(count, json, diff),
        CliCommand::Usage { days, json } => usage_command::print(days, json),
        CliCommand::Tools(tools) => commands::tools(tools),
        CliCommand::Backends { config } => commands::backends(config),
        CliCommand::Project { json } => project_report::print(json),
        CliCommand::Trust(arguments) => trust::command(&arguments),
        CliCommand::Undo(arguments) => undo::command(&arguments),
        CliCommand::Completions { shell } => completions::print(shell),
        CliCommand::Man { command } => man_pages::print(command.as_deref()),
        CliCommand::Tool(ToolArgs {
            command: Some(ToolSubcommand::New(new)),
            ..
        }) => scaffold::write(&new),
        CliCommand::Run(run) if run.command.is_none() => commands::list_commands(),
        // All others run tools. The watcher ends whatever these leave running.
        _ if !arguments.inner => supervise::watch_command(start),
        command => {
            supervise::follow_watcher(arguments.collected);
            run_tools(command)
        }
    }
}

/// Runs a command that starts tools or servers.
fn run_tools(command: CliCommand) -> ExitCode {
    match command {
        CliCommand::Send(send) => commands::send(send),
        CliCommand::Ask(ask) => commands::ask(ask),
        CliCommand::Run(run) => commands::run(run),
        CliCommand::Tool(tool) => commands::tool(tool),
        CliCommand::Mcp(mcp) => mcp_commands::command(mcp),
        CliCommand::Health { json, offline } => health::print(json, offline),
        // `run` handles all others.
        _ => ExitCode::FAILURE,
    }
}

/// Serves the Neovim at the standard streams. `collected` is true if the watcher collects
/// orphans.
fn serve_neovim(collected: bool) -> ExitCode {
    supervise::follow_watcher(collected);
    nvim::host::run()
}
