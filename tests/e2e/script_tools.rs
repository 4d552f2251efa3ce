//! Folders with a `tool.toml` and a script, on the command line and in a chat.
//! `examples/tools` has the specification's examples, word for word.

use std::fs;
use std::path::{Path, PathBuf};

use harness::repository;
use serde_json::json;

use crate::shell::Shell;

pub const HELLO: &str = "description = \"Says hello\"\nscript = \"s.py\"\n";

/// A shell whose user has the example tools.
pub fn with_examples() -> Shell {
    let shell = Shell::offline();
    copy(&repository().join("examples/tools"), &own(&shell));
    shell
}

/// The folder of the user's tools.
pub fn own(shell: &Shell) -> PathBuf {
    shell.dir().join("../config/flemma/tools")
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

/// Writes the tool `name`, whose script is `python`.
pub fn write_tool(root: &Path, name: &str, python: &str) {
    fs::create_dir_all(root.join(name)).unwrap();
    fs::write(root.join(name).join("tool.toml"), HELLO).unwrap();
    fs::write(root.join(name).join("s.py"), python).unwrap();
}

#[test]
fn the_documented_calculator_runs_on_the_command_line() {
    let shell = with_examples();
    let call = r#"{"operation": "add", "a": 5, "b": 3}"#;
    let ran = shell.run(&["tool", "calculator", call]);
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.as_str()),
        (Some(0), "8.0\n", "")
    );
    let ran = shell.run(&["tool", "calculator", r#"{"operation": "add", "a": 5}"#]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("\"b\" is a required property"), "{ran:?}");
}

#[test]
fn a_script_asks_like_any_tool() {
    let shell = with_examples();
    let call = ["tool", "shout", r#"{"text": "abc"}"#];
    assert_eq!(shell.run(&call).code, Some(4));
    let ran = shell.run_with(&call, "y\n");
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "ABC\n"), "{ran:?}");
    let ran = shell.run(&[&call[..], &["--approve", "shout"]].concat());
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "ABC\n"), "{ran:?}");
}

#[test]
fn tools_are_found_by_their_keywords() {
    let shell = with_examples();
    let ran = shell.run(&["tools", "--search", "arithmetic"]);
    assert!(
        ran.out
            .starts_with("calculator         runs    Performs basic"),
        "{}",
        ran.out
    );
    assert!(
        shell
            .run(&["tools", "--search", "uppercase"])
            .out
            .starts_with("shout ")
    );
}

