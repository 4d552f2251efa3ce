//! What a request refers to changes between two requests: files, prompts, tools, and earlier turns.

use std::fs;
use std::path::Path;
use std::process::Command;

use harness::{Answer, Provider, Strict};
use serde_json::json;

use super::{CLAUDE, Talk, edit, says, with_each_claude};
use crate::mcp_client::script as mcp_server;
use crate::script_tools::write_tool;

/// Sends "Go." and "More.", after `change` in between. Everything must be kept.
#[track_caller]
fn kept_after(first: &str, prepare: impl Fn(&Talk), change: impl Fn(&Talk)) {
    with_each_claude(|talk| {
        prepare(talk);
        talk.script([says("One."), says("Two."), says("Three.")]);
        talk.ask(first);
        change(talk);
        talk.ask("More.");
        // Also after what came later was answered.
        talk.ask("And more.");
        talk.expect_kept();
    });
}

#[test]
fn a_run_edits_a_file_that_the_first_message_attached() {
    with_each_claude(|talk| {
        talk.shell.write("f.txt", "n=0\n");
        talk.script([
            edit("toolu_1", "f.txt", "n=0", "n=1"),
            edit("toolu_2", "f.txt", "n=1", "n=2"),
            says("Done."),
            says("It is two."),
        ]);
        talk.ask("Count up @./f.txt");
        assert_eq!(talk.shell.read("f.txt"), "n=2\n");
        talk.ask("What is it now?");
        talk.expect_kept();
        let first = talk.last()["messages"][0].to_string();
        assert!(first.contains("n=0"), "{talk:?}: {first}");
    });
}

#[test]
fn the_user_edits_a_file_that_was_attached() {
    let write = |text: &'static str| move |talk: &Talk| talk.shell.write("f.txt", text);
    kept_after("See @./f.txt", write("n=0\n"), write("n=1\n"));
}

#[test]
fn an_attached_file_is_removed() {
    let remove = |talk: &Talk| fs::remove_file(talk.shell.path("f.txt")).unwrap();
    kept_after(
        "See @./f.txt",
        |talk| talk.shell.write("f.txt", "n=0\n"),
        remove,
    );
}

