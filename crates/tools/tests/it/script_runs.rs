//! Calls of script tools: the version that runs, limits, and requests to the host.

use async_trait::async_trait;
use chat::tool::{ToolDefinition, ToolOutcome, ToolUseId};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tools::{ModelRequest, Models, Nested, digest};

use crate::scripts::{HEAD, Stage, wait};

#[test]
fn a_call_runs_the_script_as_it_is_at_that_time() {
    let stage = Stage::script("print(1)");
    let tool = stage.tool("t");
    let call = || {
        let id = ToolUseId::new("toolu_01");
        wait(tools::run(tool.clone(), id, json!({}), stage.ctx.clone()))
    };
    let failed = || match call() {
        ToolOutcome::Failed(text) => text,
        other => panic!("{other:?}"),
    };
    stage.write("t/other.py", "print(2)");
    stage.write(
        "t/tool.toml",
        "description = \"d\"\nscript = \"other.py\"\n",
    );
    assert!(matches!(call(), ToolOutcome::Done { content, .. } if content == "2"));
    stage.write(
        "t/tool.toml",
        "description = \"d\"\nscript = \"other.py\"\nname = \"new\"\n",
    );
    assert!(failed().contains("The tool \"t\" is called \"new\" now. Nothing was run."));
    stage.write("t/tool.toml", "description =\n");
    assert!(failed().contains("tool.toml, line 1: This is not TOML"));
    fs::remove_dir_all(&stage.place.root).unwrap();
    assert!(failed().contains("Nothing was run."));
}

#[test]
fn a_script_that_changed_since_it_was_trusted_does_not_run() {
    let mut stage = Stage::script("print(1)");
    stage.place.agreed = Some(digest(&stage.place.root).unwrap());
    assert_eq!(stage.done("t", json!({})), "1");
    let tool = stage.tool("t");
    stage.write("lib/evil.py", "");
    let id = ToolUseId::new("toolu_01");
    let outcome = wait(tools::run(tool, id, json!({}), stage.ctx.clone()));
    assert!(
        matches!(&outcome, ToolOutcome::Failed(text) if text.contains("has changed since the user trusted it")),
        "{outcome:?}"
    );
}

#[test]
fn a_long_result_is_truncated_and_a_huge_one_is_an_error() {
    let long = Stage::script("import llmr.mcp as m\nm.return_string('x\\n' * 5000)");
    let message = long.done("t", json!({}));
    assert!(
        message.contains("[Showing lines 1-2000 of 5000. Full output: "),
        "{}",
        message.len()
    );
    let printed = Stage::script("for n in range(5000): print(n)").done("t", json!({}));
    assert!(printed.contains("[Showing lines 3001-5000 of 5000. Full output: "));
    let flood = Stage::script("import llmr.mcp as m\nm.return_string('x' * 70_000_000)");
    assert!(flood.failed("t", json!({})).contains("more than 64 MB"));
}

