//! What each command of the command line does: reads its options and starts the work.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::arguments::{Model, Options, Run, Send, Tool, Tools, Trust};
use crate::config::{self, Config, Given, Wrong};
use crate::exit_code::Code;
use crate::headless::{self, Chat, Job, Show};
use crate::spec::{self, Spec};
use crate::terminal;
use crate::{agree, agreeing, backends, direct, stdout};

/// `flemma send`
pub fn send(send: Send) -> ExitCode {
    let message = match message(&send) {
        Ok(message) => message,
        Err(problem) => return fail(Code::Error, &[problem]),
    };
    if send.follow_up.iter().any(|text| text.trim().is_empty()) {
        let problem = "A message of --follow-up is empty, so nothing was sent.";
        return fail(Code::Error, &[problem.to_owned()]);
    }
    let given = with_model(&send.options, &send.model);
    let config = match configured(&given) {
        Ok(config) => config,
        Err(code) => return code,
    };
    let chat = Chat::File {
        path: send.file,
        message,
    };
    let show = if send.last {
        Show::LastWords
    } else {
        Show::Words
    };
    let mut job = job(config, &send.options, chat, show);
    job.dry_run = send.dry_run;
    job.follow_ups = send.follow_up;
    headless::run(job)
}

/// What the user says first.
fn message(send: &Send) -> Result<Option<String>, String> {
    let mut message = send.message.clone();
    if send.stdin {
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .map_err(|error| format!("Standard input cannot be read: {error}."))?;
        let block = headless::fenced(&String::from_utf8_lossy(&bytes));
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

/// Most requests of a command: document 4, "The Agent Loop".
const ROUNDS: u32 = 5;

/// `flemma run`
pub fn run(run: Run) -> ExitCode {
    let folder = match std::env::current_dir() {
        Ok(folder) => folder,
        Err(error) => {
            return fail(
                Code::Error,
                &[format!("The current folder is gone: {error}.")],
            );
        }
    };
    let Some(name) = &run.command else {
        return list_commands(&folder);
    };
    let lines = match spec::find(name, &folder) {
        Ok(spec) => spec.chat(&spec::Given::read(&run.arguments, &spec)),
        Err(problem) => return fail(Code::Error, &[problem]),
    };
    let lines = match lines {
        Ok(lines) => lines,
        Err(problem) => return fail(Code::Usage, &[format!("{problem}.")]),
    };
    let mut given = with_model(&run.options, &run.model);
    given.max_turns.get_or_insert(ROUNDS);
    let config = match configured(&given) {
        Ok(config) => config,
        Err(code) => return code,
    };
    let chat = Chat::Typed {
        lines,
        keep: run.chat,
    };
    let show = if std::io::stdout().is_terminal() {
        Show::Words
    } else {
        Show::LastWords
    };
    let mut job = job(config, &run.options, chat, show);
    job.dry_run = run.dry_run;
    headless::run(job)
}

fn list_commands(folder: &Path) -> ExitCode {
    let mut lines = Vec::new();
    for found in spec::all(folder) {
        let name = found.path.file_stem().unwrap_or_default().to_string_lossy();
        let name = name.into_owned();
        lines.push(match found.spec {
            Ok(spec) => {
                let asked = format!("{name} {}", takes(&spec));
                format!("{:<32} {}", asked.trim_end(), spec.description)
            }
            Err(error) => format!("{name:<32} broken: {error}"),
        });
    }
    if lines.is_empty() {
        lines.push(
            "There are no commands; `flemma help run` says where they are looked for.".to_owned(),
        );
    }
    stdout::print(&lines.join("\n")).into()
}

fn takes(spec: &Spec) -> String {
    let usage = spec.usage();
    if usage == "no arguments" {
        String::new()
    } else {
        usage
    }
}

/// `flemma tool`
pub fn tool(tool: Tool) -> ExitCode {
    let given = Given {
        // The result is what was asked for; nothing is sent.
        autopilot: Some(false),
        ..given(&tool.options)
    };
    let name = tool.name.unwrap_or_default();
    let (registry, problems) = config::registry(&given);
    let input = match direct::input(&registry, &name, &tool.json) {
        Ok(input) => input,
        // A tool that cannot be used is one that is not there.
        Err(problem) => return fail(Code::Usage, &[&problems[..], &[problem]].concat()),
    };
    match configured(&given) {
        Ok(config) => {
            let chat = Chat::Typed {
                lines: headless::call(&name, &input),
                keep: None,
            };
            headless::run(job(config, &tool.options, chat, Show::Results))
        }
        Err(code) => code,
    }
}

/// `flemma tools`
pub fn tools(tools: Tools) -> ExitCode {
    let given = Given {
        file: tools.config,
        tools_dir: tools.tools_dir,
        ..Given::default()
    };
    let (registry, problems) = config::registry(&given);
    let code = match configured(&given) {
        Ok(config) => direct::list(&config, &registry, tools.search.as_deref()),
        Err(code) => code,
    };
    for problem in problems {
        terminal::tell(&problem);
    }
    code
}

/// `flemma backends`
pub fn backends(file: Option<PathBuf>) -> ExitCode {
    let given = Given {
        file,
        ..Given::default()
    };
    match configured(&given) {
        Ok(config) => backends::print(&config),
        Err(code) => code,
    }
}

/// `flemma trust`: what is no folder is a chat.
pub fn trust(trust: &Trust) -> ExitCode {
    let Some(chat) = trust.path.as_deref().filter(|path| !path.is_dir()) else {
        return agreeing::trust(trust);
    };
    if trust.revoke {
        return agree::revoke(chat);
    }
    let given = Given {
        file: trust.config.clone(),
        ..Given::default()
    };
    match configured(&given) {
        Ok(config) => agree::agree(chat, trust.yes, &config, &config::registry(&given).0),
        Err(code) => code,
    }
}

fn given(options: &Options) -> Given {
    Given {
        file: options.config.clone(),
        approve: options.approve.clone(),
        tools_dir: options.tools_dir.clone(),
        restricted: options.restricted,
        ..Given::default()
    }
}

fn with_model(options: &Options, model: &Model) -> Given {
    Given {
        provider: model.provider.clone(),
        model: model.model.clone(),
        max_turns: model.max_turns,
        ..given(options)
    }
}

pub fn configured(given: &Given) -> Result<Config, ExitCode> {
    let (registry, _) = config::registry(given);
    let config = config::read(given, &registry).map_err(|wrong| match wrong {
        Wrong::Usage(problems) => fail(Code::Usage, &problems),
        Wrong::File(problems) => fail(Code::Error, &problems),
    })?;
    for warning in &config.warnings {
        terminal::tell(&headless::in_a_shell(warning));
    }
    Ok(config)
}

fn job(config: Config, options: &Options, chat: Chat, show: Show) -> Job {
    Job {
        chat,
        options: config.options,
        config: config.file,
        max_turns: config.settings.tools.autopilot.max_turns,
        approve: config.approve,
        yes: options.yes,
        show: options.events.map_or(show, |_| Show::Events),
        debug: options.debug,
        dry_run: false,
        follow_ups: Vec::new(),
    }
}

pub fn fail(code: Code, problems: &[String]) -> ExitCode {
    for problem in problems {
        terminal::tell(&headless::in_a_shell(problem));
    }
    code.into()
}
