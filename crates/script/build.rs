//! Builds LuaJIT and QuickJS-NG, with a C compiler and make, and what reaches into them.
//!
//! The crates that bind them could build them too, but give no way to set compile-time options, and
//! both need one. Without `LUAJIT_ENABLE_CHECKHOOK` a loop that was compiled to machine code never
//! looks whether it should stop; what QuickJS needs is described in `src/js/engine.c`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

const OPTION: &str = "-DLUAJIT_ENABLE_CHECKHOOK";

/// The version that `engine.c` was checked against, as the header has it.
const QUICKJS_VERSION: [&str; 3] =
    ["QJS_VERSION_MAJOR 0\n", "QJS_VERSION_MINOR 16\n", "QJS_VERSION_PATCH 2\n"];

/// What `engine.c` includes is not compiled a second time.
const QUICKJS_REST: [&str; 3] = ["libregexp.c", "libunicode.c", "dtoa.c"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/lua/interrupt.c");
    for file in ["engine.c", "json.c", "lazy.c", "names.c"] {
        println!("cargo::rerun-if-changed=src/js/{file}");
    }
    build_luajit();
    build_quickjs();
}

fn build_luajit() {
    let flags = env::var("TARGET_CFLAGS").unwrap_or_default();
    // SAFETY: this program has one thread at this point, so nobody reads the environment meanwhile.
    unsafe { env::set_var("TARGET_CFLAGS", format!("{flags} {OPTION}")) };
    let lua = luajit_src::Build::new().debug(false).build();

    println!("cargo::rustc-link-search=native={}", lua.lib_dir().display());
    // Whole, because the crate with the bindings comes later in a linker's order than this one.
    for library in lua.libs() {
        println!("cargo::rustc-link-lib=static:+whole-archive={library}");
    }
    // Beside the interface, what interrupts it needs LuaJIT's own headers: those of the copy that
    // was just built.
    let built = lua.include_dir().with_file_name("luajit-build").join("src");
    cc::Build::new().file("src/lua/interrupt.c").include(built).compile("plimsoll_interrupt");
    // SAFETY: as above.
    unsafe { env::set_var("TARGET_CFLAGS", flags) };
}

fn build_quickjs() {
    let source = quickjs_source().unwrap_or_else(|| {
        panic!(
            "the source of QuickJS-NG is not beside this build: rquickjs-sys copies it to its \
             output folder, which has to be in the folder that this program's own is in"
        )
    });
    let mut build = cc::Build::new();
    build.define("_GNU_SOURCE", None).include(&source).warnings(false);
    // Its own checks, among them that nothing is left when a runtime is freed, are for tests: they
    // end the process.
    if env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        build.define("NDEBUG", None);
    }
    build.file("src/js/engine.c").files(QUICKJS_REST.map(|name| source.join(name)));
    build.compile("plimsoll_quickjs");
}

/// Where the crate that ships QuickJS-NG has put its source. Its build program has run by now,
/// because this one depends on the crate. Copies of other versions may lie there; those of the same
/// version are equal.
fn quickjs_source() -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    let builds = fs::read_dir(program.parent()?.parent()?).ok()?;
    let outputs = builds.filter_map(|entry| Some(entry.ok()?.path().join("out")));
    let mut sources: Vec<PathBuf> = outputs.filter(|path| is_quickjs(path)).collect();
    sources.sort();
    sources.pop()
}

fn is_quickjs(path: &Path) -> bool {
    let is_ours = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    is_ours.is_some_and(|name| name.starts_with("rquickjs-sys-"))
        && fs::read_to_string(path.join("quickjs.h")).is_ok_and(|header| has_version(&header))
        && path.join("quickjs.c").exists()
}

fn has_version(header: &str) -> bool {
    QUICKJS_VERSION.iter().all(|line| header.contains(line))
}
