//! Script tools, called like the host calls them. The tools in `examples/tools` are those of the
//! specification of script tools, word for word.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chat::tool::{ToolOutcome, ToolUseId};
use serde_json::{Value, json};
use tempfile::TempDir;
use tools::{ScriptFolder, ScriptRoot, Tool, ToolContext};

pub const HEAD: &str = "description = \"d\"\nscript = \"s.py\"\n";
pub const TEXT: &str = "[parameters.text]\ntype = \"string\"\ndescription = \"d\"\n";

pub struct Stage {
    pub dir: TempDir,
    pub place: ScriptRoot,
    pub ctx: ToolContext,
}

impl Stage {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let place = ScriptRoot {
            root: dir.path().join("tools"),
            libraries: Vec::new(),
            agreed: None,
        };
        fs::create_dir_all(dir.path().join("work")).unwrap();
        let ctx = ToolContext::new(dir.path().join("work"), dir.path().join("outputs"));
        Self { dir, place, ctx }
    }

    /// A stage with the tools in `examples/tools`.
    pub fn examples() -> Self {
        let mut stage = Self::new();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tools");
        copy(&root, &stage.place.root);
        stage.ctx.timeout = Duration::from_secs(60);
        stage
    }

    /// A stage with a tool `t` that takes a `text` and runs this script.
    pub fn script(script: &str) -> Self {
        let stage = Self::new();
        stage.write("t/tool.toml", &format!("{HEAD}{TEXT}"));
        stage.write("t/s.py", script);
        stage
    }

    pub fn write(&self, file: &str, text: &str) {
        let path = self.place.root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let mut folder = ScriptFolder::new(self.place.clone());
        folder.scan();
        let tools = folder.tools();
        let tool = tools.into_iter().find(|it| it.name() == name);
        tool.unwrap_or_else(|| panic!("no {name}: {:?}", folder.problems()))
    }

    pub async fn call(&self, name: &str, input: Value) -> ToolOutcome {
        let id = ToolUseId::new("toolu_01");
        tools::run(self.tool(name), id, input, self.ctx.clone()).await
    }

    #[track_caller]
    pub fn done(&self, name: &str, input: Value) -> String {
        match wait(self.call(name, input)) {
            ToolOutcome::Done { content, .. } => content,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    pub fn failed(&self, name: &str, input: Value) -> String {
        match wait(self.call(name, input)) {
            ToolOutcome::Failed(text) => text,
            other => panic!("{other:?}"),
        }
    }
}

pub fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(work)
}

pub fn copy(from: &Path, to: &Path) {
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

/// All files below a folder, sorted.
pub fn files(folder: &Path) -> Vec<PathBuf> {
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
fn the_example_calculator_uses_floats() {
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
fn the_example_greeting_has_defaults() {
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
fn a_missing_argument_is_named_and_the_script_does_not_run() {
    let stage = Stage::examples();
    stage.write("my_tool/script.py", "open('ran', 'w')");
    let message = stage.failed("my_custom_tool", json!({}));
    assert!(
        message.contains("\"name\" is a required property"),
        "{message}"
    );
    assert!(!stage.ctx.files.cwd.join("ran").exists());
}

#[test]
fn a_library_beside_the_tools_is_read_at_each_call() {
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
    let message = stage.failed("shout", json!({"text": "abc"}));
    assert!(
        message.contains("No module named 'string_utils'"),
        "{message}"
    );
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
fn the_result_is_the_returned_text_or_else_the_output() {
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
        (
            "import sys, llmr.mcp as m\nsys.stdout.close()\nm.return_string('r')",
            "r",
        ),
        (
            "import sys, llmr.mcp as m\nsys.stdout = sys.stderr = None\nm.return_string('r')",
            "r",
        ),
        (
            "import threading, time, llmr.mcp as m\ndef f():\n    time.sleep(0.1)\n    m.return_string('late')\nthreading.Thread(target=f).start()",
            "late",
        ),
        (
            "import os, llmr.mcp as m\nos.close(1)\nm.return_string('r')",
            "r",
        ),
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
    let message = stage.failed("t", json!({}));
    let file = stage.place.root.join("t/s.py");
    assert!(
        message.starts_with("Traceback (most recent call last):\n"),
        "{message}"
    );
    assert!(
        message.contains(&format!("File \"{}\", line 8, in <module>", file.display())),
        "{message}"
    );
    assert!(
        message.contains("ValueError: no\n\nIt printed:\nso far"),
        "{message}"
    );
    assert!(!message.contains("<flemma>"), "{message}");
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
        let message = Stage::script(script).failed("t", json!({}));
        assert!(message.contains(said), "{script}: {message}");
    }
}

#[test]
fn modules_in_the_working_directory_are_not_imported() {
    let stage = Stage::script("import json\nprint(json.dumps([1]))");
    for name in ["json.py", "os.py", "types.py"] {
        fs::write(stage.ctx.files.cwd.join(name), "open('taken', 'w')").unwrap();
    }
    assert_eq!(stage.done("t", json!({})), "[1]");
    assert!(!stage.ctx.files.cwd.join("taken").exists());
}

#[test]
fn a_script_folder_cannot_shadow_modules_of_python() {
    let script =
        "import llmr.mcp as m\nimport json\nm.return_object({'a': json.dumps([m.get('text')])})";
    let stage = Stage::script(script);
    for name in ["json.py", "re.py", "traceback.py"] {
        stage.write(&format!("t/{name}"), "open('taken', 'w')");
    }
    assert_eq!(stage.done("t", json!({"text": "x"})), r#"{"a": "[\"x\"]"}"#);
    stage.write("t/s.py", "1 / 0");
    assert!(stage.failed("t", json!({})).contains("ZeroDivisionError"));
    assert!(!stage.ctx.files.cwd.join("taken").exists());
}

#[test]
fn arguments_and_results_of_any_kind_arrive_as_they_are() {
    let script = "import llmr.mcp as m\nm.return_string(m.get('text'))";
    let stage = Stage::script(script);
    for text in [
        "",
        "a\u{1}\u{1f}\"\\\u{7f}",
        "\u{2028}\u{1f44b}\r\n",
        "{\"done\": 1}\n",
    ] {
        assert_eq!(stage.done("t", json!({"text": text})), text);
    }
    stage.write(
        "t/s.py",
        "import llmr.mcp as m\nm.return_string('a\\udc00b')",
    );
    assert_eq!(stage.done("t", json!({})), "a?b");
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
