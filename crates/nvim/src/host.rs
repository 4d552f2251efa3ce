//! The host: passes messages of a front end to the session of their buffer.
//!
//! Holds what all chats share, the options and the tools, and no state of a single chat.

mod commands;
mod options;
#[cfg(test)]
mod panic_tests;
mod serve;
mod servers;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

pub use self::serve::run;
use mcp::configured::Servers;
use policy::settings::Settings;
use serde_json::Value;
use session::editor::Editor;
use session::projects::ReportedProjects;
use session::protocol::*;
use session::scripts::Scripts;
use session::shared::Shared;
use session::usage::UsageHistory;
use session::usage::log::UsageLog;
use session::{EditorInput, Input, mcp_servers, switch};
use tokio::sync::mpsc;
use tools::sources::{Catalogue, Change, Sources};
use tools::{Precedence, state_dir};

use crate::logging;
use crate::lua_tools::{self, LuaTools};

/// The options, tools, and sessions of a front end.
pub struct Host {
    editor: Editor,
    catalogue: Catalogue,
    sources: Sources,
    scripts: Scripts,
    servers: Servers,
    changes: mpsc::UnboundedReceiver<Change>,
    /// The options of `setup()`, read again when the tools that they name change.
    options: options::SetupOptions,
    lua_tools: LuaTools,
    shared: Arc<Shared>,
    sessions: HashMap<BufferId, mpsc::UnboundedSender<Input>>,
}

impl Host {
    /// Creates a host with default options.
    pub fn new(editor: Editor) -> Self {
        let catalogue = Catalogue::builtin();
        let (settings, _) = Settings::read(&Value::Null, &catalogue.registry);
        let (sources, changes) = Sources::new();
        let scripts = Scripts::new(sources.clone());
        let usage = UsageHistory::logged(UsageLog::open(&state_dir::path()));
        let shared = Shared::new(
            settings,
            &catalogue,
            usage,
            scripts.clone(),
            ReportedProjects::default(),
        );
        let shared = Arc::new(shared);
        Self {
            servers: mcp_servers::servers(sources.clone(), editor.clone()),
            editor,
            catalogue,
            sources,
            scripts,
            changes,
            options: options::SetupOptions::default(),
            lua_tools: LuaTools::default(),
            shared,
            sessions: HashMap::new(),
        }
    }

    /// Returns the current options and tools.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Waits for the next change of the tools, for [`Host::take_change`]. Cancel-safe.
    pub async fn next_change(&mut self) -> Change {
        match self.changes.recv().await {
            Some(change) => change,
            // Cannot happen, because `sources` holds a sender.
            None => std::future::pending().await,
        }
    }

    /// Applies a change of the tools, and those that are queued, in all chats.
    pub fn take_change(&mut self, change: Change) {
        let (changed, callbacks) = self.apply_changes(Some(change));
        if changed {
            self.read_options();
        }
        // Only now, because a callback means that the chats have the tools: `read_options` has
        // sent them.
        for callback in callbacks {
            callback();
        }
    }

    /// Applies the changes that are queued. Later keys then wait for tools that are loading.
    fn take_queued_changes(&mut self) {
        if let Ok(change) = self.changes.try_recv() {
            self.take_change(change);
        }
    }

    /// Replaces the tools that are registered in Lua, before the next message is handled.
    fn replace_lua_tools(&mut self, registered: RegisteredTools) {
        let is_loading = registered.loading;
        let (tools, problems) = self.lua_tools.replace(&self.editor, registered);
        for problem in problems {
            self.editor.report_problem(&chat::Problem::new(problem, ""));
        }
        let source = lua_tools::SOURCE.to_owned();
        let finding = lua_tools::FINDING.to_owned();
        // Requests wait for sources that are loading.
        self.catalogue.take(if is_loading {
            Change::Loading(finding)
        } else {
            Change::Gone(finding)
        });
        self.take_change(Change::Ready(source, Precedence::Own, tools));
    }

    fn warn(&self, text: String) {
        let level = chat::cycle::Level::Warning;
        self.editor.notify(&chat::cycle::Notice { level, text });
    }

    /// Applies `first` and the queued changes to the catalogue. Returns true if the tools may
    /// have changed, and the callbacks for when all chats have them.
    fn apply_changes(&mut self, first: Option<Change>) -> (bool, Vec<Box<dyn FnOnce() + Send>>) {
        let (mut changed, mut callbacks) = (false, Vec::new());
        let mut next = first;
        while let Some(change) = next.take().or_else(|| self.changes.try_recv().ok()) {
            match change {
                Change::Reached(callback) => callbacks.push(callback),
                Change::Remark(text) => self.warn(text),
                change => {
                    changed = true;
                    // A failed source must not fail unrelated work, so this is only a warning.
                    for problem in self.catalogue.take(change) {
                        self.warn(problem);
                    }
                }
            }
        }
        (changed, callbacks)
    }

