//! The process between the host and a command that no sandbox holds.
//!
//! `flemma --leash` does the same. A program of its own starts in a third of the time,
//! because the dynamic linker has little to relocate.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    match words.split_first() {
        Some((first, rest)) if first == tools::LEASH => tools::hold_leash(rest),
        _ => ExitCode::FAILURE,
    }
}
