//! The `flemma` binary: the host that the Neovim plugin starts, and the command line.
//!
//! Under `flemma host`, standard output is the channel to Neovim, so nothing may print to it.

mod arguments;
mod backends;
mod commands;
mod config;
mod handover;
mod headless;
mod health;
mod mcp_commands;
mod problems;
mod reports;
mod scaffold;
mod supervise;
mod terminal;
mod trust;
mod undo;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use arguments::{
    CliCommand, CommandLine, LocalCommand, SupervisedCommand, ToolArgs, ToolSubcommand,
};
use clap::Parser;
use supervise::WorkerStart;
use tokio::runtime::Builder;

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let name = words.next();
    let mut words: Vec<OsString> = words.collect();
    // First, because a command waits for its leash, and parsing arguments takes longer.
    match words.split_first() {
        Some((first, rest)) if first == tools::LEASH => return tools::hold_leash(rest),
        Some((first, rest)) if first == tools::VIEW => return tools::hold_view(rest),
        Some((first, rest)) if first == tools::OUTLET => return tools::open_outlet(rest),
        Some((first, rest)) if first == tools::PAGES => return tools::read_pages(rest),
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

/// Runs a command, or has the watcher run it.
fn run(arguments: CommandLine, start: WorkerStart) -> ExitCode {
    match arguments.command {
        CliCommand::Host if arguments.inner => serve_neovim(arguments.collected),
        CliCommand::Host => supervise::watch_host(start),
        CliCommand::Local(command) => run_local(command),
        CliCommand::Supervised(SupervisedCommand::Tool(ToolArgs {
            command: Some(ToolSubcommand::New(new)),
            ..
        })) => scaffold::write(&new),
        CliCommand::Supervised(SupervisedCommand::Run(run)) if run.command.is_none() => {
            commands::list_commands()
        }
        CliCommand::Supervised(_) if !arguments.inner => supervise::watch_command(start),
        CliCommand::Supervised(command) => {
            supervise::follow_watcher(arguments.collected);
            run_supervised(command)
        }
    }
}

/// Runs a command that starts no tool and no server.
fn run_local(command: LocalCommand) -> ExitCode {
    match command {
        LocalCommand::LocalGuide => reports::print_local_guide(),
        LocalCommand::Log { count, json, diff } => reports::print_log(count, json, diff),
        LocalCommand::Usage { days, json } => reports::print_usage(days, json),
        LocalCommand::Tools(tools) => commands::tools(tools),
        LocalCommand::Backends { config } => commands::backends(config),
        LocalCommand::Project { json } => reports::print_project(json),
        LocalCommand::Trust(arguments) => trust::command(&arguments),
        LocalCommand::Undo(arguments) => undo::command(&arguments),
        LocalCommand::Completions { shell } => arguments::print_completions(shell),
        LocalCommand::Man { command } => arguments::print_manual(command.as_deref()),
    }
}

/// Runs a command that starts tools or servers. The watcher ends whatever these leave running.
fn run_supervised(command: SupervisedCommand) -> ExitCode {
    match command {
        SupervisedCommand::Send(send) => commands::send(send),
        SupervisedCommand::Ask(ask) => commands::ask(ask),
        SupervisedCommand::Run(run) => commands::run(run),
        SupervisedCommand::Context(context) => commands::context(context),
        SupervisedCommand::Tool(tool) => commands::tool(tool),
        SupervisedCommand::Mcp(mcp) => mcp_commands::command(mcp),
        SupervisedCommand::Health { json, offline } => health::print(json, offline),
    }
}

/// Serves the Neovim at the standard streams. `collected` is true if the watcher collects
/// orphans.
fn serve_neovim(collected: bool) -> ExitCode {
    supervise::follow_watcher(collected);
    nvim::host::run()
}

/// Maximum time for writes of the log at the end.
const LAST_WRITES: Duration = Duration::from_secs(2);

/// Runs a future to its end.
///
/// # Errors
///
/// The runtime cannot be started; the message is for the user.
fn block_on<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| format!("The program could not start its runtime: {error}."))?;
    let result = runtime.block_on(future);
    session::audit::finish(LAST_WRITES);
    // Does not wait for threads: one may be blocked reading standard input.
    runtime.shutdown_background();
    Ok(result)
}
