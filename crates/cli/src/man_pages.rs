//! `flemma man`: manual pages, generated from the command line's definition.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::arguments::CommandLine;
use crate::exit_code::Code;
use crate::stdout;

/// Prints the manual page of flemma, or of one command.
pub fn print(command: Option<&str>) -> ExitCode {
    let mut whole = CommandLine::command();
    // Gives the subcommands their full names, as in `flemma undo`, which the page shows.
    whole.build();
    let found = match command {
        None => Some(whole),
        Some(name) => whole.find_subcommand(name).cloned(),
    };
    let Some(found) = found else {
        let name = command.unwrap_or_default();
        let problem = format!("There is no command \"{name}\". `flemma help` lists them.");
        return Code::Usage.report(&problem);
    };
    let mut page = Vec::new();
    match clap_mangen::Man::new(found).render(&mut page) {
        Ok(()) => stdout::print_page(&page),
        Err(_) => Code::Error.into(),
    }
}
