//! The model's list of tasks, shown below the end of the chat while it works.
//!
//! A tool passes the list in the details of its result. It is dropped when the work ends,
//! because the chat contains it.

use serde::Deserialize;
use serde_json::Value;
use tools::{Task, TaskStatus};

use crate::protocol::TaskItem;

/// Maximum lines that the list takes on the screen.
const LINES: usize = 8;
/// Maximum columns of a task.
const COLUMNS: usize = 100;

/// The latest list; empty while there is nothing to show.
#[derive(Debug, Default)]
pub(super) struct Tasks(Vec<Task>);

impl Tasks {
    /// Takes the list from the details of a result, if they contain one.
    pub(crate) fn update(&mut self, details: Option<&Value>) {
        let list = details.and_then(|it| it.get("tasks"));
        // Another tool may use the name `tasks` for something else, which is ignored.
        let list = list.and_then(|it| Vec::<Task>::deserialize(it).ok());
        if let Some(list) = list {
            let is_done = list.iter().all(|it| it.status == TaskStatus::Completed);
            // A finished list says nothing that the chat does not.
            self.0 = if is_done { Vec::new() } else { list };
        }
    }

    /// Returns the lines that fit. If there are too many, done tasks and the last ones are
    /// counted.
    pub(super) fn items(&self) -> Vec<TaskItem> {
        let item = |task: &Task| TaskItem {
            text: chat::preview::one_line(&task.content, COLUMNS),
            status: task.status,
        };
        if self.0.len() <= LINES {
            return self.0.iter().map(item).collect();
        }
        let (done, open): (Vec<_>, Vec<_>) = self
            .0
            .iter()
            .partition(|it| it.status == TaskStatus::Completed);
        let counted = |count: usize, what: &str, status| {
            let text = format!("{count} {what}");
            (count > 0).then_some(TaskItem { text, status })
        };
        // One line counts done tasks, and one counts those that are left out.
        let shown = open.len().min(LINES - 2);
        let done = counted(done.len(), "done", TaskStatus::Completed);
        let more = counted(open.len() - shown, "more", TaskStatus::Pending);
        let open = open[..shown].iter().map(|task| item(task));
        done.into_iter().chain(open).chain(more).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(statuses: &[&str]) -> Vec<String> {
        let task = |(at, status)| json!({"content": format!("t{at}"), "status": status});
        let list: Vec<Value> = statuses.iter().enumerate().map(task).collect();
        let mut tasks = Tasks::default();
        tasks.update(Some(&json!({"tasks": list})));
        tasks.items().into_iter().map(|it| it.text).collect()
    }

    #[test]
    fn a_long_list_is_shown_from_the_next_task() {
        let (done, open) = ("completed", "pending");
        assert_eq!(shown(&[done, open]), ["t0", "t1"]);
        let long = [vec![done; 5], vec![open; 9]].concat();
        assert_eq!(
            shown(&long),
            ["5 done", "t5", "t6", "t7", "t8", "t9", "t10", "3 more"]
        );
        assert_eq!(
            shown(&[vec![done; 8], vec![open]].concat()),
            ["8 done", "t8"]
        );
    }

    #[test]
    fn a_finished_list_is_hidden_and_other_details_change_nothing() {
        assert!(shown(&["completed", "completed"]).is_empty());
        let mut tasks = Tasks::default();
        let list = json!({"tasks": [{"content": "a", "status": "pending"}]});
        tasks.update(Some(&list));
        for other in [json!({"exit_code": 0}), json!({"tasks": 3}), json!(null)] {
            tasks.update(Some(&other));
        }
        tasks.update(None);
        assert_eq!(tasks.items().len(), 1);
        tasks.update(Some(&json!({"tasks": []})));
        assert!(tasks.items().is_empty());
    }
}
