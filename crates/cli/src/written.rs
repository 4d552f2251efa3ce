//! The command line as a manual page and as completions, made of its definition.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::exit_code::Code;
use crate::stdout;
use crate::terminal;

/// Prints what a shell reads to complete our command line.
pub fn completions(shell: Shell) -> ExitCode {
    let mut page = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "flemma", &mut page);
    print(&page)
}

/// Prints the manual page, or that of one command.
pub fn manual(name: Option<&str>) -> ExitCode {
    let mut whole = Arguments::command();
    whole.build();
    let command = match name {
        None => Some(whole),
        Some(name) => whole.find_subcommand(name).cloned(),
    };
    let Some(command) = command else {
        let name = name.unwrap_or_default();
        terminal::tell(&format!(
            "There is no command \"{name}\". `flemma help` lists them."
        ));
        return Code::Usage.into();
    };
    let mut page = Vec::new();
    match clap_mangen::Man::new(command).render(&mut page) {
        Ok(()) => print(&page),
        Err(_) => Code::Error.into(),
    }
}

fn print(page: &[u8]) -> ExitCode {
    let page = String::from_utf8_lossy(page);
    stdout::print(page.trim_end_matches('\n')).into()
}
