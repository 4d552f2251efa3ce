//! Executes tool calls: the [`Tool`] trait, the built-in tools, and process supervision.
//!
//! This crate sits below the rules and above the operating system. It does not know whether a
//! call is allowed, what a `.chat` file looks like, or which front end made the call. It refers
//! to the editor only through [`OpenBuffers`].

mod address;
mod alias;
mod bash;
mod buffers;
mod builtin;
mod calculator;
pub mod checkpoints;
mod context;
mod edit;
mod elicitation;
mod error;
mod file_access;
pub mod file_names;
mod files;
mod fs_search;
mod git_diff;
mod git_index;
mod http;
mod job_tools;
mod jobs;
mod merge;
mod models;
mod mounts;
mod names;
mod nested;
pub mod objects;
mod output;
mod patch;
mod pdf;
mod pictures;
mod planned;
mod private;
mod process;
mod progress;
mod proposal;
mod read;
mod registry;
mod replace;
mod run;
mod sandbox;
mod schema;
mod screen;
mod scripts;
mod search;
mod secrets;
mod seen;
mod shell;
pub mod sources;
pub mod state_dir;
mod todo;
mod tool;
mod tool_search;
mod trial;
mod variables;
mod write;

pub use address::{HostList, is_private, is_public, is_this_machine};
pub use bash::why_untried;
pub use buffers::{NoBuffers, OpenBuffers, OpenText, Replaced, Replacement};
pub use builtin::{FileUse, PRESETS};
pub use context::{BashOptions, Confinement, Exec, Progress, ToolContext, User};
pub use elicitation::{
    Choice, Elicitation, Field, FieldKind, Form, FormContent, FormReply, NoElicitation, enough,
};
pub use error::ToolError;
pub use file_access::FileAccess;
pub use files::{
    ApprovedPath, Changes, FileState, Fingerprint, RealPath, ShownFiles, Unshown, leads_to,
    resolve, without_dots, write_whole,
};
pub use git_diff::{DiffText, GitDiff, GitProblem, git_diff, without_secrets};
pub use job_tools::JOB_TOOLS;
pub use jobs::{Background, JobEnd, JobEnds, JobOwner, JobSummary, Jobs, LogPart, duration};
pub use merge::merge;
pub use models::{ModelMessage, ModelRequest, Models};
pub use names::{fold, folded};
pub use nested::Nested;
pub use output::{TextEnd, within_limits};
pub use pdf::{PAGES, read_pages};
pub use pictures::{result_file, sniffed};
pub use private::{TemporaryFile, TemporaryFolder, TemporaryPath, sweep as sweep_unfinished};
pub use process::{
    CommandOutput, LEASH, Program, ProgramOutput, WATCH, close_to_others, end_descendants,
    hold_leash, hold_watch, leash_beside, leash_with, prepare_command, run_argv, watched_by,
};
pub use proposal::{AppliedFiles, Proposal, ProposedFile};
pub use registry::{
    BUILTIN, Clash, Precedence, Registry, aliases, default_tools, preset, with_access,
};
pub use run::{Ran, run, run_in_full};
pub use sandbox::{
    Backend, Missing, Names, Network, OUTLET, SANDBOX_PROGRAM, Sandbox, SandboxLimits, Tmp, VIEW,
    chats_tmp, cuts_off_abstract_sockets, find_out, hold_view, keeps_from_setuid, open_outlet,
    paths_in, tmp_folder,
};
pub use screen::Screen;
pub use scripts::{ScriptFolder, ScriptProblem, ScriptRoot, digest};
pub use search::{Hit, SearchEntry, search};
pub use secrets::{Concealed, SecretFile, SecretKind, Secrets};
pub use seen::SeenFiles;
pub use shell::{
    Machine, Needs, ShellLists, Unsafe, forbidden, inspect, is_reader, parts, reading_parts,
    review, run_arguments,
};
pub use todo::{Task, TaskStatus};
pub use tool::{Tool, ToolResult, ToolTraits};
pub use trial::{Outcome, Trial, clear_scratch};
pub use url::Url;
pub use variables::{
    PASSED, add_variables, encode_variables, is_added_variable, is_provider_key, pass_variables,
    secret_variables, variable, variable_os, variables,
};

pub use self::state_dir::{chat_folder, state_home};
