//! The Lua environment of untrusted code: pure functions, and nothing else.
//!
//! Lists the allowed names, so that a newer engine with more functions does not allow more.
//! Limits the few library functions that an interrupt cannot stop.

use std::path::Path;

use mlua::{
    AnyUserData, Function, IntoLuaMulti, Lua, LuaString, MultiValue, Table, UserData,
    Value as LuaValue,
};

use super::Include;

/// Base functions of Lua 5.1 that have no effect outside the evaluation.
const FUNCTIONS: [&str; 11] = [
    "assert", "error", "ipairs", "pairs", "next", "pcall", "select", "tonumber", "tostring",
    "type", "unpack",
];
/// Libraries that are pure once `split` and others are removed.
const LIBRARIES: [&str; 4] = ["string", "math", "utf8", "bit32"];
/// The functions of Lua 5.1's `table`. Luau's others can work on more elements than exist.
const TABLE: [&str; 9] = [
    "concat", "foreach", "foreachi", "getn", "insert", "maxn", "remove", "sort", "unpack",
];
/// Maximum number of elements for `table.sort`.
const MAX_SORTED: usize = 100_000;
/// Maximum number of byte comparisons of one plain search.
const MAX_COMPARED: usize = 1 << 28;

/// Maximum bytes of a path for `include()`, the kernel's limit.
const MAX_PATH: usize = 4096;

/// The value of `include()`.
pub struct IncludeValue(pub Include);

impl UserData for IncludeValue {}

/// Creates the read-only table of everything that untrusted code can reach. Call it once, on a
/// fresh engine; afterwards nothing can change the libraries.
///
/// # Errors
///
/// The engine's memory limit.
pub fn build(lua: &Lua, file: Option<&Path>) -> mlua::Result<Table> {
    // Before `sandbox`, which makes the libraries read-only.
    bound_strings(lua)?;
    let globals = lua.globals();
    let environment = lua.create_table()?;
    for name in FUNCTIONS.into_iter().chain(LIBRARIES) {
        environment.raw_set(name, globals.raw_get::<LuaValue>(name)?)?;
    }
    // A copy, so that `sort` can be replaced and other functions left out.
    environment.raw_set("table", table_library(lua, &globals)?)?;
    // A document must not write to the host's standard output, which carries the protocol.
    environment.raw_set("print", lua.create_function(|_, _: MultiValue| Ok(()))?)?;
    environment.raw_set("include", lua.create_function(include)?)?;
    // Luau reports its own name, but documents rely on Lua 5.1 alone.
    environment.raw_set("_VERSION", "Lua 5.1")?;
    if let Some(file) = file {
        environment.raw_set("__filename", file.to_string_lossy())?;
        if let Some(folder) = file.parent() {
            environment.raw_set("__dirname", folder.to_string_lossy())?;
        }
    }
    // Makes the libraries and the metatable of strings read-only.
    lua.sandbox(true)?;
    Ok(environment)
}

/// Creates a table that reads from `environment` and takes new names itself.
///
/// # Errors
///
/// The engine's memory limit.
pub fn layer(lua: &Lua, environment: &Table) -> mlua::Result<Table> {
    let layer = lua.create_table()?;
    let meta = lua.create_table()?;
    meta.raw_set("__index", environment)?;
    // `getmetatable` is not among the functions; should it ever be, it must not lead past a
    // layer.
    meta.raw_set("__metatable", false)?;
    layer.set_metatable(Some(meta))?;
    Ok(layer)
}

fn table_library(lua: &Lua, globals: &Table) -> mlua::Result<Table> {
    let original: Table = globals.raw_get("table")?;
    let library = lua.create_table()?;
    for name in TABLE {
        library.raw_set(name, original.raw_get::<LuaValue>(name)?)?;
    }
    let sort: Function = original.raw_get("sort")?;
    let bounded = lua.create_function(move |_, arguments: MultiValue| match arguments.front() {
        // Numbers and strings are compared inside the library, where no interrupt arrives.
        Some(LuaValue::Table(table)) if table.raw_len() > MAX_SORTED => Err(mlua::Error::runtime(
            format!("table.sort takes at most {MAX_SORTED} elements here"),
        )),
        _ => sort.call::<MultiValue>(arguments),
    })?;
    library.raw_set("sort", bounded)?;
    library.set_readonly(true);
    Ok(library)
}

