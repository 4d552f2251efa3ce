//! Neovim's main loop during a fast stream: a timer runs and keys are handled. The test
//! prints the longest pause; the benches judge it.

use harness::{Answer, Provider};
use serde_json::json;

use crate::stage::{QUESTION, open, wait_end};

/// Counts the ticks of a 2 ms timer, and measures the longest time between two of them.
const PROBE: &str = r#"
    _G.probe = { ticks = 0, longest = 0 }
    local last
    vim.uv.new_timer():start(0, 2, vim.schedule_wrap(function()
      local now = vim.uv.hrtime()
      if last then
        probe.longest = math.max(probe.longest, (now - last) / 1e6)
      end
      probe.ticks = probe.ticks + 1
      last = now
    end))
"#;

#[test]
fn two_thousand_deltas_leave_the_main_loop_running() {
    let text = "Some words of the model, and `code`.\n".repeat(400) + "The end.";
    let answer = Answer::new().text_in_pieces(&text, text.len() / 2000);
    let provider = Provider::anthropic([answer]);
    let editor = open(&provider, QUESTION);
    editor.lua(PROBE, &json!([]));
    editor.keys("<C-]>");
    editor.keys("ggOtyped while it streams<Esc>");
    wait_end(&editor, "The end.\n\n@You:\n\n");
    let probe = editor.lua("return probe", &json!([]));
    let ticks = probe["ticks"].as_u64().unwrap();
    eprintln!(
        "longest pause of the main loop: {} ms in {ticks} ticks",
        probe["longest"]
    );
    assert!(ticks >= 10, "{ticks}");
    assert!(editor.text().starts_with("typed while it streams\n@You:\n"));
    assert_eq!(editor.text().matches("of the model").count(), 400);
}
