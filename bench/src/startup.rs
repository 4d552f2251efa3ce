//! The cost of the plugin before it is used, and the start of the host.

use std::io::{self, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use rmpv::Value;

use crate::stage::{host, since};
use crate::table::{Budget, Row, Samples, Table};

const RUNS: usize = 25;

/// Reports the CPU time in microseconds and the number of loaded modules of the plugin, before a file
/// is opened.
const REPORT: &str = "lua local used, count = vim.uv.getrusage(), 0
  for name in pairs(package.loaded) do count = count + (name:find('^flemma') and 1 or 0) end
  local function us(time) return time.sec * 1e6 + time.usec end
  io.stdout:write(('%d %d'):format(us(used.utime) + us(used.stime), count))";

pub fn run(table: &mut Table) -> io::Result<()> {
    let folder = std::env::temp_dir().join(format!("flemma-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let measured = starts(&folder);
    std::fs::remove_dir_all(&folder)?;
    let (hand, ours, modules) = measured?;
    let row = Row {
        what: "start-up of Neovim with init and setup(), processor".to_owned(),
        hand: Some(hand),
        ours,
        budget: Budget::median(6.0).by_hand(4.5),
        lines: None,
    };
    table.compare(row, "the plugin", 1.5)?;
    table.add(Row {
        what: "files required before a chat is opened (count)".to_owned(),
        hand: None,
        ours: [modules].into_iter().collect(),
        budget: Budget::median(1.0),
        lines: None,
    })?;
    let ready: io::Result<Vec<f64>> = (0..RUNS).map(|_| host_start()).collect();
    table.add(Row {
        what: "host: start to ready".to_owned(),
        hand: None,
        ours: ready?.into_iter().collect(),
        budget: Budget::median(30.0),
        lines: None,
    })
}

/// The CPU time without and with the plugin, and the number of modules that it loads.
fn starts(folder: &Path) -> io::Result<(Samples, Samples, f64)> {
    let repository = harness::repository();
    let with = format!(
        "vim.opt.runtimepath:prepend([[{}]])\nrequire('flemma').setup({{}})\n",
        repository.display()
    );
    let (with_init, without_init) = (folder.join("with.lua"), folder.join("without.lua"));
    std::fs::write(&with_init, with)?;
    std::fs::write(&without_init, "vim.opt.runtimepath:prepend([[/nowhere]])\n")?;
    let (mut ours, mut hand, mut modules) = (Samples::default(), Samples::default(), 0.0);
    for _ in 0..RUNS {
        let (took, count) = start(folder, &with_init)?;
        ours.add(took);
        modules = count;
        hand.add(start(folder, &without_init)?.0);
    }
    Ok((hand, ours, modules))
}

fn start(folder: &Path, init: &Path) -> io::Result<(f64, f64)> {
    let output = Command::new(harness::neovim())
        .args(["--headless", "--clean", "-u"])
        .arg(init)
        .args(["-c", REPORT, "-c", "qall!"])
        .env("XDG_STATE_HOME", folder)
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(used)), Some(Ok(count))) => Ok((used / 1e3, count)),
        _ => Err(io::Error::other(format!("Neovim reported {text:?}"))),
    }
}

/// The time from the start of the process to its `welcome`.
fn host_start() -> io::Result<f64> {
    let start = Instant::now();
    let mut child = Command::new(host())
        .arg("host")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (Some(mut to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("the host was started without pipes"));
    };
    let hello = Value::Map(vec![
        ("protocol".into(), 2.into()),
        ("version".into(), "bench".into()),
    ]);
    let message = Value::Array(vec![2.into(), "hello".into(), Value::Array(vec![hello])]);
    rmpv::encode::write_value(&mut to, &message).map_err(io::Error::other)?;
    rmpv::decode::read_value(&mut BufReader::new(from)).map_err(io::Error::other)?;
    let took = since(start);
    drop(to);
    child.wait()?;
    Ok(took)
}
