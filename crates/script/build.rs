//! Builds LuaJIT and QuickJS-NG, with a C compiler and make, and what reaches into them.
//!
//! The crates that bind them could build them too, but give no way to set compile-time options, and
//! both need one. Without `LUAJIT_ENABLE_CHECKHOOK` a loop that was compiled to machine code never
//! looks whether it should stop; what QuickJS needs is described in `src/js/engine.c`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const OPTION: &str = "-DLUAJIT_ENABLE_CHECKHOOK";

/// The version that `engine.c` was checked against, as the header has it.
const QUICKJS_VERSION: [&str; 3] =
    ["QJS_VERSION_MAJOR 0\n", "QJS_VERSION_MINOR 16\n", "QJS_VERSION_PATCH 2\n"];

/// `engine.c` and what it includes beside QuickJS.
const QUICKJS_CHANGES: [&str; 7] =
    ["arrays.c", "engine.c", "json.c", "json_text.c", "lazy.c", "modules.c", "names.c"];

/// What `engine.c` includes is not compiled a second time.
const QUICKJS_REST: [&str; 3] = ["libregexp.c", "libunicode.c", "dtoa.c"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/lua/interrupt.c");
    for file in QUICKJS_CHANGES {
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
    let source = quickjs_source().unwrap_or_else(|why| panic!("no source of QuickJS-NG: {why}"));
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

/// Where the crate that ships QuickJS-NG has its source. Cargo knows where it unpacked the crate,
/// whether that came from a registry or from a vendored folder.
fn quickjs_source() -> Result<PathBuf, String> {
    let metadata = metadata(&["--manifest-path", &asking_package()?])?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let crates = packages.filter(|package| package["name"] == "rquickjs-sys");
    let manifests = crates.filter_map(|package| package["manifest_path"].as_str());
    let mut sources = manifests.map(|manifest| Path::new(manifest).with_file_name("quickjs"));
    let wanted = QUICKJS_VERSION.concat().replace('\n', " ");
    sources
        .find(|source| is_quickjs(source))
        .ok_or_else(|| format!("no crate rquickjs-sys with {wanted}"))
}

/// Writes a package that depends on that crate alone, and gives its manifest. Asked about this
/// package, Cargo would look for everything that the workspace's tests need, which it downloads for
/// tests only.
fn asking_package() -> Result<String, String> {
    let folder = Path::new(&known("OUT_DIR")?).join("source");
    let write = |name: &str, text: &[u8]| fs::write(folder.join(name), text);
    let manifest = "[package]\nname = \"source\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n\
                    [dependencies]\nrquickjs-sys = \"*\"\n[workspace]\n";
    fs::create_dir_all(&folder)
        .and_then(|()| write("Cargo.toml", manifest.as_bytes()))
        .and_then(|()| write("lib.rs", b""))
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    // The versions of this build, if they are written down.
    let here = PathBuf::from(known("CARGO_MANIFEST_DIR")?);
    if let Some(lock) = here.ancestors().find_map(|above| fs::read(above.join("Cargo.lock")).ok()) {
        write("Cargo.lock", &lock).map_err(|error| format!("Cargo.lock: {error}"))?;
    }
    let path = folder.join("Cargo.toml").into_os_string();
    path.into_string().map_err(|path| format!("{} is no Unicode", path.display()))
}

/// What Cargo says of a package. The crate was built before this program, so nothing that it needs
/// is left to be downloaded.
fn metadata(of: &[&str]) -> Result<Value, String> {
    let mut cargo = Command::new(known("CARGO")?);
    // The folder decides which configuration holds.
    cargo.args(["metadata", "--format-version", "1", "--offline"]).args(of);
    let answer = cargo.current_dir(known("CARGO_MANIFEST_DIR")?).output();
    let answer = answer.map_err(|error| format!("cargo metadata: {error}"))?;
    if !answer.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&answer.stderr)));
    }
    serde_json::from_slice(&answer.stdout).map_err(|error| format!("cargo metadata: {error}"))
}

fn known(name: &str) -> Result<String, String> {
    env::var(name).map_err(|error| format!("{name}: {error}"))
}

fn is_quickjs(source: &Path) -> bool {
    fs::read_to_string(source.join("quickjs.h")).is_ok_and(|header| has_version(&header))
        && source.join("quickjs.c").exists()
}

fn has_version(header: &str) -> bool {
    QUICKJS_VERSION.iter().all(|line| header.contains(line))
}
