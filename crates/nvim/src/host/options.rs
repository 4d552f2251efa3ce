//! Reads the options of `setup()` and reports problems. Reads them again whenever the tools
//! change, because rules name tools.

use std::collections::BTreeSet;

use chat::cycle::{Level, Notice};
use policy::options::Scope;
use policy::settings::{Problems, Settings};
use serde_json::Value;
use session::protocol::{Configure, Display, Resolvers};

use super::{Host, choices};

/// The options of the last `setup()`.
#[derive(Debug, Default)]
pub(super) struct SetupOptions {
    options: Option<Value>,
    /// Options that the command line sets.
    fixed: Vec<&'static str>,
    /// The problems of names that were reported.
    reported: BTreeSet<String>,
}

impl Host {
    /// Applies new options and reports problems.
    pub(super) fn configure(&mut self, configure: Configure) {
        // Finds the tools first, because the rules name them.
        self.scripts.configure(&configure.options);
        self.scripts.look();
        // Whether the tools changed is ignored, because the options are read below in any case.
        for callback in self.apply_changes(None).1 {
            callback();
        }
        let registry = &self.catalogue.registry;
        let (settings, problems) = Settings::examine(&configure.options, Scope::Setup, registry);
        self.editor.show(Display::Choices(choices(&settings, None)));
        if !configure.reported {
            self.report_invalid(&problems, configure.caller.as_deref());
        }
        // Servers are read from the checked options, so that invalid entries start nothing.
        let mcp = &settings.mcp;
        self.servers
            .configure(&mcp.servers, mcp.project, configure.file.as_deref());
        self.options = SetupOptions {
            options: Some(configure.options),
            fixed: configure.fixed,
            reported: BTreeSet::new(),
        };
        self.read_options_with(configure.resolvers);
        // `servers.configure` has queued the tools of known servers. Applied now, the first
        // request has them.
        self.take_queued_changes();
        self.probe();
    }

    /// Probes the sandbox before the first command needs it. If it does not work, the chats
    /// are drawn again with a warning.
    fn probe(&self) {
        let sandbox = &self.shared.settings.sandbox;
        if !sandbox.enabled {
            return;
        }
        let (backend, sources) = (sandbox.backend(), self.sources.clone());
        // The probe starts a program, and keys must not wait for it.
        tokio::task::spawn_blocking(move || {
            if tools::find_out(&backend).is_err() {
                sources.probed();
            }
        });
    }

    /// Sets an option from a command.
    pub(super) fn switch_option(&mut self, path: &str, value: &Value) {
        match self.shared.settings.switched(path, value) {
            Ok(settings) => self.share(settings),
            Err(invalid) => {
                for problem in invalid {
                    self.report_option(&problem.to_string());
                }
            }
        }
    }

    /// `:Flemma sandbox:enable` and `sandbox:disable`
    pub(super) fn set_sandbox(&mut self, enabled: bool) {
        self.switch_option("sandbox.enabled", &Value::Bool(enabled));
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

    /// Reads the options with the current tools.
    pub(super) fn read_options(&mut self) {
        self.read_options_with(self.shared.settings.resolvers.clone());
    }

    fn read_options_with(&mut self, resolvers: Resolvers) {
        let Some(options) = &self.options.options else {
            // `setup()` was not called yet, but the registry may have changed.
            return self.share(self.shared.settings.clone());
        };
        let (settings, problems) =
            Settings::examine(options, Scope::Setup, &self.catalogue.registry);
        let mut settings = settings.with_fixed(self.options.fixed.clone());
        settings.resolvers = resolvers;
        // While a source is loading, an unknown name may be one of its tools.
        if self.catalogue.loading.is_empty() {
            self.report_names(problems);
        }
        self.share(settings.keep_switched(&self.shared.settings));
    }

    /// Reports all invalid options in one message, because of several Neovim shows only the
    /// last.
    fn report_invalid(&self, problems: &Problems, caller: Option<&str>) {
        if problems.invalid.is_empty() {
            return;
        }
        let all: Vec<String> = problems.invalid.iter().map(ToString::to_string).collect();
        let prefix = caller.map_or_else(String::new, |caller| format!("{caller}: "));
        let text = format!(
            "{prefix}setup(): {} {}",
            all.join(" "),
            problems.consequence()
        );
        self.editor.report_problem(&chat::Problem::new(text, ""));
    }

    /// Reports unknown names and remarks, each once per `setup()`.
    fn report_names(&mut self, problems: Problems) {
        // The options are read again whenever tools change, and one message is enough.
        let is_new = |reported: &mut BTreeSet<String>, text: &str| reported.insert(text.to_owned());
        let unknown: Vec<String> = problems.unknown.iter().map(ToString::to_string).collect();
        let unknown = unknown.join(" ");
        if !unknown.is_empty() && is_new(&mut self.options.reported, &unknown) {
            self.report_option(&format!("{unknown} {}", problems.consequence()));
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

    fn report_option(&self, problem: &str) {
        let problem = chat::Problem::new(format!("setup(): {problem}"), "");
        self.editor.report_problem(&problem);
    }
}
