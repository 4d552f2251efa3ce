//! `flemma mcp serve`: serves our tools to other programs. Each call needs an approval by the rules,
//! because there is no user to ask. Notices go to standard error, because the protocol may use
//! standard output.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use chat::approval::CallKey;
use chat::cycle::{Level, Notice};
use chat::tool::{ToolDefinition, ToolOutcome, ToolUseId};
use mcp::serve::{Guard, ServedCall, Token, ToolServer, check_address, serve_http, serve_streams};
use nvim::host::Host;
use platform::signals::StopSignals;
use policy::project::ProjectConfig;
use policy::sandbox;
use policy::settings::Here;
use policy::trust::Trust;
use serde_json::{Value, json};
use session::audit::Audit;
use session::call_environment::CallEnvironment;
use session::editor::Editor;
use session::frontend::{Capabilities, Frontend, SessionEvent};
use session::protocol::{BufferId, Configure, FromEditor, Resolvers, *};
use session::shared::Shared;
use tokio::sync::{mpsc, oneshot, watch};
use tools::checkpoints::{CallLabel, Recorder};
use tools::state_dir;

use crate::block_on;
use crate::config::{self, Flags};
use crate::problems::{current_folder, fail};
use crate::terminal::{self, Code};

/// The variable that holds the token.
const TOKEN: &str = "FLEMMA_MCP_TOKEN";

/// Serves at `http`, or over the standard streams, until the client closes them or a signal
/// arrives.
pub fn serve(http: Option<SocketAddr>, flags: &Flags) -> ExitCode {
    let options = match config::load(flags) {
        Ok(config) => with_approved(config.options, &flags.approve),
        Err(code) => return code,
    };
    // A project's list takes the place of the user's, but not that of a flag.
    let fixed = if flags.approve.is_empty() {
        Vec::new()
    } else {
        vec!["tools.auto_approve"]
    };
    let guard = Guard {
        token: tools::variable(TOKEN).and_then(|it| Token::new(&it)),
    };
    if let Some(address) = http
        && let Err(problem) = check_address(address.ip(), &guard)
    {
        return fail(Code::Usage, &[problem]);
    }
    let served = block_on(run(http, options, fixed, guard)).and_then(|served| served);
    tools::end_descendants();
    match served {
        Ok(()) => Code::Ok.into(),
        Err(problem) => fail(Code::Error, &[problem]),
    }
}

/// Adds the names of `--approve` to `tools.auto_approve`, and disables the project's MCP
/// servers, because one of them may be this program.
fn with_approved(mut options: Value, approve: &[String]) -> Value {
    // Servers that offer each other's tools could call in a circle.
    options["mcp"] = json!({"project": false});
    let listed = options.pointer_mut("/tools/auto_approve");
    if let Some(Value::Array(list)) = listed {
        list.extend(approve.iter().map(|it| json!(it)));
    }
    options
}

async fn run(
    http: Option<SocketAddr>,
    options: Value,
    fixed: Vec<&'static str>,
    guard: Guard,
) -> Result<(), String> {
    let editor = Editor::new(NoticesOnly);
    let host = host(&editor, options, fixed);
    let folder = current_folder()?;
    host.shared().scripts.visit(&folder);
    let (published, shared) = watch::channel(host.shared().clone());
    let (rescans, scanned) = mpsc::unbounded_channel();
    let changed = watch::Sender::new(0);
    let offered: Arc<dyn ToolServer> = Arc::new(OfferedTools {
        editor,
        shared,
        changed: changed.clone(),
        audit: Audit::open(&state_dir::path()),
        folder,
        calls: AtomicU64::new(0),
        rescans,
    });
    let tools = Published {
        shared: published,
        changed,
    };
    let mut signals = StopSignals::listen();
    tokio::select! {
        served = serve_tools(http, offered, guard) => served,
        () = tools.keep_current(host, scanned) => Ok(()),
        _ = signals.next() => Ok(()),
    }
}

