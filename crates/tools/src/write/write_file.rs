//! `write_file`: the alias of `write`, which can also append.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use chat::tool::ToolUseId;
use serde_json::{Value, json};

use super::Write;
use crate::alias::text;
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::files::{FileLocks, Target, resolve};
use crate::schema;
use crate::tool::{CallResult, Tool, ToolResult};

/// Writes a file or appends to it.
pub(super) struct WriteFile {
    write: Write,
    locks: FileLocks,
}

impl WriteFile {
    pub(super) fn new(locks: &FileLocks) -> Self {
        Self {
            write: Write::new(locks.clone()),
            locks: locks.clone(),
        }
    }
}

#[async_trait]
impl Tool for WriteFile {
    fn name(&self) -> &str {
        "write_file"
    }

    fn label(&self) -> &str {
        "Write file"
    }

    fn description(&self) -> &str {
        "Create a file, replace its text, or add to its end."
    }

    fn input_schema(&self) -> Value {
        let properties = json!({
            "path": {"type": "string", "description": "The file."},
            "content": {"type": "string", "description": "The text."},
            "append": {"type": ["boolean", "null"], "description": "Whether to add to what is there."},
        });
        schema::object(properties, &["path", "content"])
    }

    fn enabled(&self) -> bool {
        false
    }

    fn changes(&self, input: &Value, cwd: &Path) -> Option<PathBuf> {
        resolve(cwd, input.get("path")?.as_str()?).ok()
    }

    async fn execute(&self, id: &ToolUseId, input: Value, ctx: ToolContext) -> CallResult {
        let (path, content) = (text("path", &input)?, text("content", &input)?);
        if input.get("append").and_then(Value::as_bool) == Some(true) {
            return self.append(&path, &content, ctx).await;
        }
        let own = json!({"label": "", "path": path, "content": content});
        self.write.execute(id, own, ctx).await
    }
}

impl WriteFile {
    /// Appends to the file, which is created if it is missing.
    async fn append(
        &self,
        path: &str,
        content: &str,
        ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        let resolved = ctx.writable_path(path).await?;
        let target = Target::find(resolved, ctx.buffers.clone()).await?;
        let _lock = self.locks.lock(target.path()).await;
        if ctx.cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        let stored = match target.text().await {
            Ok(old) => {
                let new = format!("{}{content}", old.text);
                ctx.store(&target, Some(old), new).await?
            }
            Err(ToolError::NotFound(_)) => ctx.store(&target, None, content.to_owned()).await?,
            Err(error) => return Err(error),
        };
        let bytes = content.len();
        let unit = if bytes == 1 { "byte" } else { "bytes" };
        Ok(ToolResult::text(format!(
            "Added {bytes} {unit} at the end of {path}.{}",
            stored.remark()
        )))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use crate::alias::tests::call;

    #[tokio::test]
    async fn appending_twice_doubles_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let more = json!({"path": "new", "content": "x\n", "append": true});
        for _ in 0..2 {
            call(folder.path(), "write_file", more.clone())
                .await
                .unwrap();
        }
        let file = folder.path().join("new");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "x\nx\n");
        let over = json!({"path": "new", "content": "y"});
        call(folder.path(), "write_file", over).await.unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "y");
    }
}
