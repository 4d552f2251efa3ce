//! Keys in the environment reach their provider and are in the environment block of no
//! Flemma process, which other programs can read.

use std::fs;

use harness::{Answer, Provider};

use crate::shell::{Shell, end, worker};
use crate::stage::{QUESTION, command, setup, wait_end, watch};

/// A variable of the user that is in no list.
const TOKEN: (&str, &str) = ("MY_OWN_TOKEN", "the-users-token");
const KEY: &str = "test-key";

/// The environment block of a process, as other programs see it. Empty if the system doesn't show it.
fn block(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn children(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    list.split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}

#[track_caller]
fn assert_no_secret(text: &str) {
    for secret in [KEY, TOKEN.1, "API_KEY", TOKEN.0] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[test]
fn the_host_of_neovim_has_no_key_in_its_environment_block() {
    let provider = Provider::anthropic(["Well."]);
    let editor = setup(&provider)
        .env(TOKEN.0, TOKEN.1)
        .file("question.chat", QUESTION)
        .start();
    watch(&editor);
    editor.keys("<C-]>");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    let host = editor.host_pid().unwrap();
    let workers = children(host);
    assert!(!workers.is_empty());
    for pid in workers.into_iter().chain([host]) {
        assert_no_secret(&block(pid));
    }
    let requests = provider.requests();
    assert_eq!(requests[0].header("x-api-key"), Some(KEY));
}

#[test]
fn a_command_finds_no_key_in_the_processes_that_started_it() {
    // Up to the first process that is not Flemma's.
    let script = "p=$PPID; while readlink /proc/$p/exe | grep -qxE \"$FLEMMA(-leash)?\"; do \
                  echo \"$p $(tr '\\0' ' ' < /proc/$p/environ)\"; \
                  p=$(awk '/^PPid/ { print $2 }' /proc/$p/status); done > blocks; env > own";
    let answer = Answer::new().tool_use("t_1", "bash", &command(script));
    let provider = Provider::anthropic([answer, Answer::says("Well.")]);
    let shell = Shell::new(&provider);
    let program = fs::canonicalize(env!("CARGO_BIN_EXE_flemma")).unwrap();
    shell.configure(&format!(
        "[tools.bash]\nenv = {{ FLEMMA = {program:?} }}\n[sandbox]\nenabled = false\nenv = [{:?}]\n",
        "MY_OTHER_*"
    ));
    shell.write("a.chat", QUESTION);
    let mut send = shell.command(&["send", "--approve", "bash", "a.chat"]);
    send.env(TOKEN.0, TOKEN.1)
        .env("MY_OTHER_VARIABLE", "granted");
    let ran = end(send.spawn().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let blocks = shell.read("blocks");
    if cfg!(target_os = "linux") {
        assert_eq!(blocks.lines().count(), 3, "{blocks}");
    }
    assert_no_secret(&blocks);
    let own = shell.read("own");
    assert_no_secret(&own);
    assert!(own.contains("MY_OTHER_VARIABLE=granted\n"), "{own}");
    assert_eq!(provider.requests()[0].header("x-api-key"), Some(KEY));
}

#[test]
fn standard_input_and_arguments_arrive() {
    let provider = Provider::anthropic(["Well."]);
    let shell = Shell::new(&provider);
    shell.write("a.chat", "");
    let ran = shell.run_with(
        &["send", "--stdin", "--message", "--inner", "a.chat"],
        "from the pipe\n",
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let chat = shell.read("a.chat");
    assert!(chat.contains("--inner\n"), "{chat}");
    assert!(chat.contains("from the pipe\n"), "{chat}");
}

#[test]
fn a_worker_of_the_command_line_has_no_key_in_its_environment_block() {
    let answer = Answer::new().tool_use("t_1", "bash", &command("touch here; sleep 300; echo"));
    let provider = Provider::anthropic([answer]);
    let shell = Shell::new(&provider);
    shell.write("a.chat", QUESTION);
    let child = shell.start(&["send", "--approve", "bash", "a.chat"]);
    shell.wait_file("here", "");
    for pid in [child.id(), worker(&child)] {
        assert_no_secret(&block(pid));
    }
    crate::processes::signal(child.id(), rustix::process::Signal::TERM);
    end(child);
}

#[test]
fn a_proxy_with_a_password_is_still_used() {
    let provider = Provider::anthropic(["Well."]);
    let shell = Shell::new(&provider);
    shell.write("a.chat", QUESTION);
    let proxy = format!("http://me:word@{}", provider.address());
    for variable in ["HTTP_PROXY", "all_proxy"] {
        provider.then("Well.");
        shell.write("a.chat", QUESTION);
        let mut send = shell.command(&["send", "a.chat"]);
        send.env("ANTHROPIC_BASE_URL", "http://provider.invalid")
            .env(variable, &proxy);
        let ran = end(send.spawn().unwrap());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let requests = provider.requests();
        let sent = requests.last().unwrap().header("proxy-authorization");
        assert_eq!(sent, Some("Basic bWU6d29yZA=="), "{variable}");
    }
}

#[test]
fn a_server_gets_the_variable_that_its_configuration_names() {
    let shell = Shell::offline();
    shell.configure(&format!(
        "[mcp.servers.mine]\ncommand = [\"sh\", \"-c\", \"echo $GIVEN > given; env > all\"]\n\
         cwd = {:?}\nenv = {{ GIVEN = \"${{{}}}\" }}\n",
        shell.dir(),
        TOKEN.0
    ));
    let mut list = shell.command(&["mcp", "list", "--start"]);
    list.env(TOKEN.0, TOKEN.1).env("SOME_API_KEY", KEY);
    end(list.spawn().unwrap());
    assert_eq!(shell.read("given"), format!("{}\n", TOKEN.1));
    assert!(!shell.read("all").contains(TOKEN.0));
}
