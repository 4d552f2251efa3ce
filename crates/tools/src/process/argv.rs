//! Runs a program with arguments, without a shell, and returns its two outputs separately.
//!
//! When the call ends, none of the program's processes is running.

use std::ffi::OsString;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use chat::tool::ToolUseId;
use chat::truncate::ceil_char_boundary;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;

use super::{Launch, Piped, ProcessMark, child_environment};
use crate::context::{Progress, ToolContext};
use crate::error::ToolError;
use crate::sandbox::RETRIES;
use crate::screen::last_state;

/// Bytes of each output that are kept, from its end (1 MiB).
const MOST: usize = 1024 * 1024;
/// Bytes read at once; the capacity of a pipe.
const CHUNK: usize = 64 * 1024;
/// How long to read output after the program has ended. A background process may keep the pipe
/// open forever.
const DRAIN: Duration = Duration::from_millis(200);
/// Replaces a NUL byte, which a buffer line can't contain.
const NUL_SHOWN: &str = "␀";

/// The exit code and the output of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The last megabyte of its standard output.
    pub stdout: String,
    /// The last megabyte of its standard error.
    pub stderr: String,
}

/// Runs `argv` in the context's directory until it ends or the call is cancelled.
///
/// # Errors
///
/// [`ToolError::Failed`] if it can't be started, and [`ToolError::Cancelled`].
pub async fn run_argv(
    argv: &[String],
    id: &ToolUseId,
    ctx: &ToolContext,
) -> Result<CommandOutput, ToolError> {
    let mut ended = run_once(argv, id, ctx).await?;
    for _ in 0..RETRIES {
        // Output means that the program did run, so it must not run twice.
        let is_silent = ended.stdout.is_empty();
        if !is_silent || !ctx.files.sandbox.is_failed_start(ended.code, &ended.stderr) {
            break;
        }
        ended = run_once(argv, id, ctx).await?;
    }
    Ok(ended)
}

async fn run_once(
    argv: &[String],
    id: &ToolUseId,
    ctx: &ToolContext,
) -> Result<CommandOutput, ToolError> {
    let not_started = |error: io::Error| {
        let name = argv.first().map(String::as_str).unwrap_or_default();
        ToolError::Failed(format!(
            "The command {name:?} could not be started: {error}. Nothing was run."
        ))
    };
    let (sandbox, cwd) = (ctx.files.sandbox.clone(), ctx.files.cwd.clone());
    // Blocking, because the first call in a process tests the sandbox.
    let prefix = tokio::task::spawn_blocking(move || sandbox.prefix(&cwd, &[])).await;
    let prefix = prefix
        .unwrap_or_else(|error| Err(error.to_string()))
        .map_err(ToolError::Failed)?;
    let mut piped = start(argv, prefix, id, ctx).map_err(not_started)?;
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let ended = follow(&mut piped, &mut stdout, &mut stderr, ctx).await;
    let by_itself = matches!(ended, Some(Ok(_)));
    // Only before the program was waited for; see `Held::ask_to_end`.
    if !by_itself {
        piped.held.ask_to_end();
    }
    if !by_itself || !piped.held.confirm_gone() {
        piped.held.stop().await;
    }
    let status = ended.ok_or(ToolError::Cancelled)?.map_err(not_started)?;
    Ok(CommandOutput {
        code: status.code(),
        stdout: text(&stdout),
        stderr: text(&stderr),
    })
}

/// Reads the output until the program ends. Returns `None` if the call is cancelled first.
async fn follow(
    piped: &mut Piped,
    stdout: &mut Vec<u8>,
    stderr: &mut Vec<u8>,
    ctx: &ToolContext,
) -> Option<io::Result<ExitStatus>> {
    let (out, err) = (piped.stdout.take(), piped.stderr.take());
    let mut reading = Box::pin(async {
        tokio::join!(
            read(out, stdout, &ctx.progress),
            read(err, stderr, &ctx.progress)
        )
    });
    let mut is_read = false;
    let status = loop {
        tokio::select! {
            biased;
            // Biased, so that a program that prints without pause can be cancelled.
            () = ctx.cancel.cancelled() => return None,
            status = piped.wait() => break status,
            _ = &mut reading, if !is_read => is_read = true,
        }
    };
    // The program has ended, but the pipes may still contain output.
    if !is_read && status.is_ok() {
        let _ = timeout(DRAIN, &mut reading).await;
    }
    Some(status)
}

