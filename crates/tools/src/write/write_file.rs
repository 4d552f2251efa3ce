//! `write_file`: the alias of `write`, which can also append.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use chat::tool::ToolUseId;
use serde_json::{Value, json};

use super::Write;
use crate::alias::text;
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::files::{Before, FileLocks, FileTarget, named_path};
use crate::planned::PlannedFile;
use crate::schema;
use crate::tool::{CallResult, ProposalResult, Tool, ToolResult};

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

    fn changes(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        named_path(input, cwd)
    }

    async fn propose(&self, input: &Value, ctx: &ToolContext) -> ProposalResult {
        let (path, content, appends) = arguments(input)?;
        if !appends {
            return self.write.propose(&own(&path, &content), ctx).await;
        }
        let target = ctx.target(&path).await?;
        let planned = plan_append(target, path, &content).await?;
        Ok(Some(planned.proposed().into()))
    }

    async fn execute(&self, id: &ToolUseId, input: Value, ctx: ToolContext) -> CallResult {
        let (path, content, appends) = arguments(&input)?;
        if !appends {
            return self.write.execute(id, own(&path, &content), ctx).await;
        }
        let target = ctx.target(&path).await?;
        // Another call must not change the file between planning and storing.
        let _lock = self.locks.lock(target.path()).await;
        let planned = plan_append(target, path.clone(), &content).await?;
        let stored = planned.store(&ctx).await?;
        let bytes = content.len();
        let unit = if bytes == 1 { "byte" } else { "bytes" };
        Ok(ToolResult::text(format!(
            "Added {bytes} {unit} at the end of {path}.{}",
            stored.remark()
        )))
    }
}

/// The path, the text, and whether to append it.
fn arguments(input: &Value) -> Result<(String, String, bool), ToolError> {
    let appends = input.get("append").and_then(Value::as_bool) == Some(true);
    Ok((text("path", input)?, text("content", input)?, appends))
}

/// The arguments of `write`.
fn own(path: &str, content: &str) -> Value {
    json!({"label": "", "path": path, "content": content})
}

/// Plans to append to the file, which is created if it is missing.
async fn plan_append(
    target: FileTarget,
    name: String,
    content: &str,
) -> Result<PlannedFile, ToolError> {
    let (before, after) = match target.text().await {
        Ok(old) => {
            let after = format!("{}{content}", old.text);
            (Before::Text(old), after)
        }
        Err(ToolError::NotFound(_)) => (Before::Absent, content.to_owned()),
        Err(error) => return Err(error),
    };
    Ok(PlannedFile {
        target,
        name,
        before,
        after: Some(after),
        moved_to: None,
        // The new text was made from the old one, which must still be there.
        keeps: true,
        remarks: Vec::new(),
    })
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
