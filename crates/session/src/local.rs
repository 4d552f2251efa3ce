//! Servers on this machine: finds out whether one answers and which model it has, and starts the
//! host's own.
//!
//! The llama.cpp server of the provider `local` is started on a free port of this
//! machine when it is first needed, shared by all chats, and stopped with the host.
//!
//! Its program and arguments come from `setup()`, never from a document.

use std::path::Path;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::{Duration, Instant};

use agent::transport::{self, first_model};
use chat::Problem;
use policy::settings::Settings;
use reqwest::Client;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tools::Program;

use crate::endpoint::{expand, local_addresses};

/// Time between two checks whether the server has loaded its model.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Maximum time to load: a large model on a slow disk takes minutes.
const PATIENCE: Duration = Duration::from_secs(600);
/// Maximum time to read the rest of its output after it has ended.
const DRAIN: Duration = Duration::from_secs(2);
/// Maximum characters shown of the end of its output.
const LAST_WORDS: usize = 300;

/// A server to run.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wanted {
    program: String,
    model: String,
    arguments: Vec<String>,
}

/// A server that has loaded its model.
struct Serving {
    wanted: Wanted,
    program: Program,
    base_url: String,
}

/// The host's own server, once it is needed.
#[derive(Clone, Default)]
pub struct LocalServer(Arc<Mutex<Option<Serving>>>);

/// Returns the base URL of the first usual local server that serves a model.
pub async fn find_server(client: &Client) -> Option<&'static str> {
    for base_url in local_addresses() {
        // No time limit is needed: a server on this machine has a short one anyway.
        if first_model(client, base_url, None, Duration::ZERO)
            .await
            .is_some()
        {
            return Some(base_url);
        }
    }
    None
}

impl LocalServer {
    /// Returns the base URL of the running server; starts the server if necessary. Calls `note`
    /// with what the user waits for.
    ///
    /// # Errors
    ///
    /// The program or the model is missing, or the server ended before it was ready.
    pub async fn base_url(
        &self,
        settings: &Settings,
        note: &(dyn Fn(String) + Sync),
    ) -> Result<String, Problem> {
        let wanted = Wanted::of(settings)?;
        // A second request waits here until the first has started the server.
        let mut server = self.0.lock().await;
        if let Some(serving) = server.as_mut()
            && serving.wanted == wanted
            && serving.program.check_running()
        {
            return Ok(serving.base_url.clone());
        }
        // Stopped first, because two models rarely fit into memory together.
        if let Some(old) = server.take() {
            old.program.stop().await;
        }
        let serving = start(wanted, note).await?;
        let base_url = serving.base_url.clone();
        *server = Some(serving);
        Ok(base_url)
    }
}

impl Wanted {
    fn of(settings: &Settings) -> Result<Self, Problem> {
        let given = |name: &str| settings.parameter("local", name);
        let text = |name: &str| given(name).and_then(Value::as_str).map(expand);
        let Some(model) = text("model_path") else {
            return Err(Problem::new(
                "No model is set for the provider local, so nothing was sent.",
                "Set parameters.local.model_path to a GGUF file; `flemma local` says how to get one.",
            ));
        };
        if !Path::new(&model).is_file() {
            return Err(Problem::new(
                format!("There is no model at {model}, so nothing was sent."),
                "Correct parameters.local.model_path; `flemma local` says how to get a model.",
            ));
        }
        let arguments = given("extra_args").and_then(Value::as_array);
        let arguments = arguments.into_iter().flatten().filter_map(Value::as_str);
        Ok(Self {
            program: text("server").unwrap_or_else(|| "llama-server".to_owned()),
            model,
            arguments: arguments.map(str::to_owned).collect(),
        })
    }

    fn argv(&self, port: u16) -> Vec<String> {
        let port = port.to_string();
        let own = [
            self.program.as_str(),
            "--model",
            &self.model,
            "--host",
            // Other machines must not reach it, because it asks for no key.
            "127.0.0.1",
            "--port",
            &port,
            // The server takes tools only with this option.
            "--jinja",
        ];
        let own = own.into_iter().map(str::to_owned);
        // The user's arguments come last, so that they override ours.
        own.chain(self.arguments.iter().cloned()).collect()
    }

