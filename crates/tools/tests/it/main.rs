//! The built-in tools with a real file system and real processes, called through `run` like the
//! host does. The tests use only the public interface.
#![allow(clippy::unwrap_used)]

mod bash;
mod edit;
mod fixture;
mod fs_search;
mod growth;
mod http;
#[cfg(unix)]
mod jobs;
mod names;
mod odd_files;
mod patch;
mod race;
mod read;
mod run;
mod sandbox;
mod script_runs;
mod scripts;
mod secrets;
mod tree;
mod write;