#[tokio::test]
async fn a_cancel_and_a_time_limit_end_all_processes_of_a_script() {
    let script = "import subprocess, sys\nchild = subprocess.Popen(['sleep', '600'], start_new_session=True)\n\
                  print(child.pid)\nsys.stdout.flush()\nopen('pid', 'w').write(str(child.pid))\nchild.wait()\n";
    let mut stage = Stage::script(script);
    let cancel = CancellationToken::new();
    stage.ctx.cancel = cancel.clone();
    let pid = stage.ctx.files.cwd.join("pid");
    let started = async {
        while !fs::read_to_string(&pid).is_ok_and(|it| !it.is_empty()) {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(stage.call("t", json!({})), started);
    assert!(matches!(outcome, ToolOutcome::Cancelled(_)), "{outcome:?}");
    let alive = |pid: &str| Path::new("/proc").join(pid).join("exe").read_link().is_ok();
    assert!(!alive(&fs::read_to_string(&pid).unwrap()));

    fs::remove_file(&pid).unwrap();
    stage.ctx.cancel = CancellationToken::new();
    stage.write("t/tool.toml", &format!("timeout = 2\n{HEAD}"));
    let outcome = stage.call("t", json!({})).await;
    let ToolOutcome::Failed(message) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(
        message.starts_with("The script was stopped after 2 seconds, its time limit."),
        "{message}"
    );
    assert!(!alive(&fs::read_to_string(&pid).unwrap_or_default()));
}

#[test]
fn keys_and_the_editors_address_are_not_passed_on() {
    let script = "import os\nprint([n for n in os.environ if n.endswith('_API_KEY') or n.startswith('NVIM')])";
    assert_eq!(Stage::script(script).done("t", json!({})), "[]");
}

/// Answers requests like the host, and records them.
#[derive(Default)]
struct Others {
    asked: Mutex<Vec<String>>,
}

#[async_trait]
impl Nested for Others {
    fn tools(&self) -> Vec<ToolDefinition> {
        let tool = |name: &str, keywords: &[&str]| ToolDefinition {
            name: name.to_owned(),
            description: format!("The {name}."),
            input_schema: json!({}),
            strict: false,
            keywords: keywords.iter().map(|it| (*it).to_owned()).collect(),
        };
        vec![tool("read", &[]), tool("sum", &["math"])]
    }

    async fn call(&self, name: &str, input: Value, _cancel: &CancellationToken) -> ToolOutcome {
        self.asked.lock().unwrap().push(format!("{name} {input}"));
        match name {
            "sum" => ToolOutcome::Done {
                content: "{\"sum\": 3}".to_owned(),
                marked_failed: false,
            },
            _ => ToolOutcome::Failed("no policy approves it".to_owned()),
        }
    }
}

#[async_trait]
impl Models for Others {
    async fn complete(
        &self,
        asked: ModelRequest,
        _nested: Arc<dyn Nested>,
        _cancel: &CancellationToken,
    ) -> Result<String, String> {
        let said: Vec<&str> = asked
            .messages
            .iter()
            .map(|it| it.content.as_str())
            .collect();
        let text = format!("{:?} {} {}", asked.model, asked.tools, said.join("|"));
        self.asked.lock().unwrap().push(text);
        Ok("the answer".to_owned())
    }
}

#[test]
fn a_script_calls_other_tools_and_asks_a_model_through_the_host() {
    let others = Arc::new(Others::default());
    let mut stage = Stage::script(
        "import llmr.mcp as m, llmr.ai as ai\n\
         print(m.call_tool('sum', {'a': 1})['sum'], [t['name'] for t in m.list_tools()])\n\
         print([(t['name'], t['score']) for t in m.tool_search('math')])\n\
         try:\n    m.execute_tool('bash', {})\nexcept m.ToolError as e:\n    print(e)\n\
         print(ai.completion('small', [{'role': 'user', 'content': 'hi'}]))\n\
         try:\n    ai.completion(None, [{'role': 'tool', 'content': 'x'}])\nexcept ai.CompletionError as e:\n    print(e)\n",
    );
    stage.ctx.exec.nested = others.clone();
    stage.ctx.exec.models = others.clone();
    assert_eq!(
        stage.done("t", json!({})),
        "3 ['read', 'sum']\n[('sum', 0.8)]\nno policy approves it\nthe answer\n\
         A message has the role \"tool\". Roles: system, user, assistant."
    );
    assert_eq!(
        *others.asked.lock().unwrap(),
        ["sum {\"a\":1}", "bash {}", "Some(\"small\") true hi"]
    );
}

#[test]
fn an_invalid_message_of_a_script_is_an_error() {
    let script = "import llmr.mcp as m\nm._ask({'bash': 'id'})";
    let message = Stage::script(script).failed("t", json!({}));
    assert!(
        message.contains("asked for something that is not known"),
        "{message}"
    );
}
