//! The built-in tools against a real file system and real processes, through the
//! same `run` that the host calls. Knows nothing of the tools' insides.
#![allow(clippy::unwrap_used)]

mod bash;
mod edit;
mod fixture;
mod fs_search;
mod growth;
mod http;
mod names;
mod race;
mod read;
mod run;
mod sandbox;
mod script_runs;
mod scripts;
mod secrets;
mod tree;
mod write;