    /// Handles a message of the front end, or passes it to its session.
    pub fn receive(&mut self, message: FromEditor) {
        match message {
            FromEditor::Hello(hello) => self.hello(&hello),
            FromEditor::Configure(configure) => self.configure(configure),
            FromEditor::Resolvers(resolvers) => {
                let mut settings = self.shared.settings.clone();
                settings.resolvers = resolvers;
                self.share(settings);
            }
            FromEditor::Attach(attach) => self.attach(attach),
            FromEditor::Snapshot(it) => {
                self.pass(it.buffer, Input::Editor(EditorInput::Snapshot(it)))
            }
            FromEditor::Changed(it) => {
                self.pass(it.buffer, Input::Editor(EditorInput::Changed(it)))
            }
            FromEditor::Viewport(it) => {
                self.pass(it.buffer, Input::Editor(EditorInput::Viewport(it)))
            }
            FromEditor::Applied(it) => {
                self.pass(it.buffer, Input::Editor(EditorInput::Applied(it)))
            }
            FromEditor::Command(command) => self.command(command),
            FromEditor::Renamed(it) => {
                self.pass(it.buffer, Input::Editor(EditorInput::Renamed(it)))
            }
            FromEditor::Saved(it) => {
                self.pass(it.buffer, Input::Editor(EditorInput::Saved(it.seq)))
            }
            FromEditor::Detached(it) => {
                self.pass(it.buffer, Input::Editor(EditorInput::Detached));
                self.sessions.remove(&it.buffer);
            }
            FromEditor::Tools(it) => self.replace_lua_tools(it),
            FromEditor::ToolReturned(it) => self.editor.calls().returned(it),
            FromEditor::ToolCommand(it) => self.editor.calls().run_command(it),
            FromEditor::Directory(it) => {
                self.pass(it.buffer, Input::Editor(EditorInput::Directory(it.cwd)))
            }
            FromEditor::Lookup(it) => self.look_up(it),
            FromEditor::FileSaved(it) => tools::checkpoints::user_saved(&it.path),
            FromEditor::OpenFiles(it) => self.editor.open_files(&it.paths),
            // The front end passes replies to the questions itself.
            FromEditor::Replied(..) => {}
        }
    }

    fn hello(&self, hello: &Hello) {
        if let Some(path) = &hello.log
            && let Err(error) = logging::start(Path::new(path))
        {
            // On standard error, because this message can't be in the log.
            eprintln!("flemma: The log {path:?} cannot be written: {error}.");
        }
        tracing::info!(plugin = hello.version, protocol = hello.protocol, "hello");
        self.editor.show(Display::Welcome(Welcome {
            protocol: VERSION,
            version: env!("CARGO_PKG_VERSION"),
        }));
    }

    /// Sends new settings to all chats.
    fn share(&mut self, settings: Settings) {
        // Before the sessions know the options, because they may start commands at once.
        tools::pass_variables(settings.sandbox.passed());
        let usage = self.shared.usage.clone();
        self.shared = Arc::new(Shared::new(
            settings,
            &self.catalogue,
            usage,
            self.scripts.clone(),
            self.shared.reported.clone(),
        ));
        self.sessions
            // A session that has ended no longer takes messages.
            .retain(|_, session| {
                session
                    .send(Input::Editor(EditorInput::Settings(self.shared.clone())))
                    .is_ok()
            });
    }

    /// Creates the session of a buffer, or passes it the buffer's new state.
    fn attach(&mut self, attach: Attach) {
        let buffer = attach.buffer;
        // An unnamed buffer has no folder. Its project is that of Neovim's working folder.
        let folder = Path::new(&attach.path)
            .parent()
            .filter(|it| it.is_absolute());
        self.scripts.visit(folder.unwrap_or(Path::new(&attach.cwd)));
        // Most users have no script tools, so there is nothing to scan.
        if !self.scripts.is_idle() {
            self.scripts.look_and(|| {});
        }
        self.servers.visit(folder.unwrap_or(Path::new(&attach.cwd)));
        // Tools that are ready are offered to the chat's first request.
        self.take_queued_changes();
        let session = self.sessions.entry(buffer).or_insert_with(|| {
            let (inbox, inputs) = mpsc::unbounded_channel();
            session::start(
                buffer,
                self.editor.clone(),
                self.shared.clone(),
                inbox.clone(),
                inputs,
            );
            inbox
        });
        // Fails if the session has just ended; the next message removes it.
        drop(session.send(Input::Editor(EditorInput::Attach(attach))));
    }

    /// Passes a question about a chat to its session. Every question is answered, because an
    /// editor may wait for it.
    fn look_up(&mut self, lookup: Lookup) {
        let (number, buffer) = (lookup.lookup, lookup.buffer);
        if self.sessions.contains_key(&buffer) {
            self.pass(buffer, Input::Editor(EditorInput::Lookup(lookup)));
        } else {
            self.editor.looked_up(number, LookupAnswer::Nothing);
        }
    }

    /// Passes an input to the session of a buffer.
    fn pass(&mut self, buffer: BufferId, input: Input) {
        // Messages about a closed buffer may still arrive and are ignored.
        if let Some(session) = self.sessions.get(&buffer)
            && session.send(input).is_err()
        {
            self.sessions.remove(&buffer);
        }
    }
}

/// Returns the names that Lua completes. With `ask`, Lua also lets the user pick one, for
/// every chat if it is true.
fn choices(settings: &Settings, ask: Option<bool>) -> Choices {
    let folders = session::spec::folders(Path::new(""));
    let names = folders.iter().map(|it| it.to_string_lossy().into_owned());
    Choices {
        ask: ask.is_some(),
        all: ask == Some(true),
        items: switch::choices(settings, &|name: &str| tools::variable(name)),
        commands: names.collect(),
    }
}
