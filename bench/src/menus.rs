//! Menus over many files and chats, and an installation from the loopback.

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::thread;

use harness::{Editor, Provider};
use serde_json::{Value as Json, json};

use crate::stage::{host, ours, rest};
use crate::table::{Budget, Row, Samples, Table};

const FOLDERS: usize = 100;
const FILES: usize = 1_000;
const CHATS: usize = 5_000;
/// Letters of one of the files, as a user types them.
const TYPED: [&str; 8] = [
    "d42f7", "mod_7", "d9/mod", "f999", "dir_1/m", "99.rs", "d55f3", "mod",
];
/// Asks for the menu as completion plugins do. Returns milliseconds and the number of items.
const MENU: &str = "local client = vim.lsp.get_clients({ bufnr = 0, name = 'flemma' })[1]
    local start = vim.uv.hrtime()
    local reply = client:request_sync('textDocument/completion',
      vim.lsp.util.make_position_params(0, client.offset_encoding), 10000, 0)
    local items = reply and reply.result and (reply.result.items or reply.result) or {}
    return { (vim.uv.hrtime() - start) / 1e6, #items }";
/// Returns the milliseconds from the command to the picker.
const PICKER: &str = "local select, took = vim.ui.select, nil
    local start = vim.uv.hrtime()
    vim.ui.select = function(items) took = (vim.uv.hrtime() - start) / 1e6 end
    vim.cmd('Flemma chats')
    vim.ui.select = select
    return took";
/// Installs from the URL into a folder. Returns milliseconds and the problem.
const INSTALL: &str = "local root, url, target, digest = ...
    local start, ended, problem = vim.uv.hrtime(), false, nil
    local release = { version = require('flemma.release').version, sha256 = { [target] = digest } }
    require('flemma.install').start({ root = root, url = url, target = target, release = release },
      function(why) ended, problem = true, why end)
    vim.wait(60000, function() return ended end, 1)
    return { (vim.uv.hrtime() - start) / 1e6, problem or vim.NIL }";

pub fn run(table: &mut Table) -> io::Result<()> {
    table.add(row(
        "completion menu in a repository of 100,000 files",
        completion()?,
        Budget::median(15.0),
    ))?;
    table.add(row(
        "picker over 5,000 chats, the first time",
        picker()?,
        Budget::median(100.0),
    ))?;
    table.add(row(
        "install of a prebuilt binary from the loopback",
        [install()?].into_iter().collect(),
        Budget::median(2_000.0),
    ))
}

fn row(what: &str, ours: Samples, budget: Budget) -> Row {
    Row {
        what: what.to_owned(),
        hand: None,
        ours,
        budget,
        lines: None,
    }
}

fn completion() -> io::Result<Samples> {
    let provider = Provider::anthropic([""; 0]);
    let editor = ours(&provider, "@You:\n\n", json!({}));
    for folder in 0..FOLDERS {
        let path = editor.dir().join(format!("dir_{folder}"));
        fs::create_dir(&path)?;
        for file in 0..FILES {
            fs::write(path.join(format!("mod_{folder}_f{file}.rs")), "")?;
        }
    }
    editor.wait_for("the language server", |editor| {
        let found = "return #vim.lsp.get_clients({ bufnr = 0, name = 'flemma' }) == 1";
        editor.lua(found, &json!([])) == json!(true)
    });
    let mut samples = Samples::default();
    for typed in TYPED {
        editor.keys(&format!("GSSee @./{typed}"));
        rest(&editor);
        // The second time, as each letter asks again.
        for _ in 0..2 {
            let menu = editor.lua(MENU, &json!([]));
            assert!(menu[1].as_f64() > Some(0.0), "{typed}: {menu}");
            samples.add(menu[0].as_f64().unwrap_or(f64::INFINITY));
        }
        editor.keys("<Esc>");
    }
    Ok(samples)
}

fn picker() -> io::Result<Samples> {
    let provider = Provider::anthropic([""; 0]);
    let mut samples = Samples::default();
    for _ in 0..3 {
        let options = json!({"chats": {"folder": "chats"}});
        let editor = ours(&provider, "@You:\n\n", options);
        let folder = editor.dir().join("chats");
        fs::create_dir(&folder)?;
        for chat in 0..CHATS {
            let text = format!("@You:\nQuestion {chat}: why?\n\n@Assistant:\nBecause.\n\n@You:\n");
            fs::write(folder.join(format!("{chat}.chat")), text)?;
        }
        samples.add(number(&editor.lua(PICKER, &json!([])), &editor));
    }
    Ok(samples)
}

fn number(value: &Json, editor: &Editor) -> f64 {
    let number = value.as_f64();
    assert!(number.is_some(), "{value}\n{}", editor.messages());
    number.unwrap_or_default()
}

fn install() -> io::Result<f64> {
    let provider = Provider::anthropic([""; 0]);
    let editor = ours(&provider, "@You:\n\n", json!({}));
    let archive = editor.dir().join("archive.tar.gz");
    let digest = pack(&archive)?;
    let url = serve(fs::read(&archive)?)?;
    let root = editor.dir().join("plugin");
    let target = "x86_64-unknown-linux-musl";
    let ended = editor.lua(INSTALL, &json!([root, url, target, digest]));
    assert!(ended[1].is_null(), "{ended}");
    Ok(number(&ended[0], &editor))
}

/// Packs the measured programs as a release has them. Returns the digest.
fn pack(archive: &Path) -> io::Result<String> {
    let programs = host();
    let folder = programs.parent().unwrap_or(Path::new("."));
    let mut tar = Command::new("tar");
    tar.arg("-C").arg(folder).arg("-czhf").arg(archive);
    let packed = tar.args(["flemma", "flemma-leash"]).status()?;
    let digest = Command::new("sha256sum").arg(archive).output()?;
    let text = String::from_utf8_lossy(&digest.stdout).into_owned();
    match (packed.success(), text.split_whitespace().next()) {
        (true, Some(digest)) => Ok(digest.to_owned()),
        _ => Err(io::Error::other("the programs could not be packed")),
    }
}

/// Answers the next request with these bytes. Returns the URL of the folder.
fn serve(bytes: Vec<u8>) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/files", listener.local_addr()?);
    thread::spawn(move || -> io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        let mut head = [0; 4096];
        // The request is shorter, and its content does not matter.
        let _read = stream.read(&mut head)?;
        let length = bytes.len();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        )?;
        stream.write_all(&bytes)
    });
    Ok(url)
}
