//! The command line: what can be said, with the help that `--help`, the manual page
//! and completions are made of.

mod mcp;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

pub use mcp::{Mcp, McpCommand};

/// Talk to a language model, and let it use tools, in .chat files.
#[derive(Debug, Parser)]
#[command(
    name = "flemma",
    version,
    arg_required_else_help = true,
    max_term_width = 100
)]
pub struct Arguments {
    /// Be the process that does the work; started by the one that watches it.
    #[arg(long, hide = true)]
    pub inner: bool,
    /// The one that watches collects the orphans of what this one starts.
    #[arg(long, hide = true)]
    pub collected: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Go on with a chat as Ctrl-] does in Neovim, until it rests.
    ///
    /// The answer goes to standard output and the file is rewritten as the buffer
    /// would be. A call that no rule approves is asked about: on a terminal, or
    /// answered by the lines of standard input; where there is nobody, it is denied.
    ///
    /// Exit codes: 0 done, 1 error, 2 wrong command line, 3 a limit was reached (too
    /// many requests in a row, or an answer cut by its token limit), 4 a call was
    /// denied, 130 cancelled.
    Send(Send),
    /// Run one tool, by the same rules as in a chat, and print its result.
    ///
    /// Exit codes: 0 done, 1 the tool failed, 2 wrong command line, 4 denied,
    /// 130 cancelled.
    Tool(Tool),
    /// Run a command: a prompt with arguments, written as YAML.
    ///
    /// Commands are NAME.yaml in `flemma/commands` beside the options, or in
    /// `.flemma/commands` of the current folder; a path names a file. Without a name
    /// they are listed. At most 5 requests are made unless --max-turns says so.
    ///
    /// Exit codes: as of `send`.
    Run(Run),
    /// Tools of other programs over the Model Context Protocol, and ours for them.
    Mcp(Mcp),
    /// List the tools, and whether each runs, asks or is denied.
    Tools(Tools),
    /// Let the tools run that came with a project, in its folder `.flemma/tools`; or,
    /// of a chat, let its frontmatter loosen your options.
    ///
    /// What that is is listed and you are asked; what you agree to is what stands there
    /// now, here and in Neovim. Each call goes by the rules all the same.
    ///
    /// Exit codes: 0 done, 1 error, 2 wrong command line, 4 not agreed to.
    Trust(Trust),
    /// List the providers: where each is, its model, and whether somebody answers.
    ///
    /// Nothing is asked of a model and no key is sent.
    Backends {
        /// Read the options from this file instead of `flemma/config.toml`.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        config: Option<PathBuf>,
    },
    /// Print the completions of a shell, for it to read.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, for `man -l -`.
    Man {
        /// The page of one command.
        command: Option<String>,
    },
    /// Serve a Neovim over standard input and output; the plugin starts this.
    Host,
    /// Report on options and providers for `:checkhealth`, with the options as JSON on
    /// standard input.
    #[command(hide = true)]
    Health,
    /// Say how to get a server and a model for the provider `local`.
    Local,
    /// Show what was decided lately, what ran, and how it ended.
    Log {
        /// How many records.
        #[arg(default_value_t = crate::log::USUAL_COUNT)]
        count: usize,
        /// Print JSON lines.
        #[arg(long)]
        json: bool,
    },
}

/// `flemma send`
#[derive(Debug, Args)]
pub struct Send {
    /// The chat.
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Write this message into the chat first; begins the chat if there is none.
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub message: Option<String>,
    /// Add what comes on standard input to the message, as a block of text.
    #[arg(long)]
    pub stdin: bool,
    /// Say this when the model is done, as a message of its own; again and again, in
    /// order. What cannot be sent any more stands at the end of the chat.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub follow_up: Vec<String>,
    /// Show what would be sent and run, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Print only the words of the last answer, at the end.
    #[arg(long)]
    pub last: bool,
    /// Whom to send to, and how often.
    #[command(flatten)]
    pub model: Model,
    /// How it goes about it.
    #[command(flatten)]
    pub options: Options,
}

