//! A tool that panics in a host that a Neovim runs. This test program is that host: it
//! starts itself again as Neovim's, with one tool more, so that the product needs none.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;

use async_trait::async_trait;
use chat::tool::ToolUseId;
use harness::{Answer, Provider, Setup};
use serde_json::json;
use tools::{Tool, ToolContext, ToolError, ToolResult};

use super::live;
use super::*;
use crate::neovim::Neovim;
use crate::rpc;

/// Set in the process that is the host.
const IS_HOST: &str = "FLEMMA_TEST_IS_HOST";
const ITSELF: &str = "host::panic_tests::this_program_as_the_host";

struct Panics;

#[async_trait]
impl Tool for Panics {
    fn name(&self) -> &str {
        "panics"
    }

    fn label(&self) -> &str {
        "Panics"
    }

    fn description(&self) -> &str {
        "Panics."
    }

    fn input_schema(&self) -> Value {
        json!({"type": "object"})
    }

    async fn execute(
        &self,
        _id: &ToolUseId,
        _input: Value,
        _ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        panic!("index out of bounds")
    }
}

/// Does nothing unless Neovim started it. The wire is standard error then, because the
/// program that runs tests writes to standard output first.
#[test]
fn this_program_as_the_host() {
    if std::env::var_os(IS_HOST).is_none() {
        return;
    }
    rustix::stdio::dup2_stdout(rustix::stdio::stderr()).unwrap();
    let nothing = File::options().write(true).open("/dev/null").unwrap();
    rustix::stdio::dup2_stderr(nothing).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (incoming, messages) = mpsc::unbounded_channel();
        let (sender, channel) = rpc::connect(incoming);
        let tool: Arc<dyn Tool> = Arc::new(Panics);
        let add = |host: &mut Host| {
            let name = "test".to_owned();
            host.take_change(Change::Ready(name, Precedence::Own, vec![tool]));
        };
        live(Neovim::new(sender), add, messages, channel).await;
    });
    tools::end_descendants();
    std::process::exit(0);
}

#[test]
fn a_tool_that_panics_costs_its_call_and_neither_the_others_nor_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("flemma");
    let itself = std::env::current_exe().unwrap();
    let script = format!(
        "#!/bin/sh\n{IS_HOST}=1 exec '{}' --exact {ITSELF} --nocapture 2>&1 >/dev/null\n",
        itself.display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let wait = "until [ -e go ]; do sleep 0.02; done; echo went on";
    let calls = Answer::new()
        .tool_use(
            "t_1",
            "bash",
            &json!({"label": "", "command": wait, "timeout": null}),
        )
        .tool_use("t_2", "panics", &json!({}))
        .tool_use("t_3", "calculator", &json!({"expression": "6*7"}));
    let again = Answer::new().tool_use("t_4", "panics", &json!({}));
    let provider = Provider::anthropic([calls, again, Answer::says("Well.")]);
    let options = json!({"provider": provider.name(), "tools": {"require_approval": false}});
    let editor = Setup::new()
        .host(&program)
        .provider(&provider)
        .options(options)
        .file("question.chat", "@You:\nGo.\n")
        .start();
    editor.keys("<C-]>");
    editor.wait_text("The tool panics crashed and gave no result: index out of bounds");
    fs::write(editor.dir().join("go"), "").unwrap();
    editor.wait_text("@Assistant:\nWell.");
    let text = editor.text();
    assert!(text.contains("`t_1`\n\n```\nwent on\n```"), "{text}");
    assert!(text.contains("`t_3`\n\n```\n42\n```"), "{text}");
    let crashed = "(error)\n\n```\nThe tool panics crashed";
    assert_eq!(text.matches(crashed).count(), 2, "{text}");
    let restarts = editor.lua("return require('flemma.host').state().restarts", &json!([]));
    assert_eq!(restarts, 0);
}
