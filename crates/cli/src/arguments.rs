//! The arguments of the command line, and the help from which `--help`, the manual page,
//! and completions are generated.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

use crate::terminal::{self, Code};

/// Chat with a language model, and let it use tools, in .chat files.
#[derive(Debug, Parser)]
#[command(
    name = "flemma",
    version,
    arg_required_else_help = true,
    max_term_width = 100
)]
pub struct CommandLine {
    /// Run as the worker process; started by the watcher.
    #[arg(long, hide = true)]
    pub inner: bool,
    /// The watcher collects this process's orphans.
    #[arg(long, hide = true)]
    pub collected: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: CliCommand,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Commands that start tools or servers, under the watcher.
    #[command(flatten)]
    Supervised(SupervisedCommand),
    /// Commands that start neither.
    #[command(flatten)]
    Local(LocalCommand),
    /// Serve Neovim over standard input and output; the plugin starts this.
    Host,
}

/// Commands that start tools or servers. The watcher ends whatever these leave running.
#[derive(Debug, Subcommand)]
pub enum SupervisedCommand {
    /// Send a chat as Ctrl-] does in Neovim, and continue until the model is done.
    ///
    /// The answer goes to standard output, and the file is changed as the buffer would
    /// be. If no rule approves a call, flemma asks: on a terminal you answer, otherwise
    /// the lines of standard input do. Without an answer, the call is denied.
    ///
    /// Exit codes: 0 done, 1 error, 2 wrong command line, 3 limit reached (too many
    /// requests in a row, the same failing call three times, or an answer cut off by
    /// its token limit), 4 a call was denied, 130 cancelled.
    Send(Send),
    /// Ask one question in a new chat, and print the answer.
    ///
    /// The chat is not kept unless --chat names a file. Tools run by the same rules as in
    /// `send`.
    ///
    /// Exit codes: the same as `send`.
    Ask(Ask),
    /// Show what the next request of a chat contains: tokens by part, what was sent before,
    /// and the price.
    ///
    /// Sends no request. Anthropic, OpenAI, and Gemini are asked to count the tokens, for
    /// which they get the chat; otherwise they are estimated. References are read as for a
    /// request, so a file that may not be sent is an error.
    ///
    /// Exit codes: 0 done, 1 error, 2 wrong command line, 130 cancelled.
    Context(ContextArgs),
    /// Run one tool with the same rules as in a chat, and print its result.
    ///
    /// Exit codes: 0 done, 1 the tool failed, 2 wrong command line, 4 denied,
    /// 130 cancelled.
    Tool(ToolArgs),
    /// Run a command: a prompt with arguments, written as YAML.
    ///
    /// Commands are NAME.yaml in `flemma/commands` next to the options or in
    /// `.flemma/commands` of the current folder. A path names a file. Without a name,
    /// all commands are listed. At most 5 requests are made unless --max-turns is given.
    ///
    /// Exit codes: the same as `send`.
    Run(RunArgs),
    /// Use MCP servers, or serve Flemma's tools over the Model Context Protocol.
    Mcp(Mcp),
    /// Check the options, providers, sandbox, MCP servers, and folders, and say how to fix
    /// what is wrong.
    ///
    /// Starts the configured MCP servers, and a command that tries to leave the sandbox. Sends
    /// nothing to a model, and no key.
    Health {
        /// Print JSON lines for `:checkhealth`; the options are JSON on standard input.
        #[arg(long)]
        json: bool,
        /// Report only on the options and the keys; start and contact nothing.
        #[arg(long)]
        offline: bool,
    },
}

