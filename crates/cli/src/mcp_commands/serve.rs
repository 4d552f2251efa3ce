//! `flemma mcp serve`: serves our tools to other programs.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use mcp::serve::{Guard, Token, ToolServer, check_address, serve_http, serve_streams};
use nvim::host::Host;
use platform::signals::StopSignals;
use serde_json::{Value, json};
use session::audit::Audit;
use session::editor::Editor;
use session::protocol::{Configure, FromEditor, Resolvers};
use session::shared::Shared;
use tokio::sync::{mpsc, oneshot, watch};
use tools::state_dir;

use super::notices::NoticesOnly;
use super::offered::OfferedTools;
use crate::config::{self, Flags};
use crate::exit_code::Code;
use crate::problems::{current_folder, fail};
use crate::{runtime, terminal};

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
    let served = runtime::block_on(run(http, options, fixed, guard)).and_then(|served| served);
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
