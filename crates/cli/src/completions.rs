//! `flemma completions`: shell completions, generated from the command line's definition.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::arguments::CommandLine;
use crate::stdout;

/// Prints the completions for a shell.
pub fn print(shell: Shell) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut CommandLine::command(), "flemma", &mut script);
    stdout::print_page(&script)
}
