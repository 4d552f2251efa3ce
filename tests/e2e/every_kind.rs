//! One conversation with tools of every kind: built in, a Lua function, commands, a
//! script in a folder, and an MCP server.

use harness::{Answer, Provider, repository};
use serde_json::json;

use crate::stage::*;

#[test]
fn tools_of_every_kind_follow_the_same_rules() {
    let provider = Provider::anthropic([
        Answer::new()
            .tool_use("t_built", "read", &file("f.txt"))
            .tool_use("t_lua", "greet", &json!({"name": "Ann"}))
            .tool_use("t_cmds", "say", &json!({}))
            .tool_use("t_script", "shout", &json!({"text": "loud"}))
            .tool_use("t_mcp", "fake__echo", &json!({"value": "hi"}))
            .tool_use("t_asks", "bash", &command("echo out")),
        Answer::says("Well."),
    ]);
    let store = tempfile::tempdir().unwrap();
    let init = format!(
        r#"
        local tools = require("flemma.tools")
        tools.register("greet", {{
          name = "greet",
          description = "Greets.",
          input_schema = {{
            type = "object",
            properties = {{ name = {{ type = "string" }} }},
            required = {{ "name" }},
          }},
          execute = function(input) return {{ success = true, output = "Hello, " .. input.name }} end,
        }})
        tools.register("say", {{ name = "say", description = "Says.", cmds = {{ {{ "echo", "a b" }} }} }})
        require("flemma").setup({{
          provider = "anthropic",
          sandbox = {{ enabled = false }},
          tools = {{ auto_approve = {{ "read", "greet", "say", "shout", "fake__echo" }} }},
          mcp = {{ servers = {{ fake = {{
            command = {{ "python3", "{}" }}, env = {{ FAKE_STORE = "{}" }},
          }} }} }},
        }})"#,
        crate::mcp_client::script(),
        store.path().join("s").display(),
    );
    let mut setup = offline().provider(&provider).init(&init);
    for name in ["shout/tool.toml", "shout/script.py", "lib/string_utils.py"] {
        let text = std::fs::read(repository().join("examples/tools").join(name)).unwrap();
        setup = setup.with(&format!("../config/flemma/tools/{name}"), text);
    }
    let setup = setup
        .with("f.txt", "a line\n")
        .file("question.chat", QUESTION);
    let editor = setup.start();
    editor.keys("<C-]>");

    let ids = ["t_built", "t_lua", "t_cmds", "t_script", "t_mcp", "t_asks"];
    let became = outcomes(&editor, ids);
    let text = editor.text();
    assert_eq!(
        became,
        ["ran", "ran", "ran", "ran", "ran", "waits"],
        "{text}"
    );
    for (id, said) in ids
        .into_iter()
        .zip(["a line", "Hello, Ann", "a b", "LOUD", "hi"])
    {
        assert!(result(&editor, id).contains(said), "{id}: {text}");
    }
    alt_enter(&editor);
    wait_end(&editor, "Well.\n\n@You:\n\n");
    let requests = provider.requests();
    let offered = requests[0].body["tools"].to_string();
    for name in ["read", "greet", "say", "shout", "fake__echo", "bash"] {
        assert!(
            offered.contains(&format!("\"name\":\"{name}\"")),
            "{name}: {offered}"
        );
    }
}