/// Limits `string.find`: a plain search compares length times length bytes without an interrupt.
/// Changes the string library itself, because methods of strings use it.
fn bound_strings(lua: &Lua) -> mlua::Result<()> {
    let library: Table = lua.globals().raw_get("string")?;
    // None of these is in Lua 5.1, and none can be interrupted while it works on a long text.
    for name in ["split", "pack", "unpack", "packsize"] {
        library.raw_set(name, LuaValue::Nil)?;
    }
    let find: Function = library.raw_get("find")?;
    let bounded = lua.create_function(move |lua, arguments: MultiValue| {
        // Numbers are converted by the library, and are too short to matter.
        let length = |at: usize| match arguments.get(at) {
            Some(LuaValue::String(text)) => text.as_bytes().len(),
            _ => 0,
        };
        if length(0).saturating_mul(length(1)) > MAX_COMPARED {
            return Err(mlua::Error::runtime(
                "string.find on texts that are too long",
            ));
        }
        find.call::<MultiValue>(arguments)?.into_lua_multi(lua)
    })?;
    library.raw_set("find", bounded)
}

/// `include(path)` or `include(path, { binary = …, mime = … })`: reads nothing.
fn include(lua: &Lua, (path, options): (LuaString, Option<Table>)) -> mlua::Result<AnyUserData> {
    let (binary, mime) = match &options {
        Some(options) => (options.raw_get("binary")?, options.raw_get("mime")?),
        None => (None, None),
    };
    let mime: Option<LuaString> = mime;
    // The value outlives the engine, whose memory limit does not count the copy.
    let length = |text: &LuaString| text.as_bytes().len();
    if length(&path) > MAX_PATH || mime.as_ref().is_some_and(|mime| length(mime) > MAX_PATH) {
        return Err(mlua::Error::runtime(
            "include takes a path, and this is too long",
        ));
    }
    let include = Include {
        path: path.to_str()?.to_owned(),
        binary: binary.unwrap_or(false),
        mime: mime.map(|mime| mime.to_string_lossy()),
    };
    lua.create_userdata(IncludeValue(include))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Runs code that sees the environment. Nothing stops it.
    fn run(code: &str) -> Result<(), String> {
        let lua = Lua::new();
        let environment = build(&lua, None).unwrap();
        let chunk = lua.load(code).set_environment(environment);
        chunk.exec().map_err(|error| error.to_string())
    }

    #[track_caller]
    fn check(code: &str, refused: Option<&str>) {
        match (run(code), refused) {
            (Ok(()), None) => {}
            (Err(error), Some(part)) if error.contains(part) => {}
            (other, _) => panic!("{code}: {other:?}"),
        }
    }

    #[test]
    fn what_no_interrupt_can_cut_takes_what_is_short_enough() {
        for (length, refused) in [(100_000, None), (100_001, Some("at most 100000 elements"))] {
            let fill = format!("local t = {{}} for i = 1, {length} do t[i] = i end");
            check(&format!("{fill} table.sort(t)"), refused);
        }
        // 2^14 times 2^14 bytes.
        for (length, refused) in [(16_384, None), (16_385, Some("texts that are too long"))] {
            let find = format!("local s = ('a'):rep(16384) s:find(('a'):rep({length}), 1, true)");
            check(&find, refused);
        }
    }

    #[test]
    fn a_path_and_a_type_to_include_have_a_length() {
        let refused = Some("include takes a path, and this is too long");
        for (length, refused) in [(4096, None), (4097, refused)] {
            check(&format!("include(('x'):rep({length}))"), refused);
            check(
                &format!("include('x', {{ mime = ('x'):rep({length}) }})"),
                refused,
            );
        }
    }
}
