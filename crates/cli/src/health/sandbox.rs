//! The sandbox of commands, and what a command that tried to leave it could not do.

use std::sync::Arc;

use policy::settings::{BackendChoice, Here, SandboxSettings};

use super::Finding;
use crate::runtime;

/// Tries to leave the sandbox, which takes some 30 ms.
pub fn report(settings: &SandboxSettings) -> Vec<Finding> {
    if !settings.enabled {
        let text = "The sandbox is off: approved commands run with all of your rights.";
        let off = Finding::new("warn", text.to_owned());
        return vec![off.fixed_by("Set sandbox.enabled = true.")];
    }
    match tools::find_out(&settings.backend()) {
        Ok(program) => held(settings, &program.display().to_string()),
        Err(why) => vec![missing(settings, &why)],
    }
}

fn held(settings: &SandboxSettings, program: &str) -> Vec<Finding> {
    let denied = "A command that tried it could not write outside its folders, mount, signal other processes, \
                  reach sockets of the session, or change the kernel.";
    let network = if settings.policy.network {
        "Commands have network (sandbox.policy.network)."
    } else {
        "Commands have no network."
    };
    let folders = settings.policy.rw_paths.join(", ");
    vec![
        Finding::new("ok", format!("{program} confines commands. {denied}")),
        Finding::new("info", format!("{network} They write below {folders}.")),
        trials(settings),
    ]
}

/// Whether commands can be tried in the working directory.
fn trials(settings: &SandboxSettings) -> Finding {
    let cwd = std::env::current_dir().unwrap_or_default();
    let here = Here {
        cwd: &cwd,
        chat: None,
    };
    let sandbox = Arc::new(policy::sandbox::of_chat(settings, here));
    let why = runtime::block_on(tools::why_untried(sandbox, cwd.clone()));
    match why.unwrap_or_else(Some) {
        None => Finding::new("ok", "Commands can be tried in this folder.".to_owned()),
        Some(why) => Finding::new(
            "info",
            format!("Commands cannot be tried in this folder: {why}."),
        )
        .fixed_by("See `:help flemma-trials-where`.".to_owned()),
    }
}

fn missing(settings: &SandboxSettings, why: &str) -> Finding {
    let (level, text) = match settings.backend {
        BackendChoice::Auto => (
            "warn",
            format!("There is no sandbox: {why}. Commands run with all of your rights."),
        ),
        _ => (
            "error",
            format!("The sandbox is required, and there is none: {why}. No command runs."),
        ),
    };
    let finding = Finding::new(level, text);
    match tools::SANDBOX_PROGRAM {
        Some(program) => {
            finding.fixed_by(format!("Install {program}; see `:help flemma-sandboxing`."))
        }
        None => finding,
    }
}
