//! The commands that run tools or list them: reads the arguments and starts the work.

use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use chat::approval::{CallKey, Decision, ResolverChain, Verdict};
use chat::document::Document;
use chat::say::say_with_references;
use chat::text::Text;
use chat::tool::ToolUseId;
use policy::settings::judges::exceptions;
use session::spec::{self, CommandSpec};
use tools::{Registry, Tool};

use crate::arguments::{
    Ask, ContextArgs, ModelArgs, RunArgs, RunOptions, Send, ToolArgs, ToolsArgs,
};
use crate::backends;
use crate::config::{self, Config, Flags};
use crate::headless::{self, Chat, Job, Show};
use crate::problems::{current_folder, fail};
use crate::terminal::{self, Code};

/// Default of `--max-turns` for `flemma run`.
const MAX_TURNS: u32 = 5;
/// Time after which a note says that standard input has not ended.
const PATIENCE: Duration = Duration::from_secs(3);

/// `flemma send`
pub fn send(send: Send) -> ExitCode {
    let message = match message(&send) {
        Ok(message) => message,
        Err(problem) => return fail(Code::Error, &[problem]),
    };
    // Before the configuration is read, so that nothing is sent at all.
    if send.follow_up.iter().any(|text| text.trim().is_empty()) {
        let problem = "A message of --follow-up is empty, so nothing was sent.";
        return fail(Code::Error, &[problem.to_owned()]);
    }
    let config = match config::load(&with_model(&send.options, &send.model)) {
        Ok(config) => config,
        Err(code) => return code,
    };
    let chat = Chat::File {
        path: send.file,
        message,
    };
    let show = if send.last {
        Show::LastAnswer
    } else {
        Show::Answers
    };
    let mut job = job(config, &send.options, chat, show);
    job.dry_run = send.dry_run;
    job.follow_ups = send.follow_up;
    headless::run(job)
}

/// Returns the message of `--message` and `--stdin`.
fn message(send: &Send) -> Result<Option<String>, String> {
    let mut message = send.message.clone();
    if send.stdin {
        let block = standard_input()?;
        message = Some(match message {
            Some(message) => format!("{message}\n\n{block}"),
            None => block,
        });
    }
    match message {
        Some(message) if message.trim().is_empty() => {
            Err("The message is empty, so nothing was sent.".to_owned())
        }
        message => Ok(message),
    }
}

/// Returns standard input as a block of text. Says that it waits, if that takes a while.
fn standard_input() -> Result<String, String> {
    let (done, reading) = std::sync::mpsc::channel::<()>();
    let is_typed = std::io::stdin().is_terminal();
    if is_typed {
        terminal::report("Reading standard input; Ctrl-D on an empty line ends it.");
    }
    std::thread::spawn(move || {
        if !is_typed && reading.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            terminal::report("Still reading standard input, which has not ended (--stdin).");
        }
    });
    let mut bytes = Vec::new();
    let read = std::io::stdin().read_to_end(&mut bytes);
    // Fails if the note was printed.
    let _ = done.send(());
    read.map_err(|error| format!("Standard input cannot be read: {error}."))?;
    // Data must not look like a part of the chat's format.
    Ok(headless::fenced(&String::from_utf8_lossy(&bytes)))
}

/// `flemma ask`
pub fn ask(ask: Ask) -> ExitCode {
    let mut question = ask.question.join(" ");
    if ask.stdin {
        match standard_input() {
            Ok(block) => question = format!("{question}\n\n{block}"),
            Err(problem) => return fail(Code::Error, &[problem]),
        }
    }
    if question.trim().is_empty() {
        let problem = "The question is empty, so nothing was sent.";
        return fail(Code::Error, &[problem.to_owned()]);
    }
    let config = match config::load(&with_model(&ask.options, &ask.model)) {
        Ok(config) => config,
        Err(code) => return code,
    };
    let empty = Text::from("");
    let chat = Chat::New {
        lines: say_with_references(&Document::parse(&empty), &question).replacement,
        keep: ask.chat,
    };
    // In a pipe, only the answer matters.
    let show = if std::io::stdout().is_terminal() {
        Show::Answers
    } else {
        Show::LastAnswer
    };
    headless::run(job(config, &ask.options, chat, show))
}

