//! Names that virtual users of a thread share, and intrinsics that are added when they are named.

use super::*;
use crate::js::names::Names;

/// A script whose object has more properties than the table of names has room for: it grows more
/// than once in the iterations.
const MANY: &str = "
    const own = {};
    for (let i = 0; i < 600; i++) own['name_' + i] = i;
    export default function () {
        const seen = {};
        for (let i = 0; i < 5000; i++) seen['vu' + __VU + '_' + i] = i;
        for (let i = 0; i < 5000; i += 2) delete seen['vu' + __VU + '_' + i];
        let sum = 0;
        for (const name in seen) sum += seen[name];
        for (const name in own) if (seen[name] !== undefined || own[name] === undefined) sum = -1;
        own['more_' + __VU] = __VU;
        console.log(sum, Object.keys(own).length, own['name_' + 599], own.name_7, Symbol.for('name_7') in own);
    }";

#[test]
fn names_are_shared_and_users_stay_apart() {
    let mut host = Host::of(MANY);
    let mut vus: Vec<Vu> = (1..5).map(|number| host.vu(number)).collect();
    for round in 0..3 {
        for vu in &mut vus {
            assert_eq!(host.iterate(vu), Ending::Complete, "{:?}", vu.error());
        }
        // One goes away while others still have its names; another comes.
        drop(vus.remove(0));
        vus.push(host.vu(10 + round));
    }
    drop(vus);
    assert_eq!(host.trace.len(), 12);
    for line in &host.trace {
        assert_eq!(line, "Info 6250000 601 599 7 false");
    }
}

#[test]
fn shared_names_cost_a_user_no_strings() {
    let mut host = Host::of(MANY);
    let sharing = host.vu(1).used_bytes();
    // A worker that was asked first for no names has no more than QuickJS' own.
    host.worker = Rc::new(Worker::new());
    host.worker.names.of(&Names::default());
    let alone = host.vu(2).used_bytes();
    assert!(alone - sharing > 1000 * 32, "{sharing} bytes with shared names, {alone} without");
}

#[test]
fn a_weak_map_holds_symbols_of_its_own_user() {
    let mut host = Host::of(
        "const map = new WeakMap();
         export default function () {
             console.log(map.get(Symbol.iterator));
             map.set(Symbol.iterator, __VU);
         }",
    );
    let mut vus: Vec<Vu> = (1..3).map(|number| host.vu(number)).collect();
    for _ in 0..2 {
        vus.iter_mut().for_each(|vu| assert_eq!(host.iterate(vu), Ending::Complete));
    }
    assert_eq!(host.trace, ["Info undefined", "Info undefined", "Info 1", "Info 2"]);
}

#[test]
fn intrinsics_are_there_when_they_are_named() {
    for (expression, want) in [
        ("typeof Map + typeof WeakSet + typeof WeakRef", "functionfunctionfunction"),
        ("new Map([[1, 2]]).get(1)", "2"),
        ("[...new Set([3, 3])][0]", "3"),
        ("new Set() instanceof Set && Set === globalThis.Set", "true"),
        ("Object.hasOwn(globalThis, 'Map') && 'Date' in globalThis", "true"),
        ("Object.keys(globalThis).includes('Map')", "false"),
        ("(globalThis.Date = 5, Date)", "5"),
        ("(delete globalThis.Set, typeof Set)", "undefined"),
        ("(Map.own = 1, globalThis.Map.own)", "1"),
        ("new DataView(new ArrayBuffer(8)).byteLength + new Uint8Array(2).length", "10"),
        ("Object.getOwnPropertyDescriptor(globalThis, 'Proxy').writable", "true"),
        ("Map.groupBy([1, 2], (n) => n % 2).get(1)", "[1]"),
        ("typeof Atomics.add + typeof new FinalizationRegistry(() => 0)", "functionobject"),
    ] {
        assert_eq!(value_of(expression), want, "{expression}");
    }
}
