//! The host: passes messages of a front end to the session of their buffer.
//!
//! Holds what all chats share, the options and the tools, and no state of a single chat.

mod options;
#[cfg(test)]
mod panic_tests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use mcp::configured::Servers;
use platform::signals::Termination;
use policy::settings::Settings;
use serde_json::Value;
use session::editor::Editor;
use session::protocol::*;
use session::scripts::Scripts;
use session::shared::{Shared, Stores};
use session::usage::log::UsageLog;
use session::usage::{UsageHistory, log as usage_log};
use session::{EditorInput, Input, known_chats, mcp_servers, queries, switch};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;
use tools::sources::{Catalogue, Change, Sources};
use tools::{Precedence, state_dir};

use crate::lua_tools::{self, LuaTools};
use crate::neovim::Neovim;
use crate::{logging, rpc};

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
    /// Adds saved chats to the list of chats. Queries wait for it.
    listing: Option<JoinHandle<()>>,
}

impl Host {
    /// Creates a host with default options.
    pub fn new(editor: Editor) -> Self {
        let catalogue = Catalogue::builtin();
        let (settings, _) = Settings::read(&Value::Null, &catalogue.registry);
        let (sources, changes) = Sources::new();
        let scripts = Scripts::new(sources.clone());
        let usage = UsageHistory::logged(UsageLog::open(&state_dir::path()));
        let servers = mcp_servers::servers(sources.clone(), editor.clone());
        let stores = Stores::new(usage, scripts.clone(), servers.clone());
        let shared = Shared::new(settings, &catalogue, stores);
        let shared = Arc::new(shared);
        Self {
            servers,
            editor,
            catalogue,
            sources,
            scripts,
            changes,
            options: options::SetupOptions::default(),
            lua_tools: LuaTools::default(),
            shared,
            sessions: HashMap::new(),
            listing: None,
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
                self.pass(it.buffer, Input::Editor(EditorInput::Saved(it.seq)));
                self.list_chat(it.path);
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
            FromEditor::Query(it) => self.query(it),
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
        let stores = self.shared.stores();
        self.shared = Arc::new(Shared::new(settings, &self.catalogue, stores));
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
            session::start(buffer, &self.editor, self.shared.clone(), &inbox, inputs);
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

    /// Adds a chat to the list of chats.
    fn list_chat(&mut self, path: PathBuf) {
        let earlier = self.listing.take();
        self.listing = Some(tokio::spawn(async move {
            ended(earlier).await;
            ended(Some(spawn_blocking(move || known_chats::add(&path)))).await;
        }));
    }

    /// Answers a question that concerns no place in a chat.
    fn query(&mut self, query: Query) {
        let (editor, jobs) = (self.editor.clone(), self.shared.jobs.clone());
        let listing = self.listing.take();
        tokio::spawn(async move {
            ended(listing).await;
            let answer = queries::answer(&editor, &jobs, &query.name, query.arguments).await;
            if let Err(why) = &answer {
                tracing::warn!(query.name, why, "a query has no answer");
            }
            editor.looked_up(
                query.lookup,
                answer.map_or(LookupAnswer::Nothing, LookupAnswer::Plain),
            );
        });
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

/// Waits until a task has ended, if there is one.
async fn ended(task: Option<JoinHandle<()>>) {
    if let Some(task) = task {
        // A task that panicked has ended, too.
        drop(task.await);
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

impl Host {
    /// Carries out a command that concerns all chats, or passes it to the buffer's session.
    fn command(&mut self, command: EditorCommand) {
        let has_session = self.sessions.contains_key(&command.buffer);
        match &command.action {
            Action::Tutor => self.open_tutor(),
            Action::Run(arguments) => self.run(arguments),
            Action::Switch(words) if is_empty(words) => self.show_choices(false),
            Action::SwitchAll(words) if is_empty(words) => self.show_choices(true),
            Action::SwitchAll(words) => self.switch_all(words),
            // Without a chat, the user may have meant all of them.
            Action::Switch(_) if !has_session => {
                self.report_no_chat("Use `:Flemma switch!` to switch every chat.");
            }
            Action::Unknown(name) if !has_session => {
                let what = session::command_table::unknown(name);
                self.editor.report_problem(&chat::Problem::new(what, ""));
            }
            Action::Usage(days) if !has_session => self.report_usage(*days),
            Action::Jobs => {
                let report = session::jobs::report(&self.shared.jobs);
                self.editor.show(Display::Report(report));
            }
            Action::Mcp(server) => self.report_mcp(server.as_deref()),
            Action::AcceptMcp(server) => self.accept_mcp(server.as_deref()),
            Action::RestartMcp(server) => self.restart_mcp(server.as_deref()),
            Action::LogInMcp(server) => self.log_in_mcp(server.as_deref()),
            Action::LogOutMcp(server) => self.log_out_mcp(server.as_deref()),
            Action::TrustMcp => self.trust_mcp(),
            // These options apply to the whole editor, so they need no chat. `Toggle::Report`
            // does, because a frontmatter may set them for its chat.
            Action::Autopilot(toggle @ (Toggle::Enable | Toggle::Disable)) => {
                self.set_autopilot(*toggle == Toggle::Enable);
            }
            Action::Sandbox(toggle @ (Toggle::Enable | Toggle::Disable)) => {
                self.set_sandbox(*toggle == Toggle::Enable);
            }
            action if has_session => {
                // MCP servers start with the first command that may use their tools.
                if action.works() {
                    self.servers.needed();
                }
                self.pass(command.buffer, Input::Editor(EditorInput::Command(command)));
            }
            _ => {
                self.report_no_chat("Open a file whose name ends in .chat, or :set filetype=chat.")
            }
        }
    }

    fn report_no_chat(&self, fix: &'static str) {
        let problem = chat::Problem::new("This buffer is not a chat.", fix);
        self.editor.report_problem(&problem);
    }

    /// `:Flemma usage` outside a chat: the last days of all chats.
    fn report_usage(&self, days: Option<u32>) {
        let editor = self.editor.clone();
        // Reads up to 20 MB.
        spawn_blocking(move || editor.report("usage", usage_log::report(days)));
    }

    /// Lets the user pick a provider, model, or preset for one chat or for all.
    fn show_choices(&self, all: bool) {
        let choices = choices(&self.shared.settings, Some(all));
        self.editor.show(Display::Choices(choices));
    }

    /// `:Flemma switch!`: sets provider and model of every chat, including those with their
    /// own.
    fn switch_all(&mut self, arguments: &Value) {
        match switch::switch(&self.shared.settings, arguments) {
            Ok(settings) => {
                let text = switch::message(
                    &settings,
                    switch::SwitchScope::EveryChat,
                    &session::audit::today(),
                );
                self.sessions
                    // First, so that the new options are not overruled by an earlier switch in
                    // one chat.
                    .retain(|_, session| {
                        session
                            .send(Input::Editor(EditorInput::SwitchedBack))
                            .is_ok()
                    });
                self.share(settings);
                let level = chat::cycle::Level::Info;
                self.editor.notify(&chat::cycle::Notice { level, text });
            }
            Err(problem) => self.editor.report_problem(&problem),
        }
    }

    fn set_autopilot(&mut self, enabled: bool) {
        self.switch_option("tools.autopilot.enabled", &Value::Bool(enabled));
        let state = if enabled { "on" } else { "off" };
        self.editor.notify(&chat::cycle::Notice {
            level: chat::cycle::Level::Info,
            text: format!("Autopilot is {state} in every chat of this Neovim."),
        });
    }

    /// `:Flemma run`: opens the chat of a command and presses Ctrl-] in it.
    fn run(&self, arguments: &Value) {
        match session::spec::run(arguments) {
            Ok((name, lines)) => self.editor.show(Display::Open(Open {
                name,
                lines,
                advance: true,
            })),
            Err(problem) => self.editor.report_problem(&chat::Problem::new(problem, "")),
        }
    }

    /// `:Flemma tutor`: opens a new chat with the tutor, in a folder with the file that it reads.
    fn open_tutor(&self) {
        match session::status::new_tutor_chat() {
            Ok(name) => self.editor.show(Display::Open(Open {
                name,
                lines: session::tutor::FIRST_CHAT.map(str::to_owned).to_vec(),
                advance: false,
            })),
            Err(error) => self.editor.report_problem(&chat::Problem::new(
                format!("The folder for the tutor's file cannot be written: {error}."),
                "",
            )),
        }
    }
}

/// Returns true if a command has no words.
fn is_empty(words: &Value) -> bool {
    words.as_object().is_none_or(|it| it.is_empty())
}

/// Maximum time for jobs to end at the end.
const LAST_JOBS: Duration = Duration::from_millis(1500);
/// Maximum time for writes of the log at the end.
const LAST_WRITES: Duration = Duration::from_secs(2);

/// Serves the Neovim at the standard streams until it closes them.
pub fn run() -> ExitCode {
    // One thread handles the channel and all chats. A second one would compete for the
    // processor with Neovim, which draws what the first one sent. Slow work has its own threads.
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("flemma: The host could not start its runtime: {error}.");
            return ExitCode::FAILURE;
        }
    };
    // As a task on the same thread as the chats, so that messages do not change threads.
    let served = runtime.block_on(async { tokio::spawn(serve()).await });
    session::audit::finish(LAST_WRITES);
    // Ends the sessions before their commands: a session would take the end of a killed
    // command for a result. Does not wait for the thread that may be blocked reading standard
    // input.
    runtime.shutdown_background();
    tools::end_descendants();
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("flemma: The host failed: {error}.");
            ExitCode::FAILURE
        }
    }
}

async fn serve() {
    let (incoming, messages) = mpsc::unbounded_channel();
    let (sender, channel) = rpc::connect(incoming);
    live(Neovim::new(sender), |_| {}, messages, channel).await;
}

/// Serves a Neovim until its channel closes or the system asks the host to end. `prepare` changes the host
/// before its first message.
async fn live(
    neovim: Neovim,
    prepare: impl FnOnce(&mut Host),
    mut messages: mpsc::UnboundedReceiver<FromEditor>,
    channel: impl Future<Output = ()>,
) {
    let mut termination = Termination::listen();
    let mut host = Host::new(Editor::new(neovim.clone()));
    prepare(&mut host);
    tokio::pin!(channel);
    loop {
        tokio::select! {
            // In the order of all messages, so that a reply never overtakes a change.
            Some(message) = messages.recv() => match message {
                FromEditor::Replied(number, reply) => neovim.answer(number, reply),
                message => host.receive(message),
            },
            change = host.next_change() => host.take_change(change),
            () = &mut channel => break,
            () = termination.next() => break,
        }
    }
    // Servers may clean up, and checkpoints close. Neovim waits for the host for two seconds.
    let _ = timeout(LAST_JOBS, host.shared().jobs.stop_all()).await;
}

impl Host {
    /// `:Flemma mcp`: reports on all servers, or on one.
    fn report_mcp(&self, server: Option<&str>) {
        let lines = self.servers.report(server);
        self.editor.report("mcp", lines);
    }

    /// `:Flemma mcp:accept`
    fn accept_mcp(&self, server: Option<&str>) {
        match server {
            Some(server) => self.servers.accept(server),
            None => self.report_no_server("mcp:accept"),
        }
    }

    /// `:Flemma mcp:restart`
    fn restart_mcp(&self, server: Option<&str>) {
        match server {
            Some(server) => self.servers.restart(server),
            None => self.report_no_server("mcp:restart"),
        }
    }

    /// `:Flemma mcp:login`
    fn log_in_mcp(&self, server: Option<&str>) {
        match server {
            Some(server) => self.servers.log_in(server),
            None => self.report_no_server("mcp:login"),
        }
    }

    /// `:Flemma mcp:logout`
    fn log_out_mcp(&self, server: Option<&str>) {
        match server {
            Some(server) => self.servers.log_out(server),
            None => self.report_no_server("mcp:logout"),
        }
    }

    /// `:Flemma mcp:trust`
    fn trust_mcp(&mut self) {
        self.servers.trust();
        self.take_queued_changes();
    }

    fn report_no_server(&self, command: &str) {
        self.editor.report_problem(&chat::Problem::new(
            format!(":Flemma {command} needs the name of a server."),
            ":Flemma mcp lists them.",
        ));
    }
}