/// `flemma context`
pub fn context(arguments: ContextArgs) -> ExitCode {
    let flags = Flags {
        file: arguments.config,
        provider: arguments.provider,
        model: arguments.model,
        ..Flags::default()
    };
    let config = match config::load(&flags) {
        Ok(config) => config,
        Err(code) => return code,
    };
    let chat = Chat::File {
        path: arguments.file,
        message: None,
    };
    headless::run(Job {
        chat,
        options: config.options,
        config: config.file,
        fixed: config.fixed,
        max_turns: config.settings.tools.autopilot.max_turns,
        approve: config.approve,
        yes: false,
        trial: false,
        show: Show::Context {
            json: arguments.json,
        },
        debug: false,
        dry_run: true,
        follow_ups: Vec::new(),
    })
}

/// `flemma run` with the name of a command.
pub fn run(run: RunArgs) -> ExitCode {
    let lines = match chat_of(&run) {
        Ok(lines) => lines,
        Err((code, problem)) => return fail(code, &[problem]),
    };
    let mut flags = with_model(&run.options, &run.model);
    // A command runs unattended, so it ends sooner than a chat would.
    flags.max_turns.get_or_insert(MAX_TURNS);
    let config = match config::load(&flags) {
        Ok(config) => config,
        Err(code) => return code,
    };
    let chat = Chat::New {
        lines,
        keep: run.chat,
    };
    // In a pipe, only the result matters.
    let show = if std::io::stdout().is_terminal() {
        Show::Answers
    } else {
        Show::LastAnswer
    };
    let mut job = job(config, &run.options, chat, show);
    job.dry_run = run.dry_run;
    headless::run(job)
}

/// Renders the chat of a command with its arguments.
fn chat_of(run: &RunArgs) -> Result<Vec<String>, (Code, String)> {
    let folder = current_folder().map_err(|problem| (Code::Error, problem))?;
    let name = run.command.as_deref().unwrap_or_default();
    let spec = spec::find(name, &folder).map_err(|problem| (Code::Error, problem))?;
    let lines = spec.chat(&spec::CommandArguments::read(&run.arguments, &spec));
    lines.map_err(|problem| (Code::Usage, format!("{problem}.")))
}

/// `flemma run` without a name: lists the commands.
pub fn list_commands() -> ExitCode {
    let folder = match current_folder() {
        Ok(folder) => folder,
        Err(problem) => return fail(Code::Error, &[problem]),
    };
    let mut lines = Vec::new();
    for found in spec::all(&folder) {
        let name = found.path.file_stem().unwrap_or_default().to_string_lossy();
        lines.push(match found.spec {
            Ok(spec) => {
                let usage = format!("{name} {}", usage(&spec));
                format!("{:<32} {}", usage.trim_end(), spec.description)
            }
            Err(error) => format!("{name:<32} broken: {error}"),
        });
    }
    if lines.is_empty() {
        lines.push("There are no commands. `flemma help run` says where to put them.".to_owned());
    }
    terminal::print(&lines.join("\n")).into()
}

fn usage(spec: &CommandSpec) -> String {
    let usage = spec.usage();
    if usage == "no arguments" {
        String::new()
    } else {
        usage
    }
}

/// `flemma tool`
pub fn tool(tool: ToolArgs) -> ExitCode {
    let flags = Flags {
        // The result is the output, so it is not sent to a model.
        autopilot: Some(false),
        ..flags(&tool.options)
    };
    let name = tool.name.unwrap_or_default();
    let (registry, problems) = config::registry(&flags);
    let input = match input(&registry, &name, &tool.json) {
        Ok(input) => input,
        // A tool that cannot be used is missing here, and `problems` says why.
        Err(problem) => return fail(Code::Usage, &[&problems[..], &[problem]].concat()),
    };
    match config::load(&flags) {
        Ok(config) => {
            let chat = Chat::New {
                lines: headless::call(&name, &input),
                keep: None,
            };
            headless::run(job(config, &tool.options, chat, Show::Results))
        }
        Err(code) => code,
    }
}

/// `flemma tools`
pub fn tools(tools: ToolsArgs) -> ExitCode {
    let flags = Flags {
        file: tools.config,
        tools_dir: tools.tools_dir,
        ..Flags::default()
    };
    let (registry, problems) = config::registry(&flags);
    let code = match config::load(&flags) {
        Ok(config) => list(&config, &registry, tools.search.as_deref()),
        Err(code) => code,
    };
    for problem in problems {
        terminal::report(&problem);
    }
    code
}

