//! A program outside the workspace, built as a reader would build it, with a scripted
//! provider.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use harness::Answer;
use serde_json::json;

/// Builds `examples/weather-agent` and returns its path.
fn built() -> PathBuf {
    let root = harness::repository();
    let folder = root.join("examples/weather-agent");
    // Use the versions of the workspace, which are already on this machine.
    std::fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    // Reuse the build of the workspace.
    let target = root.join("target");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--offline"]);
    let status = cargo
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", &target)
        .status();
    assert!(status.unwrap().success(), "the example does not build");
    target.join("debug/weather-agent")
}

fn ask(program: &Path, arguments: &[&str], environment: Vec<(&str, String)>) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(environment);
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    let out = String::from_utf8_lossy(&output.stdout);
    out.into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
#[ignore = "builds a crate of its own, which takes a while: make test does it"]
fn a_program_outside_the_workspace_adds_a_tool_and_reads_events() {
    let program = built();
    let provider = harness::Provider::anthropic([
        Answer::new()
            .tool_use("t1", "get_weather", &json!({"city": "Oslo"}))
            .tool_use(
                "t2",
                "bash",
                &json!({"label": "x", "command": "id", "timeout": null}),
            ),
        Answer::says("Sunny."),
    ]);

    let output = ask(&program, &["Coat?"], provider.environment());

    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(
        said(&output),
        "[request 1]\n  bash was not run: The tool was denied by a policy.\n[Weather] {\"city\":\"Oslo\"}\n  \
         -> Weather in Oslo: 72°F, sunny  {\"station\":\"none\"}\n[request 2]\nSunny.\n[Done]\n"
    );
    let tools = provider.requests()[0].body["tools"].clone();
    let names: Vec<&str> = tools
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "bash",
            "calculator",
            "edit",
            "get_weather",
            "job_output",
            "job_stop",
            "read",
            "write"
        ]
    );

    let offline = ask(&program, &["--offline"], Vec::new());
    assert!(offline.status.success(), "{}", said(&offline));
    assert!(
        said(&offline).contains("I looked: Weather in Oslo: 72°F, sunny."),
        "{}",
        said(&offline)
    );

    let nowhere = ask(&program, &[], Vec::new());
    assert!(!nowhere.status.success());
    assert!(
        said(&nowhere).starts_with("The environment names no provider."),
        "{}",
        said(&nowhere)
    );
}
