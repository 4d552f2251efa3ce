//! What each command of the command line does: reads its options and starts the work.

use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

use tools::Registry;

use crate::arguments::{Options, Send, Tool};
use crate::config::{self, Config, Given, Wrong};
use crate::direct;
use crate::headless::{self, Chat, Code, Job, Show};

/// `flemma send`
pub fn send(send: Send) -> ExitCode {
    let message = match message(&send) {
        Ok(message) => message,
        Err(problem) => return fail(Code::Error, &[problem]),
    };
    let given = Given {
        provider: send.provider.clone(),
        model: send.model.clone(),
        max_turns: send.max_turns,
        ..given(&send.options)
    };
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
    job.rehearsal = send.dry_run;
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

/// `flemma tool`
pub fn tool(tool: Tool) -> ExitCode {
    let input = match direct::input(&Registry::builtin(), &tool.name, &tool.json) {
        Ok(input) => input,
        Err(problem) => return fail(Code::Usage, &[problem]),
    };
    let given = Given {
        // The result is what was asked for; nothing is sent.
        autopilot: Some(false),
        ..given(&tool.options)
    };
    match configured(&given) {
        Ok(config) => {
            let chat = Chat::Typed(headless::call(&tool.name, &input));
            headless::run(job(config, &tool.options, chat, Show::Results))
        }
        Err(code) => code,
    }
}

/// `flemma tools`
pub fn tools(file: Option<PathBuf>) -> ExitCode {
    let given = Given {
        file,
        ..Given::default()
    };
    match configured(&given) {
        Ok(config) => direct::list(&config, &Registry::builtin()),
        Err(code) => code,
    }
}

fn given(options: &Options) -> Given {
    Given {
        file: options.config.clone(),
        approve: options.approve.clone(),
        ..Given::default()
    }
}

fn configured(given: &Given) -> Result<Config, ExitCode> {
    config::read(given, &Registry::builtin()).map_err(|wrong| match wrong {
        Wrong::Usage(problems) => fail(Code::Usage, &problems),
        Wrong::File(problems) => fail(Code::Error, &problems),
    })
}

fn job(config: Config, options: &Options, chat: Chat, show: Show) -> Job {
    Job {
        chat,
        options: config.options,
        max_turns: config.settings.tools.autopilot.max_turns,
        approve: config.approve,
        yes: options.yes,
        show: options.events.map_or(show, |_| Show::Events),
        debug: options.debug,
        rehearsal: false,
    }
}

fn fail(code: Code, problems: &[String]) -> ExitCode {
    for problem in problems {
        eprintln!("flemma: {problem}");
    }
    code.into()
}
