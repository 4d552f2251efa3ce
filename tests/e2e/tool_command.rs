//! `flemma tool` and `flemma tools`: single tools on the command line, with the rules of
//! a chat.

use serde_json::{Value as Json, json};

use crate::shell::Shell;

#[test]
fn a_result_is_all_that_is_printed() {
    let shell = Shell::offline();
    let ran = shell.run(&["tool", "calculator", r#"{"expression":"7*8"}"#]);
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.as_str()),
        (Some(0), "56\n", "")
    );
    shell.write("f.txt", "a\nb\n");
    let ran = shell.run(&["tool", "read", r#"{"path":"f.txt"}"#]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "a\nb\n"));
}

#[test]
fn a_tool_asks_as_in_a_chat() {
    let shell = Shell::offline();
    let call = ["tool", "bash", r#"{"command":"echo out; touch ran"}"#];
    let ran = shell.run(&call);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(!shell.path("ran").exists());
    let ran = shell.run_with(&call, "n\n");
    assert_eq!(ran.code, Some(4));
    assert!(ran.err.contains("command: echo out; touch ran") || ran.out.contains("user cancelled"));
    assert!(!shell.path("ran").exists());
    let ran = shell.run_with(&call, "y\n");
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "out\n"), "{ran:?}");
    assert!(shell.path("ran").exists());
}

#[test]
fn a_write_says_where_and_how_much_before_it_runs() {
    let shell = Shell::offline();
    let call = ["tool", "write", r#"{"path":"out.txt","content":"hällo\n"}"#];
    let ran = shell.run_with(&call, "n\n");
    let path = shell.path("out.txt");
    let asked = format!(
        "[flemma] Tool write wants to write to {}\n[flemma] Content: 7 bytes, a new file\n",
        path.display()
    );
    assert!(ran.err.starts_with(&asked), "{}", ran.err);
    let shown = "out.txt  +1 −0\n1 + hällo\n[flemma] Continue? [y/N]: ";
    assert!(ran.err.contains(shown), "{}", ran.err);
    assert!(ran.out.contains("user cancelled") && !path.exists());
    assert_eq!(shell.run_with(&call, "y\n").code, Some(0));
    assert_eq!(shell.read("out.txt"), "hällo\n");
    let ran = shell.run_with(&call, "n\n");
    assert!(
        ran.err.contains("overwriting a file of 7 bytes"),
        "{}",
        ran.err
    );
}

#[test]
fn calls_that_cannot_run_have_their_exit_codes() {
    let shell = Shell::offline();
    for (arguments, code, said) in [
        (["tool", "bsah", "{}"], 2, "Did you mean \"bash\"?"),
        (["tool", "read", "[]"], 2, "not a JSON object"),
        (["tool", "read", "{}"], 1, "path"),
        (
            ["tool", "read", r#"{"path":"nothing"}"#],
            1,
            "does not exist",
        ),
    ] {
        let ran = shell.run(&arguments);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert!(ran.err.contains(said) || ran.out.contains(said), "{ran:?}");
    }
    shell.configure(
        "[tools.presets.\"$no\"]\ndeny = [\"bash\"]\n[tools]\nauto_approve = [\"$no\"]\n",
    );
    let ran = shell.run(&["tool", "bash", r#"{"command":"touch ran"}"#, "--yes"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(!shell.path("ran").exists());
}

#[test]
fn the_list_says_what_happens_to_a_call() {
    let shell = Shell::offline();
    let ran = shell.run(&["tools"]);
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.out
            .contains("bash               asks    Run a shell command"),
        "{}",
        ran.out
    );
    assert!(
        ran.out
            .contains("read               runs    Read a text file, or look at an image")
    );
}

#[test]
fn a_search_lists_the_best_match_first() {
    let shell = Shell::offline();
    let ran = shell.run(&["tools", "--search", "calculator"]);
    let names: Vec<&str> = ran
        .out
        .lines()
        .filter_map(|it| it.split(' ').next())
        .collect();
    assert_eq!(
        (ran.code, names[0], names[1]),
        (Some(0), "calculator", "calculator_async")
    );
    let ran = shell.run(&["tools", "--search", "zzz"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.contains("No tool matches \"zzz\""), "{}", ran.err);
}

#[test]
fn the_question_about_a_call_through_another_tool_is_about_the_inner_call() {
    let shell = Shell::offline();
    let run = |name: &str, arguments: Json| json!({"name": name, "arguments": arguments});
    let input = json!({"label": "", "path": "out.txt", "content": "x"});
    let write = run("write", input);
    let ran = shell.run_with(&["tool", "execute_tool", &write.to_string()], "n\n");
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let asked = format!(
        "Tool write wants to write to {}",
        shell.path("out.txt").display()
    );
    assert!(ran.err.contains(&asked), "{}", ran.err);
    let read = run("calculator", json!({"expression": "7*8"}));
    let ran = shell.run(&["tool", "execute_tool", &read.to_string()]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "56\n"), "{ran:?}");
    let ran = shell.run(&["tool", "tool_search", r#"{"query":"calculator"}"#, "--yes"]);
    assert!(ran.out.contains("\"score\": 1,"), "{ran:?}");
}