#[test]
fn folders_come_from_options_and_the_command_line() {
    let shell = Shell::offline();
    write_tool(
        &shell.path("one"),
        "hello_one",
        "import shared\nprint(shared.x)",
    );
    write_tool(&shell.path("two"), "hello_two", "print(2)");
    shell.write("library/shared.py", "x = 1");
    let dir = shell.dir();
    shell.configure(&format!(
        "[tools]\nauto_approve = [\"hello_one\", \"hello_two\"]\nscript_paths = [\"{0}/one\"]\nscript_libraries = [\"{0}/library\"]\n",
        dir.display()
    ));
    let ran = shell.run(&["tool", "hello_one"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "1\n"), "{ran:?}");
    let ran = shell.run(&["tool", "hello_two", "--tools-dir", "two"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "2\n"), "{ran:?}");
    let ran = shell.run(&["tool", "hello_two"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn a_broken_tool_is_named_and_the_others_run() {
    let shell = with_examples();
    let broken = own(&shell).join("broken");
    fs::create_dir_all(&broken).unwrap();
    fs::write(
        broken.join("tool.toml"),
        "description = \"d\"\nscript = 5\n",
    )
    .unwrap();
    let call = r#"{"operation": "multiply", "a": 7, "b": 8}"#;
    let ran = shell.run(&["tool", "calculator", call]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "56.0\n"));
    let said = "broken/tool.toml, line 2: \"script\" must be text in quotes. Until then the tool is not available.";
    assert!(ran.err.contains(said), "{}", ran.err);
    let ran = shell.run(&["tool", "broken"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains(said) && ran.err.contains("There is no tool \"broken\""));
    assert!(shell.run(&["tools"]).err.contains(said));
}

#[test]
fn a_projects_tools_run_only_as_the_user_trusted_them() {
    let shell = Shell::offline();
    let root = shell.path(".flemma/tools");
    write_tool(&root, "deploy", "print('out')");
    write_tool(&root, "read", "print('taken')");
    shell.write("f.txt", "text\n");
    shell.write("sub/x", "");
    let call = ["tool", "deploy", "--yes"];
    let ran = shell.run(&call);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.err.contains("has tools that came with this project"),
        "{}",
        ran.err
    );

    let ran = shell.run(&["trust"]);
    assert_eq!(ran.code, Some(4));
    assert!(
        ran.err.contains("  deploy             Says hello\n"),
        "{}",
        ran.err
    );
    assert_eq!(shell.run(&call).code, Some(2));
    assert_eq!(shell.run_with(&["trust", "sub"], "y\n").code, Some(0));
    let ran = shell.run(&call);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "out\n"), "{ran:?}");
    let ran = shell.run(&["tool", "read", r#"{"path": "f.txt"}"#]);
    assert_eq!(
        (ran.code, ran.out.trim_end()),
        (Some(0), "text"),
        "a name that means something"
    );

    write_tool(&root, "deploy", "print('other')");
    let ran = shell.run(&call);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.err.contains("has changed since you trusted its tools"),
        "{}",
        ran.err
    );
    assert_eq!(shell.run(&["trust", "--yes"]).code, Some(0));
    assert_eq!(shell.run(&call).out, "other\n");
    assert_eq!(shell.run(&["trust", "--revoke"]).code, Some(0));
    assert_eq!(shell.run(&call).code, Some(2));
}

#[test]
fn without_tools_there_is_nothing_to_trust() {
    let ran = Shell::offline().run(&["trust"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.contains("so there is nothing to trust"),
        "{}",
        ran.err
    );
}

#[test]
fn a_new_tool_works_at_once() {
    let shell = Shell::offline();
    for (name, language) in [("greet", "python"), ("greet2", "bash")] {
        let ran = shell.run(&["tool", "new", name, "--lang", language]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let hint = format!("flemma tool {name} '{{\"name\": \"Ann\"}}' --approve {name}\n");
        assert!(ran.err.contains(&hint), "{}", ran.err);
        let call = [
            "tool",
            name,
            r#"{"name": "Ann", "times": 2}"#,
            "--approve",
            name,
        ];
        let ran = shell.run(&call);
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (Some(0), "Hello, Ann!\nHello, Ann!\n"),
            "{ran:?}"
        );
        let ran = shell.run(&["tool", name, r#"{"name": "Ann"}"#, "--approve", name]);
        assert_eq!(ran.out, "Hello, Ann!\n", "the default: {ran:?}");
    }
    let ran = shell.run(&["tool", "new", "greet"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.contains("exists, so nothing was written"),
        "{}",
        ran.err
    );
    let ran = shell.run(&["tool", "new", "new"]);
    assert!(
        ran.err
            .contains("`flemma tool new` is another command, so nothing was written"),
        "{ran:?}"
    );
    let ran = shell.run(&["tool", "new", "../x"]);
    assert!(ran.err.contains("is not a valid tool name"), "{}", ran.err);
    let ran = shell.run(&["tool", "new", "here", "--tools-dir", "mine"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(shell.path("mine/here/tool.toml").exists());
    assert_eq!(shell.run(&["tool"]).code, Some(2));
}

#[test]
fn a_tool_named_like_a_subcommand_runs_after_two_dashes() {
    let shell = Shell::offline();
    write_tool(&own(&shell), "new", "print('mine')");
    let ran = shell.run(&["tool", "--approve", "new", "--", "new", "{}"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "mine\n"), "{ran:?}");
}

#[test]
fn the_manuals_first_script_works() {
    let manual = fs::read_to_string(repository().join("doc/flemma.txt")).unwrap();
    let section = manual.split("*flemma-script-tools*\n").nth(1).unwrap();
    // The code blocks of a language, without indentation.
    let blocks = |language: &str| {
        let begins = format!(">{language}\n");
        let parts: Vec<&str> = section.split(begins.as_str()).skip(1).collect();
        let block = |part: &&str| {
            let lines = part.split("\n<").next().unwrap().lines().map(str::trim_end);
            lines
                .map(|it| it.strip_prefix("    ").unwrap_or(it))
                .collect::<Vec<_>>()
                .join("\n")
        };
        parts.iter().map(block).collect::<Vec<_>>()
    };
    let shell = Shell::offline();
    let commands = blocks("sh");
    let [new, run] = &commands[..2] else {
        panic!("{commands:?}")
    };
    let new: Vec<&str> = new.split_whitespace().skip(1).collect();
    assert_eq!(shell.run(&new).code, Some(0));
    let folder = own(&shell).join(new[2]);
    fs::write(folder.join("tool.toml"), &blocks("toml")[0]).unwrap();
    fs::write(folder.join("script.py"), &blocks("python")[0]).unwrap();
    let [_, json, _] = run.split('\'').collect::<Vec<_>>()[..] else {
        panic!("{run}")
    };
    let ran = shell.run(&["tool", "word_count", json, "--approve", "word_count"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "{\"words\": 4, \"longest\": \"not\"}\n"),
        "{ran:?}"
    );
}

#[test]
fn no_tool_writes_a_script_without_the_user() {
    let shell = Shell::offline();
    write_tool(&shell.path("mine"), "hello", "print(1)");
    let dir = shell.dir();
    shell.configure(&format!("[tools]\nauto_approve = [\"$default\"]\nscript_paths = [\"{}/mine\"]\nscript_libraries = [\"{0}/library\"]\n", dir.display()));
    for path in [
        "mine/hello/s.py",
        "mine/new/tool.toml",
        "library/x.py",
        "sub/../mine/hello/s.py",
    ] {
        let call = json!({"path": path, "content": "print(2)"}).to_string();
        let ran = shell.run(&["tool", "write", &call]);
        assert_eq!(ran.code, Some(4), "{path}: {ran:?}");
    }
    let call = json!({"path": "other.py", "content": "print(2)"}).to_string();
    assert_eq!(shell.run(&["tool", "write", &call]).code, Some(0));
}

#[test]
fn a_tool_named_like_a_subcommand_says_how_to_run_it() {
    let shell = Shell::offline();
    write_tool(&own(&shell), "new", "print('mine')");
    let hint =
        "is called in a shell by `flemma tool -- new`, as `flemma tool new` means something else.";
    let ran = shell.run(&["tools"]);
    assert!(ran.err.contains(hint), "{ran:?}");
    let ran = shell.run(&["tool", "--approve", "new", "--", "new", "{}"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "mine\n"), "{ran:?}");
}
