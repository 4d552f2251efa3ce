//! `e` at the question of `flemma send`: the change of a call as a diff in the user's editor.

use harness::{Answer, Provider};
use serde_json::{Value as Json, json};

use crate::shell::{Ran, Shell};
use crate::stage::QUESTION;

/// Begins each script of an editor, which is a program in Python.
const READ: &str = "import os, re, sys\n\
    path = sys.argv[-1]\n\
    diff = open(path).read()\n\
    is_first = not os.path.exists('opened')\n\
    open('opened', 'a').close()\n";

/// A text of 20 lines.
fn before() -> String {
    (1..=20).map(|it| format!("line {it}\n")).collect()
}

/// An edit of lines 2 and 18, which are two hunks.
fn edit() -> Json {
    json!({"label": "count", "path": "f.txt", "edits": [
        {"oldText": "line 2\n", "newText": "two\n"},
        {"oldText": "line 18\n", "newText": "eighteen\n"},
    ]})
}

/// A model that edits `f.txt`, and what it was sent.
struct Edit {
    provider: Provider,
    shell: Shell,
}

impl Edit {
    /// The edit waits for the user, whose editor runs this script.
    fn with_editor(script: &str) -> Self {
        let answers = [
            Answer::says("I'll count.").tool_use("t_e", "edit", &edit()),
            Answer::says("Counted."),
        ];
        let provider = Provider::anthropic(answers);
        let mut shell = Shell::new(&provider);
        shell.configure("[tools]\nauto_approve = []\n");
        shell.write("f.txt", &before());
        shell.write("question.chat", QUESTION);
        shell.write("edit.py", &format!("{READ}{script}"));
        shell.set("EDITOR", "python3 edit.py --wait");
        Self { provider, shell }
    }

    /// Sends the chat in a terminal in which these lines are typed.
    #[track_caller]
    fn answer(&self, lines: &[&str]) -> Ran {
        self.shell.at_terminal(&["send", "question.chat"], lines)
    }

    /// The result that the model got.
    #[track_caller]
    fn result(&self) -> String {
        let requests = self.provider.requests();
        let result = &requests[1].body["messages"][2]["content"][0];
        result["content"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn text(&self) -> String {
        self.shell.read("f.txt")
    }
}

#[test]
fn what_is_left_of_the_diff_is_applied_and_the_model_reads_what_was_changed() {
    let edit = Edit::with_editor(
        "head, first, second = re.split(r'(?m)^(?=@@)', diff)\n\
         open(path, 'w').write(head + second.replace('+eighteen', '+18'))\n",
    );
    let ran = edit.answer(&["e"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("Continue? [y/N, or e to edit the diff]: "));
    assert_eq!(edit.text(), before().replace("line 18\n", "18\n"));
    let result = edit.result();
    for part in [
        "Applied 2 edits to f.txt as the user changed it.",
        "hunk 1 of 2 (line 2): dropped, not applied.",
        "hunk 2 of 2 (line 18): rewritten. Applied instead:\n-line 18\n+18",
    ] {
        assert!(result.contains(part), "{part:?} is not in {result}");
    }
}

#[test]
fn lines_that_cannot_be_applied_are_shown_and_edited_again() {
    let edit = Edit::with_editor(
        "changed = ('\\n-line 2\\n', '\\nline 2\\n')\n\
         old, new = changed if is_first else changed[::-1]\n\
         assert old in diff\n\
         open(path, 'w').write(diff.replace(old, new))\n",
    );
    let ran = edit.answer(&["e", "", ""]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let shown = ran.out.replace("\r\n", "\n");
    let problem = "[flemma] This diff cannot be applied:\n[flemma]   line 6: line 2\n[flemma]     ";
    assert!(shown.contains(problem), "{shown}");
    let after = before().replace("line 2\n", "two\n");
    assert_eq!(edit.text(), after.replace("line 18\n", "eighteen\n"));
}

#[test]
fn an_emptied_diff_rejects_the_call_for_a_reason() {
    let edit = Edit::with_editor("open(path, 'w').close()\n");
    let ran = edit.answer(&["e", "Count from zero."]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.out.contains("Denied: edit (t_e)."), "{ran:?}");
    assert_eq!(edit.text(), before());
    assert!(edit.result().contains("Count from zero."));
}

#[test]
fn an_editor_that_fails_or_writes_nothing_decides_nothing() {
    for (script, said) in [
        (
            "open(path, 'w').close()\nsys.exit(3)\n",
            "The editor (python3 edit.py --wait) failed (exit status: 3), so nothing was decided.",
        ),
        ("", "The diff was not written, so nothing was decided."),
    ] {
        let edit = Edit::with_editor(script);
        let ran = edit.answer(&["e", "y"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.out.contains(said), "{ran:?}");
        assert_eq!(ran.out.matches("Continue?").count(), 2, "{ran:?}");
        assert!(edit.text().contains("two\n") && edit.text().contains("eighteen\n"));
        assert!(edit.result().starts_with("Applied 2 edits to f.txt at"));
    }
}

#[test]
fn a_file_that_changes_meanwhile_is_shown_again_with_what_the_user_wrote() {
    let edit = Edit::with_editor(
        "if is_first:\n\
         \x20   text = open('f.txt').read()\n\
         \x20   open('f.txt', 'w').write('line 0\\n' + text)\n\
         open(path, 'w').write(diff.replace('+eighteen', '+18'))\n",
    );
    let ran = edit.answer(&["e", "y"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("look at it again, then write it."));
    let after = before().replace("line 2\n", "two\n");
    let after = format!("line 0\n{}", after.replace("line 18\n", "18\n"));
    assert_eq!(edit.text(), after);
}

#[test]
fn without_a_terminal_there_is_no_editor() {
    let edit = Edit::with_editor("\n");
    let ran = edit.shell.run_with(&["send", "question.chat"], "e\n");
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.err.contains("Continue? [y/N]: "), "{ran:?}");
    assert!(!edit.shell.path("opened").exists());
    assert_eq!(edit.text(), before());
}
