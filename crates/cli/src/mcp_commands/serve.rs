//! `flemma mcp serve`: our tools for other programs, each call by the rules of a run
//! on the command line where nobody can be asked.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use chat::approval::CallKey;
use chat::tool::{ToolDefinition, ToolOutcome, ToolUseId};
use mcp::serve::{Call, Guard, Offer, Token, check_address, serve_http, serve_streams};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot, watch};

use crate::audit::Audit;
use crate::call_environment::CallEnvironment;
use crate::commands::fail;
use crate::config::Given;
use crate::editor::Editor;
use crate::exit_code::Code;
use crate::host::Host;
use crate::protocol::{BufferId, Configure, FromEditor, Resolvers};
use crate::shared::Shared;
use crate::state_dir;
use crate::terminal;

use super::notices::NoticesOnly;

/// The variable that holds the token.
const TOKEN: &str = "FLEMMA_MCP_TOKEN";
/// No buffer has this number.
const NO_BUFFER: BufferId = 0;

/// Serves at `http`, or over the standard streams, until the other side is gone or a
/// signal comes.
pub fn serve(http: Option<SocketAddr>, given: &Given) -> ExitCode {
    let options = match crate::commands::configured(given) {
        Ok(config) => with_approved(config.options, &given.approve),
        Err(code) => return code,
    };
    let guard = Guard {
        token: tools::variable(TOKEN).and_then(|it| Token::new(&it)),
    };
    if let Some(address) = http
        && let Err(problem) = check_address(address.ip(), &guard)
    {
        return fail(Code::Usage, &[problem]);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let served = match runtime {
        Ok(runtime) => {
            let served = runtime.block_on(run(http, options, guard));
            // A thread may be reading standard input for ever.
            runtime.shutdown_background();
            served
        }
        Err(error) => Err(format!("The program could not start its runtime: {error}.")),
    };
    tools::end_descendants();
    match served {
        Ok(()) => Code::Ok.into(),
        Err(problem) => fail(Code::Error, &[problem]),
    }
}

/// What `--approve` names is approved as if the options did. Servers are left out: one
/// of them may be ourselves.
fn with_approved(mut options: Value, approve: &[String]) -> Value {
    options["mcp"] = json!({"project": false});
    let listed = options.pointer_mut("/tools/auto_approve");
    if let Some(Value::Array(list)) = listed {
        list.extend(approve.iter().map(|it| json!(it)));
    }
    options
}

async fn run(http: Option<SocketAddr>, options: Value, guard: Guard) -> Result<(), String> {
    let folder =
        std::env::current_dir().map_err(|error| format!("The current folder is gone: {error}."))?;
    let editor = Editor::new(NoticesOnly);
    editor.open_files(&[]);
    let mut host = Host::new(editor.clone());
    host.receive(FromEditor::Configure(Configure {
        options,
        file: None,
        reported: true,
        caller: None,
        resolvers: Resolvers::default(),
    }));
    let (tools, shared) = watch::channel(host.shared().clone());
    host.shared().scripts.visit(&folder);
    let (looked, mut waiting) = mpsc::unbounded_channel::<oneshot::Sender<()>>();
    let changed = watch::Sender::new(0);
    let ours: Arc<dyn Offer> = Arc::new(Ours {
        editor,
        shared,
        changed: changed.clone(),
        audit: Audit::open(&state_dir::path()),
        folder,
        calls: AtomicU64::new(0),
        looked,
    });
    let serving = serving(http, ours, guard);
    let mut stop = stopped()?;
    tokio::pin!(serving);
    loop {
        tokio::select! {
            served = &mut serving => return served,
            _ = stop.recv() => return Ok(()),
            Some(done) = waiting.recv() => drop(done.send(())),
            change = host.next_change() => {
                host.take_change(change);
                let before = tools.send_replace(host.shared().clone());
                if before.plain.offered != host.shared().plain.offered {
                    changed.send_modify(|number| *number += 1);
                }
            }
        }
    }
}

/// Signals that end us, as one.
fn stopped() -> Result<mpsc::Receiver<()>, String> {
    let (sender, stop) = mpsc::channel(1);
    // The watcher turns an interrupt into the second.
    for kind in [
        SignalKind::terminate(),
        SignalKind::user_defined1(),
        SignalKind::interrupt(),
    ] {
        let mut signals =
            signal(kind).map_err(|error| format!("Signals cannot be listened to: {error}."))?;
        let sender = sender.clone();
        tokio::spawn(async move {
            signals.recv().await;
            let _ = sender.send(()).await;
        });
    }
    Ok(stop)
}

async fn serving(
    http: Option<SocketAddr>,
    ours: Arc<dyn Offer>,
    guard: Guard,
) -> Result<(), String> {
    let Some(address) = http else {
        let streams = serve_streams(ours, tokio::io::stdin(), tokio::io::stdout());
        return streams.await.map_err(|error| {
            format!("The program at standard input does not speak the protocol: {error}.")
        });
    };
    let listener = tokio::net::TcpListener::bind(address).await;
    let listener = listener.map_err(|error| {
        format!("{address} cannot be listened at: {error}. Name another port, or 0 for any.")
    })?;
    let bound = listener.local_addr().unwrap_or(address);
    terminal::tell(&format!("Serving at http://{bound}/mcp until Ctrl-C."));
    let served = serve_http(ours, listener, guard).await;
    served.map_err(|error| format!("Serving ended: {error}."))
}

/// Tools by which a client reaches the others without knowing them from the start:
/// "Via MCP Endpoint" in the script tools specification.
const FINDS_OTHERS: [&str; 2] = ["execute_tool", "tool_search"];

/// Our tools.
struct Ours {
    editor: Editor,
    shared: watch::Receiver<Arc<Shared>>,
    changed: watch::Sender<u64>,
    audit: Audit,
    folder: PathBuf,
    calls: AtomicU64,
    looked: mpsc::UnboundedSender<oneshot::Sender<()>>,
}

impl Ours {
    fn now(&self) -> Arc<Shared> {
        self.shared.borrow().clone()
    }
}

#[async_trait]
impl Offer for Ours {
    fn tools(&self) -> Vec<ToolDefinition> {
        let shared = self.now();
        let mut offered = shared.plain.offered.clone();
        for name in FINDS_OTHERS {
            let is_offered = offered.iter().any(|tool| tool.name == name);
            let tool = shared.registry.get(name).filter(|_| !is_offered);
            offered.extend(tool.map(|tool| tool.definition()));
        }
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
        let (done, looked) = oneshot::channel();
        let queue = self.looked.clone();
        // By way of the loop, which has the tools at hand when it says so.
        shared.scripts.look_and(move || drop(queue.send(done)));
        let _ = looked.await;
    }

    async fn call(&self, call: Call) -> ToolOutcome {
        let shared = self.now();
        let Call {
            name,
            input,
            progress,
            cancel,
        } = call;
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let key = CallKey {
            id: ToolUseId::new(format!("mcp_{}_{number}", std::process::id())),
            name: name.clone(),
            input: chat::json::canonical(&input),
        };
        let here = crate::settings::Here {
            cwd: &self.folder,
            chat: None,
        };
        let sandbox = crate::sandbox::of_chat(&shared.settings.sandbox, here);
        let around = CallEnvironment {
            sandbox: Arc::new(sandbox),
            editor: self.editor.clone(),
            rules: shared.plain.clone(),
            shared,
            audit: self.audit.clone(),
            path: None,
            buffer: NO_BUFFER,
            folder: self.folder.clone(),
            cwd: self.folder.clone(),
            elicitation: Arc::new(tools::NoElicitation),
        };
        let way_out = format!(
            "nobody can be asked here. Whoever started the server can allow it with \
             `flemma mcp serve --approve {name}`, or with tools.auto_approve in \
             flemma/config.toml."
        );
        around.call(key, input, progress, &cancel, &way_out).await
    }
}
