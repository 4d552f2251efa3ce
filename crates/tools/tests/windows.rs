//! Job objects: no process outlives the call that started it.
#![cfg(windows)]
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use chat::tool::ToolUseId;
use tools::{Program, ToolContext, run_argv};

/// The start of an argument with a role that one of the tests plays when another one has started
/// this program. It is the name of no test.
const ROLE: &str = "role:";

/// The arguments that start this program in a role.
fn in_role(test: &str, role: &str) -> Vec<String> {
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().unwrap().to_owned();
    let role = format!("{ROLE}{role}");
    let words = ["--exact", test, "--nocapture", &role].map(str::to_owned);
    [program].into_iter().chain(words).collect()
}

fn has_role(role: &str) -> bool {
    std::env::args().any(|it| it.strip_prefix(ROLE) == Some(role))
}

/// In its role, says on which port it listens, and stays.
#[test]
fn the_background_process() {
    if has_role("background") {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        writeln!(std::io::stderr(), "port {port}").unwrap();
        std::thread::sleep(Duration::from_secs(600));
    }
}

/// In its role, starts the background process, passes on its port, and ends.
#[test]
fn the_command() {
    if has_role("command") || has_role("waiting") {
        let words = in_role("the_background_process", "background");
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stderr.take().unwrap());
        output.read_line(&mut line).unwrap();
        write!(std::io::stderr(), "{line}").unwrap();
        if has_role("waiting") {
            child.wait().unwrap();
        }
    }
}

fn port(output: &str) -> u16 {
    let line = output.lines().find_map(|it| it.strip_prefix("port "));
    line.unwrap().trim().parse().unwrap()
}

fn context() -> ToolContext {
    let folder = std::env::temp_dir();
    ToolContext::new(&folder, &folder)
}

#[tokio::test]
async fn an_exit_code_and_both_outputs_arrive() {
    let words = ["cmd", "/c", "echo out& echo err 1>&2& exit 3"].map(str::to_owned);
    let ended = run_argv(&words, &ToolUseId::new("t"), &context()).await;
    let ended = ended.unwrap();
    assert_eq!(ended.code, Some(3));
    assert_eq!(ended.stdout.trim(), "out");
    assert_eq!(ended.stderr.trim(), "err");
}

#[tokio::test]
async fn a_background_process_ends_with_its_command() {
    let words = in_role("the_command", "command");
    let ended = run_argv(&words, &ToolUseId::new("t"), &context()).await;
    let ended = ended.unwrap();
    assert_eq!(ended.code, Some(0));
    assert!(TcpStream::connect(("127.0.0.1", port(&ended.stderr))).is_err());
}

#[tokio::test]
async fn a_program_that_is_stopped_or_dropped_ends_with_its_children() {
    for is_stopped in [true, false] {
        let mut program = Program::start(&in_role("the_command", "waiting")).unwrap();
        let mut output = tokio::io::BufReader::new(program.stderr.take().unwrap());
        let mut line = String::new();
        tokio::io::AsyncBufReadExt::read_line(&mut output, &mut line)
            .await
            .unwrap();
        let address = ("127.0.0.1", port(&line));
        assert!(TcpStream::connect(address).is_ok());
        if is_stopped {
            program.stop().await
        } else {
            drop(program)
        }
        // Its output is closed once all of its processes have ended.
        tokio::io::AsyncReadExt::read_to_end(&mut output, &mut Vec::new())
            .await
            .unwrap();
        assert!(TcpStream::connect(address).is_err(), "{is_stopped}");
    }
}
