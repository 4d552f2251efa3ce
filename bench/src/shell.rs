//! From the start of `flemma send` to its request at the provider, compared with a shell that sends
//! the file with an installed HTTP client, if there is one.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use harness::Provider;

use crate::stage::host;
use crate::table::{Budget, Row, Samples, Table};

const RUNS: usize = 25;

pub fn run(table: &mut Table) -> io::Result<()> {
    let folder = std::env::temp_dir().join(format!("flemma-bench-send-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let measured = measure(&folder);
    std::fs::remove_dir_all(&folder)?;
    let (hand, ours) = measured?;
    table.add(Row {
        what: "`flemma send`: start to the request on the wire".to_owned(),
        hand: Some(hand).filter(|hand| hand.median() > 0.0),
        ours,
        budget: Budget::median(20.0),
        lines: None,
    })
}

fn measure(folder: &Path) -> io::Result<(Samples, Samples)> {
    let (provider, other) = (Provider::anthropic([""; 0]), Provider::anthropic([""; 0]));
    let (mut hand, mut ours) = (Samples::default(), Samples::default());
    let chat = folder.join("question.chat");
    for run in 1..=RUNS {
        std::fs::write(&chat, "@You:\nGo.\n")?;
        let mut command = Command::new(host());
        command.arg("send").arg(&chat).envs(provider.environment());
        ours.add(took(&mut command, folder, &provider, run)?);
        let mut command = Command::new("curl");
        let url = format!("{}/v1/messages", other.url());
        command
            .args(["-s", "--data-binary"])
            .arg(format!("@{}", chat.display()))
            .arg(url);
        if let Ok(took) = took(&mut command, folder, &other, run) {
            hand.add(took);
        }
    }
    Ok((hand, ours))
}

/// Runs a program. Returns the milliseconds until its request arrived.
fn took(command: &mut Command, folder: &Path, provider: &Provider, run: usize) -> io::Result<f64> {
    let start = Instant::now();
    let mut child = command
        .env("HOME", folder)
        .env("XDG_STATE_HOME", folder)
        .env("XDG_CONFIG_HOME", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let arrived = provider.wait_requests(run)[run - 1].arrived;
    child.wait()?;
    Ok(arrived.duration_since(start).as_secs_f64() * 1e3)
}