/// Commands that start no tool and no server.
#[derive(Debug, Subcommand)]
pub enum LocalCommand {
    /// List the tools, and whether each runs, asks, or is denied.
    Tools(ToolsArgs),
    /// List the options, skills, and templates that the project of the current folder has
    /// in `.flemma`, and whether you trust them. Also lists your own skills.
    Project {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Trust a project's options, skills, templates, and tools in `.flemma`, or a chat's
    /// frontmatter that loosens your options.
    ///
    /// Lists what would be trusted and asks. Trust holds for the current content, here
    /// and in Neovim. The rules still decide about each call.
    ///
    /// Exit codes: 0 done, 1 error, 2 wrong command line, 4 not trusted.
    Trust(TrustArgs),
    /// Restore the files that the last call changed.
    ///
    /// Lists the files and asks. A file that has changed since is merged, or stays as it
    /// is. Without a chat, the last call in the current project is meant.
    ///
    /// Exit codes: 0 done, 1 error, 2 wrong command line, 4 nothing was changed.
    Undo(Undo),
    /// List the providers: address, model, and whether each one answers.
    ///
    /// Sends nothing to a model, and no key.
    Backends {
        /// Read the options from this file instead of `flemma/config.toml`.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        config: Option<PathBuf>,
    },
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, for `man -l -`.
    Man {
        /// The page of one command.
        command: Option<String>,
    },
    /// Explain how to get a server and a model for the provider `local`.
    #[command(name = "local")]
    LocalGuide,
    /// Show recent decisions and calls, and how the calls ended.
    Log {
        /// Number of records.
        #[arg(default_value_t = session::log::USUAL_COUNT)]
        count: usize,
        /// Print JSON lines.
        #[arg(long)]
        json: bool,
        /// Print what calls changed in files.
        #[arg(long, conflicts_with = "json")]
        diff: bool,
    },
    /// Show tokens and cost of all requests, per day, model, and project.
    ///
    /// Counts requests of Neovim and of the command line. Days are in UTC.
    Usage {
        /// Number of days, today included.
        #[arg(default_value_t = session::usage::log::USUAL_DAYS)]
        #[arg(value_parser = clap::value_parser!(u32).range(1..))]
        days: u32,
        /// Print one JSON object.
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
    /// Add this message to the chat first; creates the chat if it does not exist.
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub message: Option<String>,
    /// Add standard input to the message, as a block of text.
    #[arg(long)]
    pub stdin: bool,
    /// Send this message when the model is done; can be repeated. A message that cannot
    /// be sent is written to the end of the chat.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub follow_up: Vec<String>,
    /// Show what would be sent and run; change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Print only the text of the last answer.
    #[arg(long)]
    pub last: bool,
    /// Provider, model, and number of requests.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Approval, output, and options.
    #[command(flatten)]
    pub options: RunOptions,
}

/// `flemma ask`
#[derive(Debug, Args)]
pub struct Ask {
    /// The question.
    #[arg(required = true)]
    pub question: Vec<String>,
    /// Add standard input to the question, as a block of text.
    #[arg(long)]
    pub stdin: bool,
    /// Keep the conversation in this file, which must not exist yet.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub chat: Option<PathBuf>,
    /// Provider, model, and number of requests.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Approval, output, and options.
    #[command(flatten)]
    pub options: RunOptions,
}

/// `flemma run`
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Name or file of the command.
    pub command: Option<String>,
    /// Arguments: values in order, or name=value.
    pub arguments: Vec<String>,
    /// Keep the conversation in this file, which must not exist yet.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub chat: Option<PathBuf>,
    /// Show what would be sent; send nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Provider, model, and number of requests.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Approval, output, and options.
    #[command(flatten)]
    pub options: RunOptions,
}

/// Provider, model, and number of requests.
#[derive(Debug, Args)]
pub struct ModelArgs {
    /// Provider, instead of the option `provider`.
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Model, instead of the option `model`.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Maximum number of requests in a row.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,
    /// Share of the model's context from which the model summarizes the earlier messages before a
    /// request, such as 80%.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub compact_at: Option<String>,
    /// Let the provider search the web and read pages itself, without asking; with a word, only
    /// one of both.
    #[arg(
        long,
        value_name = "TOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "all",
        value_parser = ["all", "search", "fetch", "off"]
    )]
    pub web: Option<String>,
}

fn share(text: &str) -> Result<String, String> {
    match policy::options::share(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err("a share such as 80% is needed".to_owned()),
    }
}

/// `flemma context`
#[derive(Debug, Args)]
pub struct ContextArgs {
    /// The chat.
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Provider, instead of the option `provider`.
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Model, instead of the option `model`.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Read the options from this file instead of `flemma/config.toml`.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
}

/// `flemma tool`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(disable_help_subcommand = true)]
pub struct ToolArgs {
    /// Other commands for tools.
    #[command(subcommand)]
    pub command: Option<ToolSubcommand>,
    /// Name of the tool.
    #[arg(required = true)]
    pub name: Option<String>,
    /// Arguments of the tool, as a JSON object.
    #[arg(default_value = "{}")]
    pub json: String,
    /// Approval, output, and options.
    #[command(flatten)]
    pub options: RunOptions,
}

/// `flemma tools`
#[derive(Debug, Args)]
pub struct ToolsArgs {
    /// Only tools that match these words, best first.
    #[arg(long, value_name = "WORDS")]
    pub search: Option<String>,
    /// Folder with script tools, in addition to those of the options.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub tools_dir: Vec<PathBuf>,
    /// Read the options from this file instead of `flemma/config.toml`.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
}

/// `flemma trust`
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// Project (default: the current folder) or chat.
    #[arg(value_hint = ValueHint::AnyPath)]
    pub path: Option<PathBuf>,
    /// Revoke the trust.
    #[arg(long)]
    pub revoke: bool,
    /// Trust without asking.
    #[arg(short, long, conflicts_with = "revoke")]
    pub yes: bool,
    /// Read the options from this file instead of `flemma/config.toml`.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
}

/// `flemma undo`
#[derive(Debug, Args)]
pub struct Undo {
    /// Only calls of this chat. Can be left out before FILE.
    #[arg(value_hint = ValueHint::FilePath)]
    pub chat: Option<PathBuf>,
    /// Restore only this file, as it was before the last call that changed it.
    #[arg(value_hint = ValueHint::FilePath, conflicts_with_all = ["redo", "turns"])]
    pub file: Option<PathBuf>,
    /// Revert the last undo.
    #[arg(long)]
    pub redo: bool,
    /// Restore the files of the last turns instead of the last call.
    #[arg(long, value_name = "NUMBER", conflicts_with = "redo")]
    pub turns: Option<usize>,
    /// Also restore files that have changed since.
    #[arg(long)]
    pub overwrite: bool,
    /// If all files of the call have changed since, leave them, and go on to the call before.
    #[arg(long, conflicts_with = "overwrite")]
    pub skip: bool,
    /// Restore without asking.
    #[arg(short, long)]
    pub yes: bool,
}