/// `flemma run`
#[derive(Debug, Args)]
pub struct Run {
    /// Its name, or its file.
    pub command: Option<String>,
    /// What it takes: values in order, or name=value.
    pub arguments: Vec<String>,
    /// Keep the conversation in this file, which must not exist.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub chat: Option<PathBuf>,
    /// Show what would be sent, and send nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Whom to send to, and how often.
    #[command(flatten)]
    pub model: Model,
    /// How it goes about it.
    #[command(flatten)]
    pub options: Options,
}

/// Whom to send to, and how often.
#[derive(Debug, Args)]
pub struct Model {
    /// Whom to send to, instead of the option `provider`.
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// The model, instead of the option `model`.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Most requests in a row.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,
}

/// `flemma tool`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(disable_help_subcommand = true)]
pub struct Tool {
    /// What else can be done with tools.
    #[command(subcommand)]
    pub other: Option<OtherThanRun>,
    /// Its name.
    #[arg(required = true)]
    pub name: Option<String>,
    /// Its arguments, as a JSON object.
    #[arg(default_value = "{}")]
    pub json: String,
    /// How it goes about it.
    #[command(flatten)]
    pub options: Options,
}

/// `flemma tools`
#[derive(Debug, Args)]
pub struct Tools {
    /// Only those that fit these words, the best first.
    #[arg(long, value_name = "WORDS")]
    pub search: Option<String>,
    /// A folder with tools of yours, beside those of the options.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub tools_dir: Vec<PathBuf>,
    /// Read the options from this file instead of `flemma/config.toml`.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
}

/// `flemma trust`
#[derive(Debug, Args)]
pub struct Trust {
    /// The project, instead of the current folder; or a chat.
    #[arg(value_hint = ValueHint::AnyPath)]
    pub path: Option<PathBuf>,
    /// Take it back.
    #[arg(long)]
    pub revoke: bool,
    /// Agree without being asked.
    #[arg(short, long, conflicts_with = "revoke")]
    pub yes: bool,
    /// Read the options from this file instead of `flemma/config.toml`.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
}

/// What can be done with tools beside running them.
#[derive(Debug, Subcommand)]
pub enum OtherThanRun {
    /// Write a tool of your own that works at once, to go on from: a folder with a
    /// `tool.toml` and a script.
    New(NewTool),
}

/// `flemma tool new`
#[derive(Debug, Args)]
pub struct NewTool {
    /// Its name.
    pub name: String,
    /// What its script is written in.
    #[arg(long, value_name = "LANGUAGE", default_value = "python")]
    pub lang: Language,
    /// The folder of tools it is written to, instead of `flemma/tools` beside the options.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub tools_dir: Option<PathBuf>,
}

/// What a script is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// With the modules `llmr.mcp` and `llmr.ai`.
    Python,
    /// With its arguments in variables.
    Bash,
}

/// What all commands have in common that run tools.
#[derive(Debug, Args)]
pub struct Options {
    /// Tools and presets that run without asking, beside those of the options.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub approve: Vec<String>,
    /// Answer every question with yes.
    #[arg(short, long)]
    pub yes: bool,
    /// A folder with tools of yours, beside those of the options.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub tools_dir: Vec<PathBuf>,
    /// Refuse shell commands that are not on the list of those that only read.
    #[arg(long)]
    pub restricted: bool,
    /// Print everything that happens, in this form.
    #[arg(long, value_name = "FORM")]
    pub events: Option<Events>,
    /// Show what the model asks for and gets, in full, on standard error.
    #[arg(long, env = "FLEMMA_DEBUG", value_parser = clap::builder::FalseyValueParser::new())]
    pub debug: bool,
    /// Read the options from this file instead of `flemma/config.toml`.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
}

/// A form of events.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Events {
    /// One JSON object a line.
    Jsonl,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn help_of_every_command_fits_the_terminal() {
        let mut command = Arguments::command().term_width(80);
        command.build();
        let mut waiting = vec![command];
        while let Some(mut command) = waiting.pop() {
            let help = command.render_long_help().to_string();
            let longest = help.lines().map(|line| line.chars().count()).max();
            assert!(longest <= Some(80), "{}: {longest:?}", command.get_name());
            waiting.extend(command.get_subcommands().cloned());
        }
    }
}