    /// The model's file name, for messages.
    fn shown(&self) -> String {
        let name = Path::new(&self.model).file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

/// Starts the server and waits until it has loaded its model.
async fn start(wanted: Wanted, note: &(dyn Fn(String) + Sync)) -> Result<Serving, Problem> {
    // Another program may take the port in between; then the server ends, and that is reported.
    let port = free_port()?;
    let mut program =
        Program::start(&wanted.argv(port)).map_err(|error| not_started(&wanted, &error))?;
    let mut words = LastWords::default();
    // Also so that the server does not block on a full pipe.
    words.follow(program.stdout.take());
    words.follow(program.stderr.take());
    let health = format!("http://127.0.0.1:{port}/health");
    let client = transport::client(&health, None, Duration::from_secs(2))?;
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let (model, seconds) = (wanted.shown(), begun.elapsed().as_secs());
        note(format!("local: llama-server loads {model}, {seconds} s"));
        // A wrong argument ends the server at once, and waiting is useless.
        if !program.check_running() {
            return Err(ended(&wanted, &words.whole().await));
        }
        let answer = client.get(&health).timeout(Duration::from_secs(2)).send();
        if answer.await.is_ok_and(|it| it.status().is_success()) {
            return Ok(Serving {
                wanted,
                program,
                base_url: format!("http://127.0.0.1:{port}/v1"),
            });
        }
        sleep(LOOK_EVERY).await;
    }
    Err(too_slow(&wanted))
}

fn too_slow(wanted: &Wanted) -> Problem {
    Problem::new(
        format!(
            "{} has not loaded {} in {} s and was stopped.",
            wanted.program,
            wanted.shown(),
            PATIENCE.as_secs()
        ),
        "Choose a smaller model, or press Ctrl-] to try again; the conversation is unchanged.",
    )
}

/// Returns a port that is free now.
fn free_port() -> Result<u16, Problem> {
    let bound = std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
    bound.map(|address| address.port()).map_err(|error| {
        Problem::new(
            format!("There is no free port for llama-server ({error}), so nothing was sent."),
            "Press Ctrl-] to try again; the conversation is unchanged.",
        )
    })
}

fn not_started(wanted: &Wanted, error: &std::io::Error) -> Problem {
    let what = match error.kind() {
        std::io::ErrorKind::NotFound => format!("{} is not installed", wanted.program),
        _ => format!("{} cannot be started ({error})", wanted.program),
    };
    Problem::new(
        format!("{what}, so nothing was sent."),
        "Install llama.cpp or set parameters.local.server; `flemma local` says how to get it.",
    )
}

fn ended(wanted: &Wanted, words: &str) -> Problem {
    let words = match words {
        "" => "it printed nothing.",
        words => words,
    };
    Problem::new(
        format!(
            "{} ended before it had loaded {}: {words}",
            wanted.program,
            wanted.shown(),
        ),
        "Correct parameters.local and press Ctrl-] again; the conversation is unchanged.",
    )
}

/// The end of the server's output, which says why it ended.
#[derive(Default)]
struct LastWords {
    kept: Arc<Lock<String>>,
    /// The tasks that read the output.
    readers: Vec<JoinHandle<()>>,
}

impl LastWords {
    /// Reads a stream to its end; otherwise the server would block on a full pipe.
    fn follow(&mut self, stream: Option<impl AsyncRead + Unpin + Send + 'static>) {
        let Some(stream) = stream else { return };
        let kept = self.kept.clone();
        self.readers.push(tokio::spawn(async move {
            let mut lines = BufReader::new(stream).split(b'\n');
            while let Ok(Some(line)) = lines.next_segment().await {
                let line = String::from_utf8_lossy(&line);
                add(&kept, line.trim());
            }
        }));
    }

    /// Returns the words of a server that has ended, once all of them are read.
    async fn whole(&mut self) -> String {
        let readers = async {
            for reader in self.readers.drain(..) {
                let _ = reader.await;
            }
        };
        // A program that it started may keep the pipe open. What was read until then is shown.
        let _ = timeout(DRAIN, readers).await;
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.trim().to_owned()
    }
}

fn add(kept: &Lock<String>, line: &str) {
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    let line = line.chars().filter(|c| !c.is_control());
    kept.push(' ');
    kept.extend(line.take(LAST_WORDS));
    let count = kept.chars().count();
    *kept = kept
        .chars()
        .skip(count.saturating_sub(LAST_WORDS))
        .collect();
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_last_words_are_read_to_the_end_unless_the_pipe_stays_open() {
        for stays_open in [false, true] {
            let (mut server, output) = tokio::io::duplex(64);
            let mut words = LastWords::default();
            words.follow(Some(output));
            let printed = server.write_all(b"error: not\na GGUF\n").await;
            assert!(printed.is_ok());
            let child = stays_open.then_some(server);
            assert_eq!(words.whole().await, "error: not a GGUF");
            drop(child);
        }
    }
}
