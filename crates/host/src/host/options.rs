//! The options of `setup()`: taken over, and looked at again whenever the tools are
//! others, because rules name tools.

use std::collections::BTreeSet;

use chat::cycle::{Level, Notice};
use serde_json::Value;

use super::{Host, choices};
use crate::protocol::{Configure, Resolvers};
use crate::settings::{Problems, Settings};

/// What was given last, and what was said about the names in it.
#[derive(Debug, Default)]
pub(super) struct Given {
    options: Option<Value>,
    told: BTreeSet<String>,
}

impl Host {
    /// Takes the options over and says what is wrong with them.
    pub(super) fn configure(&mut self, configure: Configure) {
        // Before the rules are read, which name tools.
        self.scripts.configure(&configure.options);
        self.scripts.look();
        for then in self.take_in(None).1 {
            then();
        }
        let (settings, problems) = Settings::examine(&configure.options, &self.catalogue.registry);
        self.editor.send("choices", &choices(&settings, None));
        let told = if configure.checked {
            problems.names
        } else {
            [problems.values, problems.names].concat()
        };
        for problem in told {
            self.complain(&problem);
        }
        self.servers.configure(&settings, configure.file.as_deref());
        self.options = Given {
            options: Some(configure.options),
            told: BTreeSet::new(),
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

    pub(super) fn set_sandbox(&mut self, enabled: bool) {
        let settings = &self.shared.settings;
        self.share(settings.switched("sandbox.enabled", &Value::Bool(enabled)));
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
        let (mut settings, problems) = Settings::examine(options, &self.catalogue.registry);
        settings.resolvers = resolvers;
        // A name may be that of a tool that is being found.
        if self.catalogue.loading.is_empty() {
            self.tell_of_names(problems);
        }
        self.share(settings.keep_switched(&self.shared.settings));
    }

    fn tell_of_names(&mut self, problems: Problems) {
        let is_new = |told: &mut BTreeSet<String>, text: &String| told.insert(text.clone());
        for problem in problems.unknown {
            if is_new(&mut self.options.told, &problem) {
                self.complain(&problem);
            }
        }
        for remark in problems.remarks {
            if is_new(&mut self.options.told, &remark) {
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
