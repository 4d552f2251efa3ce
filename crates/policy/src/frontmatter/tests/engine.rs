//! What the engine refuses, and how its errors read.

use super::*;
use refusals::check;

#[test]
fn what_lua_binds_the_other_way_is_an_error_with_its_place() {
    // As the specification prints it: `^` is applied to both names first.
    let printed = "\nflemma.opt.tools = flemma.opt.tools + \"bash\" - \"write\" ^ \"calculator\"";
    let failure = failure(&lua(printed));
    assert_eq!(failure.line, 3);
    assert!(
        failure.message.contains("frontmatter line 3"),
        "{}",
        failure.message
    );
}

#[test]
fn lua_errors_have_the_line_of_the_file() {
    check(&[
        ("local x = 1\nlocal y = = 2", 3, 0, ""),
        (
            "\n\nlocal x = nil\nx.y = 1",
            5,
            0,
            "attempt to index nil with 'y'.",
        ),
        ("error()", 2, 0, ""),
        ("error({})", 2, 0, ""),
        ("error('not today')", 2, 0, "not today."),
        (
            "local function f()\n  error('deep')\nend\nf()",
            3,
            0,
            "deep.",
        ),
        ("x = 'a' + 1", 2, 0, "attempt to perform arithmetic"),
        ("include({})", 2, 0, ""),
    ]);
}

#[test]
fn an_error_in_pcall_is_the_users_own_affair_and_sets_nothing() {
    let text = "ok = pcall(function() flemma.opt.sandbox = { backends = {} } end)";
    let evaluated = evaluated(&lua(text));
    assert_eq!(evaluated.overrides, Overrides::default());
    assert_eq!(
        evaluated.expression("ok"),
        Ok(Expansion::Text("false".into()))
    );
}

#[test]
fn nothing_reaches_the_machine() {
    for text in [
        "os.execute('touch /tmp/p')",
        "io.open('/etc/passwd')",
        "require('ffi').C.system('id')",
        "vim.fn.system('id')",
        "load('return 1')()",
        "loadstring('return 1')()",
        "dofile('/etc/passwd')",
        "getfenv(1)",
        "setfenv(1, {})",
        "debug.info(1, 'f')",
        "coroutine.wrap(print)()",
        "getmetatable('').__index = {}",
        "collectgarbage()",
        "newproxy(true)",
        "string.rep = nil",
        "table.insert = nil",
        "('x').rep.y = 1",
        "flemma.opt = {}",
        "string.dump(print)",
    ] {
        assert!(evaluate(&lua(text), &known()).is_err(), "{text}");
    }
}

#[test]
fn one_frontmatter_does_not_influence_another() {
    let spoiled = evaluate(
        &lua("pcall(function() string.rep = nil end) string = nil"),
        &known(),
    );
    assert!(spoiled.is_ok());
    let other = evaluated(&lua("x = ('ab'):rep(2)"));
    assert_eq!(other.expression("x"), Ok(Expansion::Text("abab".into())));
    assert_eq!(other.overrides, Overrides::default());
}