#[test]
fn an_attached_image_changes() {
    let write = |end: &'static str| {
        move |talk: &Talk| {
            let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\0IEND\xaeB`\x82".to_vec();
            png.extend(end.bytes());
            fs::write(talk.shell.path("dot.png"), png).unwrap();
        }
    };
    kept_after("See @./dot.png", write(""), write("more"));
}

#[test]
fn the_projects_rules_change() {
    with_each_claude(|talk| {
        talk.shell.write("AGENTS.md", "Use tabs.\n");
        talk.shell
            .write("a.chat", "@System:\n@./AGENTS.md\n\n@You:\nGo.\n");
        talk.script([
            edit("toolu_1", "AGENTS.md", "tabs", "blanks"),
            says("One."),
            says("Two."),
        ]);
        let ran = talk.shell.run(&["send", "a.chat"]);
        assert_eq!(ran.code, Some(0), "{talk:?}: {ran:?}");
        talk.shell.write("AGENTS.md", "Use nothing.\n");
        talk.ask("More.");
        talk.expect_kept();
    });
}

#[test]
fn an_included_file_changes() {
    let write = |text: &'static str| move |talk: &Talk| talk.shell.write("rules.md", text);
    let first = "{{ include(\"./rules.md\") }} Go.";
    kept_after(first, write("Use tabs.\n"), write("Use blanks.\n"));
}

#[test]
fn the_value_of_an_expression_changes() {
    // A generator that is seeded by chance.
    let first = "Remember {{ math.random(1000000000) }}.";
    kept_after(first, |_| {}, |_| {});
}

/// Makes a repository of the folder, with one commit.
fn commit(folder: &Path) {
    for arguments in [
        &["init", "--quiet"][..],
        &["add", "f.txt"],
        &["commit", "--quiet", "-m", "first"],
    ] {
        let author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        let mut git = Command::new("git");
        git.args(author).args(arguments).current_dir(folder);
        assert!(git.output().unwrap().status.success(), "{arguments:?}");
    }
}

#[test]
fn the_diff_changes() {
    let prepare = |talk: &Talk| {
        talk.shell.write("f.txt", "n=0\n");
        commit(&talk.shell.dir());
    };
    let change = |talk: &Talk| talk.shell.write("f.txt", "n=1\n");
    kept_after("Review @diff", prepare, change);
}

#[test]
fn a_script_tool_appears_and_another_disappears() {
    let root = |talk: &Talk| talk.shell.home().join("config/flemma/tools");
    let prepare = |talk: &Talk| write_tool(&root(talk), "first", "print('1')");
    let change = |talk: &Talk| {
        write_tool(&root(talk), "later", "print('2')");
        fs::remove_dir_all(root(talk).join("first")).unwrap();
    };
    kept_after("Go.", prepare, change);
}

#[test]
fn the_description_of_a_tool_changes() {
    let root = |talk: &Talk| talk.shell.home().join("config/flemma/tools");
    let prepare = |talk: &Talk| write_tool(&root(talk), "first", "print('1')");
    let change = |talk: &Talk| {
        let file = root(talk).join("first/tool.toml");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(file, text.replace("Says hello", "Says good morning")).unwrap();
    };
    kept_after("Go.", prepare, change);
}

#[test]
fn an_mcp_server_appears() {
    let change = |talk: &Talk| {
        let (model, server) = (talk.model, mcp_server());
        talk.shell.configure(&format!(
            "provider = \"anthropic\"\nmodel = \"{model}\"\n[tools]\nrequire_approval = false\n\
             [mcp.servers.fake]\ncommand = [\"python3\", {server:?}]\n"
        ));
    };
    kept_after("Go.", |_| {}, change);
}

#[test]
fn a_tool_that_appeared_later_can_be_called() {
    with_each_claude(|talk| {
        talk.script([says("One.")]);
        talk.ask("Go.");
        let root = talk.shell.home().join("config/flemma/tools");
        write_tool(&root, "later", "print('from later')");
        let call = Answer::new()
            .thinks("I use it.")
            .tool_use("toolu_1", "later", &json!({}));
        talk.script([call, says("Two.")]);
        talk.ask("Use the new tool.");
        talk.expect_kept();
        assert!(talk.last().to_string().contains("from later"), "{talk:?}");
    });
}

#[test]
fn a_system_prompt_is_added_below_the_last_answer() {
    with_each_claude(|talk| {
        talk.script([says("One."), says("Two."), says("Three.")]);
        talk.ask("Go.");
        let chat = talk.chat();
        let chat = chat.trim_end().trim_end_matches("@You:");
        talk.shell
            .write("a.chat", &format!("{chat}@System:\nBe long.\n"));
        talk.ask("More.");
        talk.ask("And more.");
        talk.expect_kept();
        let body = talk.last();
        let mut messages = body["messages"].as_array().unwrap().iter();
        let prompt = messages.find(|it| it["role"] == "system");
        assert!(prompt.unwrap().to_string().contains("Be long."), "{talk:?}");
    });
}

/// A chat with two answers that think.
#[track_caller]
fn two_answers(talk: &Talk) {
    talk.shell.write("f.txt", "n=0\n");
    let read = json!({"label": "r", "path": "f.txt", "offset": null, "limit": null});
    let look = Answer::new().thinks("Hm.").text("I look.");
    talk.script([look.tool_use("toolu_1", "read", &read), says("It is zero.")]);
    talk.ask("What is in f.txt?");
}

/// Changes a chat that has two answers. Thinking is dropped, and the user is told; then the chat goes
/// on.
#[track_caller]
fn told(change: impl Fn(&str) -> String) {
    for model in CLAUDE {
        let provider = Provider::anthropic([""; 0]).strict(Strict::anthropic());
        let talk = Talk::new(provider, model);
        two_answers(&talk);
        talk.shell.write("a.chat", &change(&talk.chat()));
        talk.script([says("Two."), says("Three.")]);
        let ran = talk.ask("More.");
        assert!(!talk.provider.dropped().is_empty(), "{talk:?}");
        assert!(ran.err.contains("thinking"), "{talk:?}: {}", ran.err);
        talk.ask("And more.");
        assert!(talk.chat().contains("Three."), "{talk:?}");
    }
}

#[test]
fn a_changed_chat_that_was_refused_is_sent_again_without_its_thinking() {
    for model in CLAUDE {
        let service = Strict::anthropic_without_dropping();
        let talk = Talk::new(Provider::anthropic([""; 0]).strict(service), model);
        two_answers(&talk);
        let chat = talk.chat().replace("What is", "What was");
        talk.shell.write("a.chat", &chat);
        talk.script([says("Two."), says("Three.")]);
        let ran = talk.send("More.");
        assert_eq!(ran.code, Some(1), "{talk:?}: {ran:?}");
        assert_eq!(talk.provider.refusals().len(), 1, "{talk:?}");
        assert!(ran.err.contains("thinking"), "{talk:?}: {}", ran.err);
        // The message is in the file.
        let again = talk.shell.run(&["send", "a.chat"]);
        assert_eq!(again.code, Some(0), "{talk:?}: {again:?}");
        talk.ask("And more.");
        assert!(talk.chat().contains("Three."), "{talk:?}");
    }
}

#[test]
fn an_earlier_message_is_edited() {
    told(|chat| chat.replace("What is in f.txt?", "What is in this file?"));
}

#[test]
fn an_earlier_answer_is_edited() {
    told(|chat| chat.replace("I look.", "I looked."));
}

#[test]
fn an_earlier_result_is_edited() {
    told(|chat| chat.replace("```\nn=0\n```", "```\nn=5\n```"));
}

#[test]
fn a_system_prompt_is_added_at_the_top() {
    told(|chat| format!("@System:\nBe long.\n\n{chat}"));
}

#[test]
fn a_gateway_that_refuses_beta_headers_is_used_without_them() {
    for model in CLAUDE {
        let service = Strict::anthropic_without_betas();
        let talk = Talk::new(Provider::anthropic([""; 0]).strict(service), model);
        talk.shell.write("f.txt", "n=0\n");
        talk.script([
            edit("toolu_1", "f.txt", "n=0", "n=1"),
            says("One."),
            says("Two."),
        ]);
        talk.ask("Count up @./f.txt");
        talk.ask("More.");
        assert!(talk.chat().contains("Two."), "{talk:?}");
    }
}

#[test]
fn a_chat_from_a_colleague_goes_on() {
    for model in CLAUDE {
        let theirs = Talk::new(
            Provider::anthropic([""; 0]).strict(Strict::anthropic()),
            model,
        );
        theirs.script([says("One.")]);
        theirs.ask("Go.");
        let service = Strict::anthropic().for_account("second");
        let ours = Talk::new(Provider::anthropic([""; 0]).strict(service), model);
        ours.shell.write("a.chat", &theirs.chat());
        ours.script([says("Two."), says("Three.")]);
        ours.ask("More.");
        ours.ask("And more.");
        assert_eq!(ours.provider.refusals(), [""; 0], "{ours:?}");
    }
}