/// Starts `argv` after the words `prefix`, which put it in the sandbox.
fn start(
    argv: &[String],
    prefix: Vec<OsString>,
    id: &ToolUseId,
    ctx: &ToolContext,
) -> io::Result<Piped> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is empty"));
    };
    // The system reports it like a program that does not exist.
    if !ctx.files.cwd.is_dir() {
        let folder = ctx.files.cwd.display();
        return Err(io::Error::other(format!(
            "the working directory {folder} does not exist"
        )));
    }
    let mark = ProcessMark::new(id.as_str());
    let launch = Launch {
        prefix,
        program,
        arguments: arguments.iter().map(OsString::from).collect(),
        cwd: &ctx.files.cwd,
        environment: child_environment(crate::variables(), &[], &mark),
        stdin: Stdio::null(),
    };
    Piped::start(launch, &mark)
}

/// Reads a pipe to its end, and keeps the last megabytes.
async fn read(pipe: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>, progress: &Progress) {
    let Some(mut pipe) = pipe else { return };
    let mut chunk = Vec::with_capacity(CHUNK);
    while pipe.read_buf(&mut chunk).await.is_ok_and(|bytes| bytes > 0) {
        progress.output(&String::from_utf8_lossy(&chunk));
        kept.append(&mut chunk);
        // Only at twice the size, so that not every read moves a megabyte.
        if kept.len() > 2 * MOST {
            kept.drain(..kept.len() - MOST);
        }
    }
}

fn text(bytes: &[u8]) -> String {
    let text = last_state(&String::from_utf8_lossy(bytes).replace('\0', NUL_SHOWN));
    // Replaced bytes have become longer, so the text may exceed the limit again.
    text[ceil_char_boundary(&text, text.len().saturating_sub(MOST))..].to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn run(words: &[&str]) -> Result<CommandOutput, ToolError> {
        let folder = tempfile::tempdir().unwrap();
        let ctx = ToolContext::new(folder.path(), folder.path());
        let argv: Vec<String> = words.iter().map(|it| (*it).to_owned()).collect();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(run_argv(&argv, &ToolUseId::new("t"), &ctx))
    }

    #[test]
    fn each_word_is_one_argument_and_the_outputs_are_told_apart() {
        let ended = run(&["printf", "%s|", "a b; '$HOME'", "*"]).unwrap();
        assert_eq!(ended.stdout, "a b; '$HOME'|*|");
        let ended = run(&["printf", "1%%\\r2%%\\n"]).unwrap();
        assert_eq!(ended.stdout, "2%\n");
        let ended = run(&["sh", "-c", "echo out; echo err >&2; exit 3"]).unwrap();
        let expected = CommandOutput {
            code: Some(3),
            stdout: "out\n".to_owned(),
            stderr: "err\n".to_owned(),
        };
        assert_eq!(ended, expected);
    }

    #[test]
    fn what_cannot_be_started_says_so() {
        for words in [&["no-such-program"][..], &[]] {
            let error = run(words).unwrap_err().to_string();
            assert!(error.contains("could not be started"), "{error}");
        }
    }

    #[test]
    fn of_a_flood_the_end_is_kept() {
        let ended = run(&["sh", "-c", "yes | head -c 5000000; echo end"]).unwrap();
        assert_eq!(ended.stdout.len(), MOST);
        assert!(ended.stdout.ends_with("\nend\n"));
    }

    #[test]
    fn what_it_leaves_behind_does_not_hold_it_up() {
        let ended = run(&["sh", "-c", "sleep 60 & echo done"]).unwrap();
        assert_eq!(ended.stdout, "done\n");
    }
}
