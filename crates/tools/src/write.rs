//! The `write` tool: creates a file or replaces its text.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use chat::tool::ToolUseId;
use chat::truncate::format_size;
use platform::paths;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::alias::text;
use crate::builtin::{BuiltIn, DEFAULT, FileUse, TypedTool};
use crate::context::{Files, ToolContext};
use crate::error::ToolError;
use crate::file_access::FileAccess;
use crate::files::{Before, FileLocks, FileTarget, named_path};
use crate::merge::merge;
use crate::planned::PlannedFile;
use crate::schema;
use crate::tool::{CallResult, ProposalResult, Tool, ToolResult, ToolTraits};

/// Creates or overwrites a file.
pub(crate) struct Write {
    locks: FileLocks,
}

impl Write {
    pub(crate) fn new(locks: FileLocks) -> Self {
        Self { locks }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// What the file is for, in a few words. The user reads it before allowing the call.
    #[serde(default)]
    label: String,
    /// The file, relative to the working directory, absolute, or starting with ~/.
    path: String,
    /// The whole new text of the file, exactly as it is to be stored.
    content: String,
}

/// The row of `write`.
pub(crate) const BUILT_IN: BuiltIn = BuiltIn {
    preset: Some(DEFAULT),
    files: FileUse::Changes,
    alias: Some(("write_file", |locks| Box::new(WriteFile::new(locks)))),
    ..BuiltIn::new("write", |locks| Box::new(Write::new(locks.clone())))
};

impl TypedTool for Write {
    type Arguments = Arguments;
    type Needs = Files;

    const NAME: &'static str = "write";
    const LABEL: &'static str = "Write";
    const DESCRIPTION: &'static str = "Create a file or replace all of its text. Missing directories are created. The file is \
        written whole or not at all. To change a part of an existing file, use edit.";
    const ENABLED: bool = true;

    fn changes(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        named_path(input, cwd)
    }

    fn summary(&self, asked: &Arguments) -> Option<String> {
        let size = format_size(asked.content.len() as u64);
        let path = crate::builtin::visible_ends(&asked.path);
        Some(format!(
            "{path}  ({size}){}",
            crate::builtin::label(&asked.label)
        ))
    }

    async fn plan(&self, arguments: Arguments, (files, _): Files) -> ProposalResult {
        let target = files.target(&arguments.path).await?;
        let planned = plan_write(target, arguments, &files).await?;
        Ok(Some(planned.proposed().into()))
    }

    async fn call(&self, arguments: Arguments, _id: &ToolUseId, needs: Files) -> CallResult {
        let files = &needs.0;
        let target = files.target(&arguments.path).await?;
        // Another call must not change the file between planning and storing.
        let _lock = self.locks.lock(target.path()).await;
        let planned = plan_write(target, arguments, files).await?;
        let (name, remarks) = (planned.name.clone(), planned.remarks());
        let stored = planned.store(&needs).await?;
        let (size, remark) = (stored.size(), stored.remark());
        let account = files.review_account.as_ref();
        let account = account.map(|it| format!("\n{it}")).unwrap_or_default();
        Ok(ToolResult::text(format!(
            "Wrote {size} to {name}.{remarks}{remark}{account}"
        )))
    }
}

/// Plans to write the text, merged with what others changed since the model read the file.
async fn plan_write(
    target: FileTarget,
    arguments: Arguments,
    files: &FileAccess,
) -> Result<PlannedFile, ToolError> {
    let before = target.before().await?;
    let seen = files.seen.text(target.path());
    let mut planned = PlannedFile {
        before,
        target,
        name: paths::visible(Path::new(&arguments.path)),
        after: Some(arguments.content),
        moved_to: None,
        // Any content is replaced, in UTF-8, unless changes are merged below.
        keeps: false,
        remarks: Vec::new(),
    };
    // A file that the model has not read is replaced as a whole.
    if let Some(seen) = seen {
        merge_changes(&mut planned, &seen)?;
    }
    Ok(planned)
}

fn merge_changes(planned: &mut PlannedFile, seen: &str) -> Result<(), ToolError> {
    let (Some(now), Some(after)) = (planned.before.text(), &planned.after) else {
        return Ok(());
    };
    // Nothing changed since the model read it, or its text is there already.
    if now.text == seen || now.text == *after {
        return Ok(());
    }
    let name = &planned.name;
    let merged = merge(seen, &now.text, after).map_err(|line| {
        ToolError::Failed(format!(
            "{name} has changed since you read it, also where your text changes it (line {line} as you read it). \
             Nothing was written. Read it again."
        ))
    })?;
    planned.remarks.push(format!(
        "{name} had changed since you read it, and these changes were kept. Read it again before you write it."
    ));
    planned.after = Some(merged);
    planned.keeps = true;
    Ok(())
}

// `write_file`: the alias of `write`, which can also append.

/// Writes a file or appends to it.
struct WriteFile {
    write: Write,
    locks: FileLocks,
}

impl WriteFile {
    fn new(locks: &FileLocks) -> Self {
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
        schema::object(&properties, &["path", "content"])
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits {
            is_enabled: false,
            ..ToolTraits::default()
        }
    }

    fn changes(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        named_path(input, cwd)
    }

    async fn propose(&self, input: &Value, ctx: &ToolContext) -> ProposalResult {
        let (path, content, appends) = arguments(input)?;
        if !appends {
            return self.write.propose(&own(&path, &content), ctx).await;
        }
        let target = ctx.files.target(&path).await?;
        let planned = plan_append(target, path, &content).await?;
        Ok(Some(planned.proposed().into()))
    }

    async fn execute(&self, id: &ToolUseId, input: Value, ctx: ToolContext) -> CallResult {
        let (path, content, appends) = arguments(&input)?;
        if !appends {
            return self.write.execute(id, own(&path, &content), ctx).await;
        }
        let target = ctx.files.target(&path).await?;
        // Another call must not change the file between planning and storing.
        let _lock = self.locks.lock(target.path()).await;
        let planned = plan_append(target, path.clone(), &content).await?;
        let stored = planned.store(&ctx.into()).await?;
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
