//! Linker options of the binaries.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CXX");
    let target = |name: &str| std::env::var(format!("CARGO_CFG_TARGET_{name}"));
    if target("OS").as_deref() == Ok("linux") && target("ENV").as_deref() == Ok("gnu") {
        // Shrinks the relocations, which the dynamic linker reads in both processes of a host,
        // from 1 MB to 10 KB. Linkers that do not support this print a warning.
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
        link_libstdcxx();
        // Cargo does not strip symbols from a package with its own `opt-level`, whatever the
        // profile says.
        if std::env::var("PROFILE").as_deref() == Ok("release") {
            println!("cargo::rustc-link-arg-bins=-Wl,--strip-all");
        }
    }
}

/// Links the C++ library statically if the compiler has an archive of it. Luau needs little
/// of it, and as a shared library it takes half a megabyte in each of the two processes.
fn link_libstdcxx() {
    let native = std::env::var("HOST").ok() == std::env::var("TARGET").ok();
    let (Some(archive), Ok(out)) = (native.then(archive).flatten(), std::env::var("OUT_DIR"))
    else {
        return;
    };
    // In a folder of its own, which the linker searches before that of the shared library.
    let folder = Path::new(&out).join("static");
    let copy = folder.join("libstdc++.a");
    let linked = std::fs::create_dir_all(&folder).and_then(|()| {
        if copy.exists() {
            Ok(0)
        } else {
            std::fs::copy(archive, &copy)
        }
    });
    if linked.is_ok() {
        println!("cargo::rustc-link-search=native={}", folder.display());
    }
}

/// Returns the path of the compiler's static C++ library.
fn archive() -> Option<PathBuf> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let output = Command::new(compiler)
        .arg("-print-file-name=libstdc++.a")
        .output()
        .ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    // The compiler repeats the name of a file that it does not have.
    (path.is_absolute() && path.exists()).then_some(path)
}