/// Creates a host without chats.
fn host(editor: &Editor, options: Value, fixed: Vec<&'static str>) -> Host {
    // No editor has files open here, so no tool has to ask.
    editor.open_files(&[]);
    let mut host = Host::new(editor.clone());
    host.receive(FromEditor::Configure(Configure {
        options,
        file: None,
        fixed,
        // `config::load` has reported problems.
        reported: true,
        caller: None,
        resolvers: Resolvers::default(),
    }));
    host
}

/// The sending side of what [`OfferedTools`] reads.
struct Published {
    shared: watch::Sender<Arc<Shared>>,
    changed: watch::Sender<u64>,
}

impl Published {
    /// Publishes the tools whenever they change, and answers scans that have ended.
    async fn keep_current(
        &self,
        mut host: Host,
        mut scanned: mpsc::UnboundedReceiver<oneshot::Sender<()>>,
    ) {
        loop {
            tokio::select! {
                Some(done) = scanned.recv() => drop(done.send(())),
                change = host.next_change() => {
                    host.take_change(change);
                    let before = self.shared.send_replace(host.shared().clone());
                    // Clients list the tools again after each notification.
                    if before.plain.offered != host.shared().plain.offered {
                        self.changed.send_modify(|number| *number += 1);
                    }
                }
            }
        }
    }
}

async fn serve_tools(
    http: Option<SocketAddr>,
    offered: Arc<dyn ToolServer>,
    guard: Guard,
) -> Result<(), String> {
    let Some(address) = http else {
        let streams = serve_streams(offered, tokio::io::stdin(), tokio::io::stdout());
        return streams.await.map_err(|error| {
            format!("The client at standard input does not speak the protocol: {error}.")
        });
    };
    let listener = tokio::net::TcpListener::bind(address).await;
    let listener = listener.map_err(|error| {
        format!("Cannot listen at {address}: {error}. Use another port, or 0 for any.")
    })?;
    // With port 0, the system chooses the port, and the user has to learn it.
    let bound = listener.local_addr().unwrap_or(address);
    terminal::report(&format!("Serving at http://{bound}/mcp until Ctrl-C."));
    let served = serve_http(offered, listener, guard).await;
    served.map_err(|error| format!("The server ended: {error}."))
}

/// Bytes of a megabyte, in which the limit of checkpoints is given.
const MEGABYTE: u64 = 1_000_000;

/// No buffer has this number.
const NO_BUFFER: BufferId = 0;

/// Offered even if models are not, because clients find all other tools with them.
const FINDS_OTHERS: [&str; 2] = ["execute_tool", "tool_search"];

/// The tools of the options and of a folder.
pub struct OfferedTools {
    /// Where notices go.
    pub editor: Editor,
    /// The current options and tools.
    pub shared: watch::Receiver<Arc<Shared>>,
    /// Counts the changes of the list of tools.
    pub changed: watch::Sender<u64>,
    /// The audit log.
    pub audit: Audit,
    /// Where calls run.
    pub folder: PathBuf,
    /// Number of calls so far.
    pub calls: AtomicU64,
    /// Answered by the server's loop once `shared` is current.
    pub rescans: mpsc::UnboundedSender<oneshot::Sender<()>>,
}

impl OfferedTools {
    /// Returns the current options and tools, with the options of the folder's project.
    fn now(&self) -> Arc<Shared> {
        let shared = self.shared.borrow().clone();
        // Read for each call, so that revoking the trust has an effect at once.
        let trust = Trust::open(&state_dir::path());
        let Some(config) = ProjectConfig::around(&self.folder, &trust) else {
            return shared;
        };
        let reading = config.apply(&shared.settings, Some(&shared.registry));
        Arc::new(shared.with_settings(reading.settings))
    }

    /// Returns the key of a new call.
    fn key(&self, call: &ServedCall) -> CallKey {
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        CallKey {
            // Unique in the audit log, which all servers of the user share.
            id: ToolUseId::new(format!("mcp_{}_{number}", std::process::id())),
            name: call.name.clone(),
            input: chat::json::canonical(&call.input),
        }
    }

