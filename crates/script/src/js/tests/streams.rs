//! The module `k6/experimental/streams`. The streams of another implementation of the standard
//! give the same values.

use super::*;

/// What an iteration of `body` logs, each value in a word.
fn logged(body: &str) -> Vec<String> {
    let (lines, ending) = trace(&format!(
        "import * as streams from 'k6/experimental/streams';
         import {{ setTimeout }} from 'k6/timers';
         const {{ ReadableStream, WritableStream, CountQueuingStrategy }} = streams;
         const log = (...values) => console.log(values.map(String).join(' '));
         const tick = () => new Promise((resolve) => setTimeout(resolve, 1));
         export default async function () {{ {body} }}"
    ));
    assert_eq!(ending, Ending::Complete, "{body}: {lines:?}");
    let text = |line: &String| line.strip_prefix("Info ").map(str::to_owned);
    lines.iter().filter_map(text).collect()
}

fn check_all(table: &[(&str, &str, &[&str])]) {
    for (name, body, want) in table {
        assert_eq!(logged(body), *want, "{name}");
    }
}

#[test]
fn chunks_are_read_in_order() {
    check_all(&[
        (
            "a source is asked for as much as there is room for",
            "let n = 0;
             const stream = new ReadableStream({
                 pull(to) {
                     log('pull', to.desiredSize); n += 1;
                     if (n > 2) to.close(); else to.enqueue(n);
                 },
             }, { highWaterMark: 2 });
             const reader = stream.getReader();
             for (let isDone = false; !isDone;) {
                 const { done, value } = await reader.read(); log(done, value); isDone = done;
             }
             await reader.closed; reader.releaseLock(); log(stream.locked);",
            &["pull 2", "false 1", "pull 2", "false 2", "pull 2", "true undefined", "false"],
        ),
        (
            "a source that fails",
            "const stream = new ReadableStream({
                 start(to) { to.enqueue(1); }, pull() { throw new Error('no'); },
             }, { highWaterMark: 5 });
             const reader = stream.getReader(); await tick();
             await reader.read().catch((error) => log(error.message));
             await reader.closed.catch((error) => log('closed', error.message));",
            &["no", "closed no"],
        ),
        (
            "a reader that has enough",
            "const reader = new ReadableStream({ cancel(why) { log('why', why); } }).getReader();
             const read = reader.read(); log(await reader.cancel('x')); log((await read).done);",
            &["why x", "undefined", "true"],
        ),
        (
            "chunks with sizes",
            "const stream = new ReadableStream({ start(to) {
                 to.enqueue('abc'); log(to.desiredSize); to.enqueue('de'); log(to.desiredSize);
                 try { to.enqueue(''); } catch (error) { log(error.name); } log(to.desiredSize);
             } }, { highWaterMark: 4, size: (chunk) => chunk.length || NaN });
             await stream.getReader().read().catch((error) => log(error.name));",
            &["1", "-1", "RangeError", "null", "RangeError"],
        ),
        (
            "a reader that lets go",
            "const stream = new ReadableStream(); const reader = stream.getReader();
             try { stream.getReader(); } catch (error) { log(error.name); }
             const read = reader.read().catch((error) => log('read', error.name));
             reader.releaseLock(); await read;
             await reader.closed.catch((error) => log('closed', error.name)); log(stream.locked);",
            &["TypeError", "read TypeError", "closed TypeError", "false"],
        ),
    ]);
}

#[test]
fn chunks_are_written_one_at_a_time() {
    check_all(&[
        (
            "a writer waits for room",
            "const stream = new WritableStream({
                 start() { log('start'); },
                 async write(chunk) { await tick(); log('wrote', chunk); },
                 close() { log('close'); },
             });
             const writer = stream.getWriter(); const writes = [];
             for (const chunk of [1, 2]) {
                 await writer.ready; writes.push(writer.write(chunk));
                 log('room', writer.desiredSize);
             }
             await Promise.all(writes); await writer.close(); await writer.closed;
             await writer.close().catch((error) => log(error.name));
             await writer.write(3).catch((error) => log(error.name));",
            &["start", "room 0", "wrote 1", "room 0", "wrote 2", "close", "TypeError", "TypeError"],
        ),
        (
            "a sink that fails",
            "const writer = new WritableStream({
                 write(chunk) { if (chunk === 2) throw new Error('two'); log('wrote', chunk); },
                 close() { log('close'); }, abort() { log('abort'); },
             }).getWriter();
             const all = [writer.write(1), writer.write(2), writer.write(3), writer.close()];
             const ends = await Promise.allSettled(all);
             log(ends.map(({ status, reason }) => (reason ? reason.message : status)));
             await writer.closed.catch((error) => log('closed', error.message));",
            &["wrote 1", "fulfilled,two,two,two", "closed two"],
        ),
        (
            "a writer that gives up",
            "const writer = new WritableStream({
                 async write(chunk) { await tick(); log('wrote', chunk); },
                 abort(why) { log('abort', why); },
             }).getWriter();
             await writer.ready;
             const first = writer.write(1);
             const second = writer.write(2).catch((why) => log('second', why));
             await writer.abort('enough'); await first; await second;
             await writer.closed.catch((why) => log('closed', why));",
            &["wrote 1", "abort enough", "second enough", "closed enough"],
        ),
    ]);
}

#[test]
fn what_streams_are_made_of_is_checked() {
    for (made, want) in [
        ("new ReadableStream(1)", "TypeError"),
        ("new ReadableStream({ type: 'bytes' })", "TypeError"),
        ("new ReadableStream({ pull: 1 })", "TypeError"),
        ("new ReadableStream({}, { highWaterMark: -1 })", "RangeError"),
        ("new ReadableStream().getReader({ mode: 'byob' })", "TypeError"),
        ("new CountQueuingStrategy()", "TypeError"),
        ("new WritableStream({ type: 'x' })", "RangeError"),
        ("new WritableStream({}, { size: 1 })", "TypeError"),
        ("new streams.ReadableStreamDefaultReader({})", "TypeError"),
        ("new ReadableStream({}, new CountQueuingStrategy({ highWaterMark: 3 }))", "none"),
    ] {
        let body = format!("try {{ {made}; log('none'); }} catch (error) {{ log(error.name); }}");
        assert_eq!(logged(&body), [want], "{made}");
    }
}
