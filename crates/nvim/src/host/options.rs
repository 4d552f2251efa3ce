//! Takes the options of `setup()` over and reports what is wrong with them. Reads them
//! again whenever the tools change, because rules name tools.

use std::collections::BTreeSet;

use chat::cycle::{Level, Notice};
use serde_json::Value;

use super::{Host, choices};
use crate::options::Scope;
use crate::protocol::{Configure, Display, Resolvers};
use crate::settings::{Problems, Settings};

/// The options that were given last.
#[derive(Debug, Default)]
pub(super) struct Given {
    options: Option<Value>,
    /// What was reported about the names of tools in them.
    reported: BTreeSet<String>,
}

impl Host {
    /// Takes the options over and reports what is wrong with them.
    pub(super) fn configure(&mut self, configure: Configure) {
        // Before the rules are read, which name tools.
        self.scripts.configure(&configure.options);
        self.scripts.look();
        for then in self.take_in(None).1 {
            then();
        }
        let registry = &self.catalogue.registry;
        let (settings, problems) = Settings::examine(&configure.options, Scope::Setup, registry);
        self.editor.show(Display::Choices(choices(&settings, None)));
        if !configure.reported {
            self.report_invalid(&problems, configure.caller.as_deref());
        }
        let mcp = &settings.mcp;
        self.servers
            .configure(&mcp.servers, mcp.project, configure.file.as_deref());
        self.options = Given {
            options: Some(configure.options),
            reported: BTreeSet::new(),
        };
        self.read_options_with(configure.resolvers);
        self.take_said();
        self.probe();
    }

    /// Finds out what holds commands before the first one waits for it, and has what
    /// is shown made anew where nothing does.
    fn probe(&self) {
        let sandbox = &self.shared.settings.sandbox;
        if !sandbox.enabled {
            return;
        }
        let (backend, sources) = (sandbox.backend(), self.sources.clone());
        tokio::task::spawn_blocking(move || {
            if tools::find_out(&backend).is_err() {
                sources.probed();
            }
        });
    }

    /// Sets an option that a command can change.
    pub(super) fn switch_option(&mut self, path: &str, value: Value) {
        match self.shared.settings.switched(path, &value) {
            Ok(settings) => self.share(settings),
            Err(invalid) => {
                for invalid in invalid {
                    self.complain(&invalid.to_string());
                }
            }
        }
    }

    pub(super) fn set_sandbox(&mut self, enabled: bool) {
        self.switch_option("sandbox.enabled", Value::Bool(enabled));
        self.probe();
        let text = if enabled {
            "The sandbox is on in every chat of this Neovim that does not turn it off itself."
        } else {
            "The sandbox is off: commands run with all of your rights."
        };
        self.editor.notify(&chat::cycle::Notice {
            level: chat::cycle::Level::Info,
            text: text.to_owned(),
        });
    }

    /// Makes the settings of the options and of the tools that there are now.
    pub(super) fn read_options(&mut self) {
        self.read_options_with(self.shared.settings.resolvers.clone());
    }

    fn read_options_with(&mut self, resolvers: Resolvers) {
        let Some(options) = &self.options.options else {
            return self.share(self.shared.settings.clone());
        };
        let (mut settings, problems) =
            Settings::examine(options, Scope::Setup, &self.catalogue.registry);
        settings.resolvers = resolvers;
        // A name may be that of a tool that is being found.
        if self.catalogue.loading.is_empty() {
            self.tell_of_names(problems);
        }
        self.share(settings.keep_switched(&self.shared.settings));
    }

    /// Reports all options that do not apply in one message: of several, Neovim shows the
    /// last.
    fn report_invalid(&self, problems: &Problems, caller: Option<&str>) {
        if problems.invalid.is_empty() {
            return;
        }
        let all: Vec<String> = problems.invalid.iter().map(ToString::to_string).collect();
        let place = caller.map_or_else(String::new, |caller| format!("{caller}: "));
        let text = format!(
            "{place}setup(): {} {}",
            all.join(" "),
            problems.consequence()
        );
        self.editor.report_problem(&chat::Problem::new(text, ""));
    }

    fn tell_of_names(&mut self, problems: Problems) {
        let is_new = |told: &mut BTreeSet<String>, text: &str| told.insert(text.to_owned());
        let unknown: Vec<String> = problems.unknown.iter().map(ToString::to_string).collect();
        let unknown = unknown.join(" ");
        if !unknown.is_empty() && is_new(&mut self.options.reported, &unknown) {
            self.complain(&format!("{unknown} {}", problems.consequence()));
        }
        for remark in problems.remarks {
            if is_new(&mut self.options.reported, &remark) {
                self.editor.notify(&Notice {
                    level: Level::Info,
                    text: format!("setup(): {remark}"),
                });
            }
        }
    }

    fn complain(&self, problem: &str) {
        let problem = chat::Problem::new(format!("setup(): {problem}"), "");
        self.editor.report_problem(&problem);
    }
}