/// `flemma backends`
pub fn backends(file: Option<PathBuf>) -> ExitCode {
    let flags = Flags {
        file,
        ..Flags::default()
    };
    match config::load(&flags) {
        Ok(config) => backends::print(&config),
        Err(code) => code,
    }
}

fn flags(options: &RunOptions) -> Flags {
    Flags {
        file: options.config.clone(),
        approve: options.approve.clone(),
        tools_dir: options.tools_dir.clone(),
        restricted: options.restricted,
        ..Flags::default()
    }
}

fn with_model(options: &RunOptions, model: &ModelArgs) -> Flags {
    Flags {
        provider: model.provider.clone(),
        model: model.model.clone(),
        max_turns: model.max_turns,
        compact_at: model.compact_at.clone(),
        web: model.web.clone(),
        ..flags(options)
    }
}

fn job(config: Config, options: &RunOptions, chat: Chat, show: Show) -> Job {
    Job {
        chat,
        options: config.options,
        config: config.file,
        fixed: config.fixed,
        max_turns: config.settings.tools.autopilot.max_turns,
        approve: config.approve,
        yes: options.yes,
        trial: options.trial,
        // Events have everything that the other forms show.
        show: options.events.map_or(show, |_| Show::Events),
        debug: options.debug,
        dry_run: false,
        follow_ups: Vec::new(),
    }
}

/// Parses the arguments of a call.
///
/// # Errors
///
/// There is no such tool, or the text is not a JSON object.
pub fn input(registry: &Registry, name: &str, text: &str) -> Result<String, String> {
    if registry.get(name).is_none() {
        let names: Vec<String> = registry.iter().map(|it| it.name().to_owned()).collect();
        let meant = chat::did_you_mean(name, names.iter().map(String::as_str));
        let meant = if meant.is_empty() {
            format!(" Tools: {}.", names.join(", "))
        } else {
            meant
        };
        return Err(format!("There is no tool \"{name}\".{meant}"));
    }
    let input = chat::json::parse_object(text)
        .map_err(|why| format!("The arguments are not a JSON object: {why}."))?;
    Ok(input.to_string())
}

/// Prints a line for each tool: its name, whether it runs, asks, or is denied, and its
/// description. Lists all by name, or those that match `words`, the best match first.
pub fn list(config: &Config, registry: &Registry, words: Option<&str>) -> ExitCode {
    let tools: Vec<&Arc<dyn Tool>> = match words {
        Some(words) => registry.search(words).into_iter().map(|it| it.1).collect(),
        None => registry.iter().collect(),
    };
    if tools.is_empty() {
        let words = words.unwrap_or_default();
        let problem = format!("No tool matches {words:?}. `flemma tools` lists all of them.");
        return Code::Error.report(&problem);
    }
    let chain = config.settings.options(registry).chain;
    let lines: Vec<String> = tools
        .iter()
        .map(|tool| line(&chain, tool.as_ref()))
        .chain(exceptions(&chain).map(|it| format!("bash: {it}.")))
        .collect();
    terminal::print(&lines.join("\n")).into()
}

fn line(chain: &ResolverChain, tool: &dyn Tool) -> String {
    let call = CallKey {
        id: ToolUseId::new("list"),
        name: tool.name().to_owned(),
        // Without arguments, so that rules about arguments decide nothing here. They are listed
        // below.
        input: "{}".to_owned(),
    };
    let decision = match chat::approval::decide_in_general(chain, &call) {
        Verdict::Decided(Decision::Approve, _) => "runs",
        Verdict::Decided(Decision::Deny, _) => "denied",
        _ => "asks",
    };
    // Descriptions are written for models and have many lines.
    let sentence = tool.description().split_inclusive(". ").next();
    let sentence = sentence.unwrap_or_default().trim();
    format!("{:<18} {decision:<7} {sentence}", tool.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_name_and_arguments_that_are_no_object_are_reported() {
        let registry = Registry::builtin();
        assert_eq!(
            input(&registry, "bsah", "{}"),
            Err("There is no tool \"bsah\". Did you mean \"bash\"?".to_owned())
        );
        assert!(input(&registry, "bash", "[]").is_err_and(|it| it.contains("not a JSON object")));
    }
}
