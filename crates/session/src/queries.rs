//! Questions of a front end that concern no open chat: lists of commands and chats, texts of new
//! chats, and logs of background jobs.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tools::Jobs;

use crate::command_table::COMMANDS;
use crate::dropped_images::Dropped;
use crate::editor::Editor;
use crate::exclude::ChatFolder;
use crate::jobs::{self, JobLog, StopJob};
use crate::known_chats::ChatQuery;
use crate::new_chats::{self, NewChat, OpenChat, Place};

/// Answers a question.
///
/// # Errors
///
/// There is no such question, or its arguments are wrong.
pub async fn answer(
    editor: &Editor,
    jobs: &Jobs,
    name: &str,
    arguments: Value,
) -> Result<Value, String> {
    let jobs = jobs.clone();
    match name {
        "commands" => reply(arguments, |_: Value| &COMMANDS[..]).await,
        "chats" => reply(arguments, |it: ChatQuery| it.list()).await,
        "search" => reply(arguments, |it: ChatQuery| it.search()).await,
        "new_chat" => reply(arguments, |it: NewChat| new_chats::make(&it)).await,
        "templates" => reply(arguments, |it: Place| it.template_names()).await,
        "add_rules" => reply(arguments, |it: OpenChat| it.add_rules()).await,
        "add_skills" => reply(arguments, |it: OpenChat| it.add_skills()).await,
        "offer_rules" => reply(arguments, |it: OpenChat| it.offer_rules()).await,
        "offer_exclude" => {
            let folder: ChatFolder = read(arguments)?;
            folder.offer(editor).await;
            Ok(Value::Null)
        }
        "jobs" => reply(arguments, move |_: Value| jobs::report(&jobs)).await,
        "job_log" => reply(arguments, move |it: JobLog| it.answer(&jobs)).await,
        "job_stop" => reply(arguments, move |it: StopJob| it.stop(&jobs)).await,
        "dropped_image" => reply(arguments, |it: Dropped| it.image()).await,
        "reference" => reply(arguments, |it: Dropped| it.reference()).await,
        _ => Err(format!("there is no query {name:?}")),
    }
}

/// Answers on a thread that may block, because the answers are on disk.
async fn reply<A, T>(
    arguments: Value,
    answer: impl FnOnce(A) -> T + Send + 'static,
) -> Result<Value, String>
where
    A: DeserializeOwned + Send + 'static,
    T: Serialize + Send + 'static,
{
    let arguments = read(arguments)?;
    let answered = tokio::task::spawn_blocking(move || serde_json::to_value(answer(arguments)));
    let answered = answered.await.map_err(|error| error.to_string())?;
    answered.map_err(|error| error.to_string())
}

fn read<A: DeserializeOwned>(arguments: Value) -> Result<A, String> {
    serde_json::from_value(arguments).map_err(|error| error.to_string())
}
