//! The cost of frontmatter: evaluated before a request, and one that never ends.

use std::io;
use std::time::Instant;

use harness::{Editor, Provider};
use serde_json::json;

use crate::probe;
use crate::stage::{ask_again, await_lua, await_turn, ours, press, since};
use crate::table::{Budget, Row, Samples, Table};

const RUNS: usize = 25;
const QUESTION: &str = "@You:\nGo on.\n";
/// A frontmatter with variables, options of every kind, and a function, like the manual's examples.
const TYPICAL: &str = "```lua
name = 'bench'
files = { 'src/a.rs', 'src/b.rs' }
flemma.opt.thinking = 'low'
flemma.opt.temperature = 0.5
flemma.opt.tools:remove('edit')
flemma.opt.tools.auto_approve = { '$readonly', 'calculator' }
flemma.opt.tools.auto_approve = flemma.opt.tools.auto_approve + 'write'
for index, file in ipairs(files) do
  files[index] = ('./%s'):format(file)
end
```
";
const ENDLESS: &str = "```lua\nwhile true do end\n```\n";
const HAS_DIAGNOSTIC: &str = "return #vim.diagnostic.get(0) > 0";

pub fn run(table: &mut Table) -> io::Result<()> {
    let (hand, with) = typical();
    table.add(Row {
        what: "added to Ctrl-] by a typical frontmatter".to_owned(),
        hand: None,
        ours: [with.median() - hand.median()].into_iter().collect(),
        budget: Budget::median(2.0),
        lines: None,
    })?;
    let (took, probes) = endless();
    table.add(Row {
        what: "a frontmatter that never ends: from Ctrl-] to what is said".to_owned(),
        hand: None,
        ours: took,
        budget: Budget::NONE.max(200.0),
        lines: None,
    })?;
    table.add(Row {
        what: "a frontmatter that never ends: answer to a probe".to_owned(),
        hand: None,
        ours: probes,
        budget: Budget::NONE.max(10.0),
        lines: None,
    })
}

/// Measures the time from Ctrl-] to the request, alternately with and without frontmatter.
fn typical() -> (Samples, Samples) {
    let texts = [QUESTION.to_owned(), format!("{TYPICAL}\n{QUESTION}")];
    let [without, with] = texts.map(|text| {
        let provider = Provider::anthropic([""; 0]);
        let editor = ours(&provider, &text, json!({}));
        (provider, editor)
    });
    let mut took = [Samples::default(), Samples::default()];
    for run in 1..=RUNS {
        for ((provider, editor), took) in [&without, &with].into_iter().zip(&mut took) {
            let start = Instant::now();
            press(editor, "<C-]>");
            let arrived = provider.wait_requests(run)[run - 1].arrived;
            took.add(arrived.duration_since(start).as_secs_f64() * 1e3);
            await_turn(editor);
            ask_again(editor);
        }
    }
    took.into()
}

fn endless() -> (Samples, Samples) {
    let provider = Provider::anthropic([""; 0]);
    let (mut took, mut probes) = (Samples::default(), Samples::default());
    for _ in 0..5 {
        let editor: Editor = ours(&provider, &format!("{ENDLESS}\n{QUESTION}"), json!({}));
        probes.extend(probe::during(&editor, || {
            let start = Instant::now();
            press(&editor, "<C-]>");
            await_lua(&editor, HAS_DIAGNOSTIC, &json!([]));
            took.add(since(start));
        }));
    }
    (took, probes)
}
