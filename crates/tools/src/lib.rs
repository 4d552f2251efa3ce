//! Runs things: the [`Tool`] trait, the built-in tools, process supervision.
//!
//! Below the rules, above the operating system. Whether a call may run, what a
//! `.chat` file looks like and who asked are known elsewhere; the editor is only
//! known as somebody who may have a file open ([`OpenBuffers`]).

mod address;
mod aliases;
mod bash;
mod buffers;
mod calculator;
mod edit;
mod files;
mod http;
mod look;
mod models;
mod names;
mod nested;
mod output;
mod person;
mod process;
mod read;
mod registry;
mod run;
mod sandbox;
mod schema;
mod scripts;
mod search;
mod secrets;
mod shell;
mod state;
mod tool;
mod tool_search;
mod variables;
mod write;

pub use aliases::ALIASES;
pub use buffers::{NoBuffers, OpenBuffers, OpenText, Replaced, Replacement};
pub use files::{
    Changes, Fingerprint, RealPath, Shown, Standing, resolve, sweep_unfinished, write_whole,
};
pub use http::HttpAllow;
pub use models::{Asked, Message, Models};
pub use names::{fold, folded};
pub use nested::Nested;
pub use output::{End, within_limits};
pub use person::{Choice, Field, Form, Kind, NoPerson, Person, Reply, Wanted, enough};
pub use process::{
    Ended, LEASH, PASSED, Program, Said, end_descendants, hold_leash, leash_with, pass_variables,
    run_argv, watched_by,
};
pub use registry::{BUILTIN, Clash, Precedence, Registry, default_tools};
pub use run::{Ran, run, run_in_full};
pub use sandbox::{
    Backend, Limits, Missing, Names, Sandbox, Tmp, cuts_off_abstract_sockets, find_out,
    keeps_from_setuid, leads_to, paths_in, tmp_folder,
};
pub use scripts::{Place, ScriptFolder, ScriptProblem, digest};
pub use search::{Entry, Hit, search};
pub use secrets::{Concealed, Secret, SecretKind, Secrets};
pub use shell::{Machine, Needs, ShellLists, Unsafe, forbidden, inspect, review};
pub use state::state_home;
pub use url::Url;
pub use variables::{
    add_variables, encode_variables, is_added_variable, is_provider_key, secret_variables,
    variable, variable_os, variables,
};

pub use tool::{BashOptions, Confinement, Progress, Tool, ToolContext, ToolError, ToolResult};
