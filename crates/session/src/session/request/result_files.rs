//! Files that the results of calls show. The ledger keeps them, and requests contain them.

use std::path::PathBuf;

use chat::result_files::ResultFile;
use chat::tool::ToolUseId;

use super::Request;
use super::sent::SharedLedger;
use crate::audit::in_background;
use crate::session::ctx::Ctx;

/// The place where the files of a call's result are kept.
pub(in crate::session) struct ResultFiles {
    ledger: SharedLedger,
    path: Option<PathBuf>,
}

impl ResultFiles {
    /// Keeps the files of a result, before the result is in the chat and can be sent.
    pub(in crate::session) async fn keep(self, id: ToolUseId, files: Vec<ResultFile>) {
        if files.is_empty() {
            return;
        }
        let keep = move || self.ledger.of(self.path.as_deref()).keep_files(&id, files);
        // It fails only if the thread panicked; then the result is only text.
        let _ = in_background(keep).await;
    }
}

impl Request {
    pub(in crate::session) fn result_files(&self, ctx: &Ctx) -> ResultFiles {
        ResultFiles {
            ledger: self.sent.ledger(),
            path: ctx.place.path().map(PathBuf::from),
        }
    }
}
