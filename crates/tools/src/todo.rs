//! The `todo` tool: the model's task list, as a Markdown checklist.
//!
//! The tool stores nothing: the list is in the call and in its result, and so in the chat. The
//! result's details contain it for the front end, which shows it while the model works.

use async_trait::async_trait;
use chat::tool::ToolUseId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::builtin::BuiltIn;
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::schema;
use crate::tool::{CallResult, Tool, ToolResult, ToolTraits};

/// Maximum number of tasks.
const MOST: usize = 100;
/// Maximum length of a task in characters; a task is one line.
const LONGEST: usize = 300;

/// The row of `todo`.
pub(crate) const BUILT_IN: BuiltIn = BuiltIn {
    // The call stores nothing, so it has no effect outside of the chat.
    harmless: true,
    ..BuiltIn::new("todo", |_| Box::new(Todo))
};

/// Accepts a task list and returns it as a checklist.
struct Todo;

/// A task of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The task, on one line.
    pub content: String,
    /// Its progress.
    pub status: TaskStatus,
}

/// The progress of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Not started.
    Pending,
    /// In progress.
    InProgress,
    /// Completed.
    Completed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    items: Vec<Task>,
}

#[async_trait]
impl Tool for Todo {
    fn name(&self) -> &str {
        "todo"
    }

    fn label(&self) -> &str {
        "Tasks"
    }

    fn description(&self) -> &str {
        "Keep a list of tasks for work of three steps or more. Each call replaces the whole list and \
         returns it as a checklist, which the user sees while you work. Mark a task in_progress \
         before you begin it, one at a time, and completed as soon as it is done."
    }

    fn input_schema(&self) -> Value {
        let task = json!({
            "content": {"type": "string", "description": "What is to be done, on one line."},
            "status": {
                "type": "string",
                "enum": ["pending", "in_progress", "completed"],
                "description": "How far the task is.",
            },
        });
        let items = json!({
            "type": "array",
            "items": schema::object(&task, &["content", "status"]),
            "description": "All tasks in order. An empty list takes the list away.",
        });
        schema::object(&json!({"items": items}), &["items"])
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits {
            is_strict: true,
            is_enabled: false,
            ..ToolTraits::default()
        }
    }

    fn describe(&self, input: &Value) -> Option<String> {
        let tasks = read(input.clone()).ok()?;
        let done = count(&tasks, TaskStatus::Completed);
        let now = tasks.iter().find(|it| it.status == TaskStatus::InProgress);
        let now = now.map_or_else(String::new, |task| format!("  # {}", task.content));
        Some(format!("{done} of {} done{now}", tasks.len()))
    }

    async fn execute(&self, _id: &ToolUseId, input: Value, _ctx: ToolContext) -> CallResult {
        let tasks = read(input)?;
        Ok(ToolResult {
            details: Some(json!({"tasks": tasks})),
            ..ToolResult::text(checklist(&tasks))
        })
    }
}

/// Validates the tasks of a call.
fn read(input: Value) -> Result<Vec<Task>, ToolError> {
    let Arguments { items } = schema::arguments("todo", input)?;
    let refuse = |why: String| {
        Err(ToolError::InvalidInput(format!(
            "{why} The list was not changed."
        )))
    };
    if items.len() > MOST {
        return refuse(format!(
            "The list has {} tasks; {MOST} are the most.",
            items.len()
        ));
    }
    for (at, task) in items.iter().enumerate() {
        let content = task.content.trim();
        // A line break would end the item of the checklist.
        if content.is_empty() || content.contains(['\n', '\r']) || content.chars().count() > LONGEST
        {
            return refuse(format!(
                "Task {} must be one line of 1 to {LONGEST} characters.",
                at + 1
            ));
        }
    }
    if count(&items, TaskStatus::InProgress) > 1 {
        return refuse("More than one task is in_progress.".to_owned());
    }
    let trimmed = |task: Task| Task {
        content: task.content.trim().to_owned(),
        ..task
    };
    Ok(items.into_iter().map(trimmed).collect())
}

fn count(tasks: &[Task], status: TaskStatus) -> usize {
    tasks.iter().filter(|task| task.status == status).count()
}

fn checklist(tasks: &[Task]) -> String {
    let line = |task: &Task| match task.status {
        TaskStatus::Pending => format!("- [ ] {}", task.content),
        // Markdown has no box for tasks in progress.
        TaskStatus::InProgress => format!("- [ ] {} (in progress)", task.content),
        TaskStatus::Completed => format!("- [x] {}", task.content),
    };
    match tasks {
        [] => "The list is empty.".to_owned(),
        tasks => tasks.iter().map(line).collect::<Vec<_>>().join("\n"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    async fn call(items: Value) -> Result<ToolResult, String> {
        let ctx = ToolContext::new("/", "/outputs");
        let input = json!({"items": items});
        let result = Todo.execute(&ToolUseId::new("t"), input, ctx).await;
        result.map_err(|error| error.to_string())
    }

    fn task(content: &str, status: &str) -> Value {
        json!({"content": content, "status": status})
    }

    #[tokio::test]
    async fn the_result_is_a_checklist_and_the_details_are_the_list() {
        let items = json!([
            task("Read the parser ", "completed"),
            task("Write the test", "in_progress"),
            task("Run it", "pending"),
        ]);
        let result = call(items).await.unwrap();
        assert_eq!(
            result.content,
            "- [x] Read the parser\n- [ ] Write the test (in progress)\n- [ ] Run it"
        );
        let tasks = result.details.unwrap();
        assert_eq!(tasks["tasks"][0], task("Read the parser", "completed"));
        assert_eq!(call(json!([])).await.unwrap().content, "The list is empty.");
    }

    #[tokio::test]
    async fn a_list_that_is_none_is_refused_with_the_reason() {
        let two = json!([task("a", "in_progress"), task("b", "in_progress")]);
        let many = vec![task("a", "pending"); MOST + 1];
        for (items, said) in [
            (json!("a"), "do not fit todo"),
            (json!([task("a", "done")]), "unknown variant `done`"),
            (json!([{"content": "a"}]), "missing field `status`"),
            (json!([task(" ", "pending")]), "Task 1 must be one line"),
            (
                json!([task("a", "pending"), task("b\nc", "pending")]),
                "Task 2 must be one line",
            ),
            (
                json!([task(&"a".repeat(LONGEST + 1), "pending")]),
                "Task 1 must be one line",
            ),
            (two, "More than one task is in_progress"),
            (json!(many), "The list has 101 tasks"),
        ] {
            let problem = call(items).await.unwrap_err();
            assert!(problem.contains(said), "{problem}");
        }
    }

    #[test]
    fn a_call_is_described_by_what_is_done_and_what_is_being_done() {
        let items = json!([task("a", "completed"), task("b", "in_progress")]);
        let described = Todo.describe(&json!({"items": items}));
        assert_eq!(described.as_deref(), Some("1 of 2 done  # b"));
        assert_eq!(Todo.describe(&json!({"items": 7})), None);
    }
}