/// Commands for tools other than running one.
#[derive(Debug, Subcommand)]
pub enum ToolSubcommand {
    /// Create a script tool that works at once: a folder with a `tool.toml` and a
    /// script.
    New(NewTool),
}

/// `flemma tool new`
#[derive(Debug, Args)]
pub struct NewTool {
    /// Name of the tool.
    pub name: String,
    /// Language of the script.
    #[arg(long, value_name = "LANGUAGE", default_value = "python")]
    pub lang: ScriptLanguage,
    /// Folder for the tool, instead of `flemma/tools` next to the options.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub tools_dir: Option<PathBuf>,
}

/// Language of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScriptLanguage {
    /// Python, with the modules `llmr.mcp` and `llmr.ai`.
    Python,
    /// Bash, with the arguments in variables.
    Bash,
}

/// Options of all commands that run tools.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// Tools and presets that run without asking, in addition to those of the options.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub approve: Vec<String>,
    /// Answer all questions with yes.
    #[arg(short, long)]
    pub yes: bool,
    /// Try commands before asking about them, and show what they would change.
    #[arg(long)]
    pub trial: bool,
    /// Folder with script tools, in addition to those of the options.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub tools_dir: Vec<PathBuf>,
    /// Refuse shell commands that do more than read.
    #[arg(long)]
    pub restricted: bool,
    /// Print all events in this format.
    #[arg(long, value_name = "FORMAT")]
    pub events: Option<EventFormat>,
    /// Show each call and result in full on standard error.
    #[arg(long, env = "FLEMMA_DEBUG", value_parser = clap::builder::FalseyValueParser::new())]
    pub debug: bool,
    /// Read the options from this file instead of `flemma/config.toml`.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
}

/// A format of events.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum EventFormat {
    /// One JSON object per line.
    Jsonl,
}

/// `flemma mcp`
#[derive(Debug, Args)]
pub struct Mcp {
    /// What to do.
    #[command(subcommand)]
    pub command: McpCommand,
}

/// Commands of `flemma mcp`.
#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// Serve Flemma's tools to another program.
    ///
    /// Without --http, serves the program that started this, over standard input and
    /// output. A call runs if the options or --approve approve its tool. All other calls
    /// end in an error that says so, because there is no one to ask. Tools of configured
    /// MCP servers are not offered.
    ///
    /// Any program that can reach the address can call the tools. With
    /// $FLEMMA_MCP_TOKEN set, requests must have the header `Authorization: Bearer
    /// TOKEN`; without it, only addresses of this machine are served.
    Serve {
        /// Serve over HTTP at this address and port, under the path /mcp.
        #[arg(long, value_name = "ADDRESS:PORT")]
        http: Option<std::net::SocketAddr>,
        /// Tools and presets that run, in addition to those of the options.
        #[arg(long, value_name = "LIST", value_delimiter = ',')]
        approve: Vec<String>,
        /// Also serve the script tools in this folder.
        #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        tools_dir: Vec<PathBuf>,
        /// Read the options from this file instead of `flemma/config.toml`.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        config: Option<PathBuf>,
    },
    /// List the MCP servers of the options and of a trusted project.
    List {
        /// Describe this server and its tools in full.
        server: Option<String>,
        /// Start the servers and request their tools.
        #[arg(long)]
        start: bool,
        /// Read the options from this file instead of `flemma/config.toml`.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        config: Option<PathBuf>,
    },
    /// Accept a server's current tools.
    Accept {
        /// Name of the server.
        server: String,
        /// Read the options from this file instead of `flemma/config.toml`.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        config: Option<PathBuf>,
    },
    /// Log in at a server: prints an address to open in a browser.
    Login {
        /// Name of the server.
        server: String,
        /// Read the options from this file instead of `flemma/config.toml`.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        config: Option<PathBuf>,
    },
    /// Remove the login at a server.
    Logout {
        /// Name of the server.
        server: String,
        /// Read the options from this file instead of `flemma/config.toml`.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        config: Option<PathBuf>,
    },
    /// Trust the servers in the project's `.mcp.json`, with its current content.
    Trust,
}

/// Prints the completions for a shell.
pub fn print_completions(shell: Shell) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut CommandLine::command(), "flemma", &mut script);
    terminal::print_page(&script)
}

/// Prints the manual page of flemma, or of one command.
pub fn print_manual(command: Option<&str>) -> ExitCode {
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
        Ok(()) => terminal::print_page(&page),
        Err(_) => Code::Error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn help_of_every_command_fits_the_terminal() {
        let mut command = CommandLine::command().term_width(80);
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
