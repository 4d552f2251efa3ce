//! The tools that `flemma mcp serve` offers. Each call needs an approval by the rules, because
//! there is no user to ask.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use chat::approval::CallKey;
use chat::cycle::{Level, Notice};
use chat::tool::{ToolDefinition, ToolOutcome, ToolUseId};
use mcp::serve::{ServedCall, ToolServer};
use policy::project::ProjectConfig;
use policy::sandbox;
use policy::settings::Here;
use policy::trust::Trust;
use session::audit::Audit;
use session::call_environment::CallEnvironment;
use session::editor::Editor;
use session::protocol::BufferId;
use session::shared::Shared;
use tokio::sync::{mpsc, oneshot, watch};
use tools::checkpoints::{CallLabel, Recorder};
use tools::state_dir;

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
        Recorder::new(self.folder.clone(), limit, label)
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
