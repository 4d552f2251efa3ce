//! Folders with a `tool.toml` and a script, called as the host calls them. The tools of
//! `examples/tools` are those of document 5, word for word.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use chat::tool::{ToolDefinition, ToolOutcome, ToolUseId};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tools::{Asked, Models, Nested, Place, ScriptFolder, Tool, ToolContext, digest};

const HEAD: &str = "description = \"d\"\nscript = \"s.py\"\n";
const TEXT: &str = "[parameters.text]\ntype = \"string\"\ndescription = \"d\"\n";

struct Stage {
    dir: TempDir,
    place: Place,
    ctx: ToolContext,
}

impl Stage {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let place = Place {
            root: dir.path().join("tools"),
            libraries: Vec::new(),
            agreed: None,
        };
        fs::create_dir_all(dir.path().join("work")).unwrap();
        let ctx = ToolContext::new(dir.path().join("work"), dir.path().join("outputs"));
        Self { dir, place, ctx }
    }

    /// One whose tools are the examples.
    fn examples() -> Self {
        let mut stage = Self::new();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tools");
        copy(&root, &stage.place.root);
        stage.ctx.timeout = Duration::from_secs(60);
        stage
    }

    /// One with a tool `t` that takes a `text` and runs this script.
    fn script(script: &str) -> Self {
        let stage = Self::new();
        stage.write("t/tool.toml", &format!("{HEAD}{TEXT}"));
        stage.write("t/s.py", script);
        stage
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.place.root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let mut folder = ScriptFolder::new(self.place.clone());
        folder.look();
        let tools = folder.tools();
        let tool = tools.into_iter().find(|it| it.name() == name);
        tool.unwrap_or_else(|| panic!("no {name}: {:?}", folder.problems()))
    }

    async fn call(&self, name: &str, input: Value) -> ToolOutcome {
        let id = ToolUseId::new("toolu_01");
        tools::run(self.tool(name), id, input, self.ctx.clone()).await
    }

    #[track_caller]
    fn done(&self, name: &str, input: Value) -> String {
        match wait(self.call(name, input)) {
            ToolOutcome::Done { content, .. } => content,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn failed(&self, name: &str, input: Value) -> String {
        match wait(self.call(name, input)) {
            ToolOutcome::Failed(text) => text,
            other => panic!("{other:?}"),
        }
    }
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(work)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

/// Everything below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().flatten().map(|it| it.path());
    let mut all: Vec<PathBuf> = entries
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect();
    all.sort();
    all
}

#[test]
fn the_documents_calculator_calculates_with_floats() {
    let stage = Stage::examples();
    let before = files(&stage.place.root);
    let call = |operation: &str, a: i32, b: i32| {
        stage.done(
            "calculator",
            json!({"operation": operation, "a": a, "b": b}),
        )
    };
    assert_eq!(call("multiply", 7, 8), "56.0");
    assert_eq!(call("divide", 1, 0), "Error: Cannot divide by zero");
    assert_eq!(call("root", 1, 2), "Error: Unknown operation: root");
    assert_eq!(files(&stage.place.root), before, "nothing is left behind");
}

#[test]
fn the_documents_greeting_knows_its_defaults() {
    let stage = Stage::examples();
    let all = json!({"name": "Ann", "count": 2, "uppercase": true});
    assert_eq!(
        stage.done("my_custom_tool", all),
        "HELLO, ANN!\nHELLO, ANN!"
    );
    assert_eq!(
        stage.done("my_custom_tool", json!({"name": "Ann"})),
        "Hello, Ann!"
    );
    assert_eq!(
        stage.done("my_custom_tool", json!({"name": ""})),
        "Error: name parameter is required",
        "what a script says stays"
    );
}

#[test]
fn what_is_missing_is_named_and_the_script_not_run() {
    let stage = Stage::examples();
    stage.write("my_tool/script.py", "open('ran', 'w')");
    let told = stage.failed("my_custom_tool", json!({}));
    assert!(told.contains("\"name\" is a required property"), "{told}");
    assert!(!stage.ctx.cwd.join("ran").exists());
}

#[test]
fn a_library_beside_the_tools_is_found_and_read_anew_each_time() {
    let stage = Stage::examples();
    let shout = || stage.done("shout", json!({"text": "abc"}));
    assert_eq!(shout(), "ABC");
    stage.write(
        "lib/string_utils.py",
        "def to_uppercase(text):\n    return 'new'\n",
    );
    assert_eq!(shout(), "new");
    stage.write(
        "lib/string_utils.py",
        "def to_uppercase(text):\n    return 'abc'\n",
    );
    assert_eq!(shout(), "abc", "not even one of the same length and second");
    fs::remove_file(stage.place.root.join("lib/string_utils.py")).unwrap();
    let told = stage.failed("shout", json!({"text": "abc"}));
    assert!(told.contains("No module named 'string_utils'"), "{told}");
}

#[test]
fn a_library_can_be_elsewhere_and_a_package() {
    let mut stage = Stage::script("import own.part\nprint(own.part.x)\n");
    let library = stage.dir.path().join("library");
    fs::create_dir_all(library.join("own")).unwrap();
    fs::write(library.join("own/__init__.py"), "").unwrap();
    fs::write(library.join("own/part.py"), "x = 3\n").unwrap();
    stage.place.libraries.push(library.clone());
    assert_eq!(stage.done("t", json!({})), "3");
    assert!(!library.join("own/__pycache__").exists());
}

#[test]
fn the_result_is_what_was_returned_or_else_what_was_printed() {
    for (script, expected) in [
        ("print('a')\nprint('b')", "a\nb"),
        (
            "print('a')\nimport llmr.mcp\nllmr.mcp.return_string('r')",
            "r",
        ),
        (
            "import llmr.mcp as m\nm.return_object({'b': 1, 'a': 2})",
            "{\"b\": 1, \"a\": 2}",
        ),
        (
            "import llmr.mcp as m\nm.return_string('1')\nm.return_string(2)",
            "2",
        ),
        (
            "import llmr.mcp as m\nprint(m.get('units', 'celsius'), m.get('text'))",
            "celsius x",
        ),
        ("pass", "(no output)"),
        (
            "import sys\nprint('out')\nprint('err', file=sys.stderr)",
            "out",
        ),
        ("import sys\nprint('a')\nsys.exit(0)", "a"),
        (
            "if __name__ == '__main__':\n    print(__file__.endswith('t/s.py'))",
            "True",
        ),
        ("print('h\u{e4}\u{1f44b}')", "h\u{e4}\u{1f44b}"),
        ("import llmr.mcp as m\nm.return_string('')", ""),
        (
            "import subprocess\nprint(subprocess.run(['cat'], capture_output=True).stdout)",
            "b''",
        ),
        ("import os\nprint(os.getcwd().endswith('/work'))", "True"),
    ] {
        assert_eq!(
            Stage::script(script).done("t", json!({"text": "x"})),
            expected,
            "{script}"
        );
    }
}

#[test]
fn a_crash_is_an_error_with_its_traceback_whatever_was_returned() {
    let stage = Stage::script(
        "import llmr.mcp\nllmr.mcp.return_string('fine')\nprint('so far')\n\ndef f():\n    raise ValueError('no')\n\nf()\n",
    );
    let told = stage.failed("t", json!({}));
    let file = stage.place.root.join("t/s.py");
    assert!(
        told.starts_with("Traceback (most recent call last):\n"),
        "{told}"
    );
    assert!(
        told.contains(&format!("File \"{}\", line 8, in <module>", file.display())),
        "{told}"
    );
    assert!(
        told.contains("ValueError: no\n\nIt printed:\nso far"),
        "{told}"
    );
    assert!(!told.contains("<flemma>"), "{told}");
    for (script, said) in [
        ("def", "SyntaxError"),
        ("import sys\nsys.exit(3)", "The script ended itself: 3"),
        (
            "import sys\nsys.exit('why')",
            "The script ended itself: why",
        ),
        (
            "import os\nos._exit(3)",
            "The script exited with code 3 and gave no result.",
        ),
        (
            "import os\nos.kill(os.getpid(), 11)",
            "was killed by signal 11",
        ),
        (
            "import llmr.mcp as m\nm.return_object({1j: 2})",
            "TypeError",
        ),
    ] {
        let told = Stage::script(script).failed("t", json!({}));
        assert!(told.contains(said), "{script}: {told}");
    }
}

#[test]
fn a_module_of_the_folder_a_script_runs_in_is_not_taken_for_another() {
    let stage = Stage::script("import json\nprint(json.dumps([1]))");
    for name in ["json.py", "os.py", "types.py"] {
        fs::write(stage.ctx.cwd.join(name), "open('taken', 'w')").unwrap();
    }
    assert_eq!(stage.done("t", json!({})), "[1]");
    assert!(!stage.ctx.cwd.join("taken").exists());
}

#[test]
fn other_programs_read_their_arguments_as_json_and_print_their_result() {
    let stage = Stage::new();
    let toml = "description = \"d\"\nscript = \"s\"\n";
    stage.write(
        "t/tool.toml",
        &format!("{toml}{TEXT}[parameters.n]\ntype = \"number\"\ndescription = \"d\"\n"),
    );
    stage.write("t/s", "#!/usr/bin/env bash\ncat\necho err >&2\n");
    let given = json!({"text": "a; rm \"x\"", "n": 5});
    assert_eq!(
        stage.done("t", given),
        "{\"text\":\"a; rm \\\"x\\\"\",\"n\":5.0}"
    );
    stage.write("t/s", "#!/bin/sh\necho \"$ARG_TEXT\" $ARG_N\n");
    let given = json!({"text": "a  $(touch x)", "n": 5});
    assert_eq!(stage.done("t", given), "a  $(touch x) 5.0");
    let given = json!({"text": "x".repeat(100_000), "n": 1});
    assert_eq!(stage.done("t", given).trim(), "1.0");
    stage.write("t/s", "#!/bin/sh\necho out\necho why >&2\nexit 3\n");
    assert_eq!(
        stage.failed("t", json!({})),
        "The script exited with code 3 and gave no result.\n\nIt printed:\nout\n\nStandard error:\nwhy"
    );
    stage.write("t/s", "echo\n");
    assert!(
        stage
            .failed("t", json!({}))
            .contains("Nothing says what runs s.")
    );
    stage.write("t/s", "#!/no/such/program\n");
    assert!(
        stage
            .failed("t", json!({}))
            .contains("could not be started")
    );
}

#[test]
fn what_runs_is_what_stands_there_at_the_call() {
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
    assert!(failed().contains("tool.toml, line 1: This is no TOML"));
    fs::remove_dir_all(&stage.place.root).unwrap();
    assert!(failed().contains("Nothing was run."));
}

#[test]
fn what_changed_since_somebody_agreed_to_it_does_not_run() {
    let mut stage = Stage::script("print(1)");
    stage.place.agreed = Some(digest(&stage.place.root).unwrap());
    assert_eq!(stage.done("t", json!({})), "1");
    let tool = stage.tool("t");
    stage.write("lib/evil.py", "");
    let id = ToolUseId::new("toolu_01");
    let outcome = wait(tools::run(tool, id, json!({}), stage.ctx.clone()));
    assert!(
        matches!(&outcome, ToolOutcome::Failed(text) if text.contains("has changed since the user agreed")),
        "{outcome:?}"
    );
}

#[test]
fn a_long_result_is_cut_and_a_flood_costs_one_error() {
    let long = Stage::script("import llmr.mcp as m\nm.return_string('x\\n' * 5000)");
    let told = long.done("t", json!({}));
    assert!(
        told.contains("[Showing lines 1-2000 of 5000. Full output: "),
        "{}",
        told.len()
    );
    let printed = Stage::script("for n in range(5000): print(n)").done("t", json!({}));
    assert!(printed.contains("[Showing lines 3001-5000 of 5000. Full output: "));
    let flood = Stage::script("import llmr.mcp as m\nm.return_string('x' * 70_000_000)");
    assert!(flood.failed("t", json!({})).contains("more than 64 MB"));
}

#[tokio::test]
async fn a_cancel_and_a_time_limit_end_all_that_a_script_started() {
    let script = "import subprocess, sys\nchild = subprocess.Popen(['sleep', '600'], start_new_session=True)\n\
                  print(child.pid)\nsys.stdout.flush()\nopen('pid', 'w').write(str(child.pid))\nchild.wait()\n";
    let mut stage = Stage::script(script);
    let cancel = CancellationToken::new();
    stage.ctx.cancel = cancel.clone();
    let pid = stage.ctx.cwd.join("pid");
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
    let ToolOutcome::Failed(told) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(
        told.starts_with("The script was stopped after 2 seconds, its time limit."),
        "{told}"
    );
    assert!(!alive(&fs::read_to_string(&pid).unwrap_or_default()));
}

#[test]
fn keys_and_the_way_back_into_the_editor_are_not_passed_on() {
    let script = "import os\nprint([n for n in os.environ if n.endswith('_API_KEY') or n.startswith('NVIM')])";
    assert_eq!(Stage::script(script).done("t", json!({})), "[]");
}

/// Answers for the rest of Flemma, and keeps what it was asked.
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
        asked: Asked,
        _nested: &dyn Nested,
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
    stage.ctx.nested = others.clone();
    stage.ctx.models = others.clone();
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
fn a_script_that_writes_what_it_likes_over_the_wire_costs_one_error() {
    let script = "import llmr.mcp as m\nm._ask({'bash': 'id'})";
    let told = Stage::script(script).failed("t", json!({}));
    assert!(
        told.contains("asked for something that is not known"),
        "{told}"
    );
}