    /// Returns what records the files that a call changes, for `flemma undo`.
    fn recorder(&self, shared: &Shared, call: &CallKey) -> Recorder {
        let options = &shared.settings.checkpoints;
        if !options.enabled {
            return Recorder::default();
        }
        let label = CallLabel {
            session: format!("mcp_{}", std::process::id()),
            // There are no turns, so the oldest checkpoints are removed call by call.
            turn: usize::try_from(self.calls.load(Ordering::Relaxed)).unwrap_or(usize::MAX),
            call: call.id.as_str().to_owned(),
            tool: call.name.clone(),
            ..CallLabel::default()
        };
        let limit = options.limit.saturating_mul(MEGABYTE);
        Recorder::new(&shared.projects, self.folder.clone(), limit, label)
    }

    fn environment(&self, shared: Arc<Shared>, recorder: Recorder) -> CallEnvironment {
        let here = Here {
            cwd: &self.folder,
            chat: None,
        };
        CallEnvironment {
            sandbox: Arc::new(sandbox::of_chat(&shared.settings.sandbox, here)),
            editor: self.editor.clone(),
            rules: shared.plain.clone(),
            shared,
            audit: self.audit.clone(),
            path: None,
            buffer: NO_BUFFER,
            folder: self.folder.clone(),
            cwd: self.folder.clone(),
            elicitation: Arc::new(tools::NoElicitation),
            seen: tools::SeenFiles::default(),
            recorder,
            applied: tools::AppliedFiles::default(),
        }
    }
}

#[async_trait]
impl ToolServer for OfferedTools {
    fn tools(&self) -> Vec<ToolDefinition> {
        let shared = self.now();
        let mut offered = shared.plain.offered.clone();
        // They lead to the tools that are not offered themselves.
        for name in FINDS_OTHERS {
            let is_offered = offered.iter().any(|tool| tool.name == name);
            let tool = shared.registry.get(name).filter(|_| !is_offered);
            offered.extend(tool.map(|tool| tool.definition()));
        }
        // In a fixed order, because clients put the list into prompts that providers cache.
        offered.sort_by(|a, b| a.name.cmp(&b.name));
        offered
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    async fn look(&self) {
        let shared = self.now();
        if shared.scripts.is_idle() {
            return;
        }
        let (done, scanned) = oneshot::channel();
        let rescans = self.rescans.clone();
        // The loop answers, because it publishes the tools that the scan found.
        shared.scripts.look_and(move || drop(rescans.send(done)));
        // Fails only if the server is ending.
        let _ = scanned.await;
    }

    async fn call(&self, call: ServedCall) -> ToolOutcome {
        let key = self.key(&call);
        let way_out = format!(
            "there is no user to ask. Allow it with `flemma mcp serve --approve {}`, or with \
             tools.auto_approve in flemma/config.toml.",
            call.name
        );
        let shared = self.now();
        let recorder = self.recorder(&shared, &key);
        let outcome = self
            .environment(shared, recorder.clone())
            .call(key, call.input, call.progress, &call.cancel, &way_out)
            .await;
        let summary = recorder.summary();
        let remarks = summary.remarks.into_iter().map(|it| (Level::Warning, it));
        let ignored = summary.ignored.map(|it| (Level::Info, it));
        for (level, text) in remarks.chain(ignored) {
            self.editor.notify(&Notice { level, text });
        }
        outcome
    }
}

/// Prints notices on standard error and ignores everything else.
#[derive(Debug)]
pub struct NoticesOnly;

impl Frontend for NoticesOnly {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            is_headless: true,
            ..Capabilities::default()
        }
    }

    fn apply(&self, _edit: BufferEdit) {}

    fn append(&self, _chunk: AnswerChunk) {}

    fn release_anchor(&self, _anchor: ReleaseAnchor) {}

    fn show(&self, _display: Display) {}

    // Dropping the sender means that no answer comes.
    fn ask(&self, _question: EditorQuestion) -> oneshot::Receiver<EditorReply> {
        oneshot::channel().1
    }

    fn notify(&self, _buffer: Option<BufferId>, notice: &Notice) {
        terminal::report(&notice.text);
    }

    fn emit(&self, _event: SessionEvent) {}
}
