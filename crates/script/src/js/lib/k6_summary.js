// What scripts import from jslib.k6.io/k6-summary: the end-of-test summary as text, in the layout
// that k6 had before its version 1, and the thresholds as JUnit's XML.
//
// Written from k6's documentation and from summaries that k6 has printed. What is absent on
// purpose: colours that follow the terminal; they are on unless the script says no.

const PASSED = '\u2713';
const FAILED = '\u2717';
const GROUP = '\u2588';
const DETAIL = '\u21b3';
const DASH = '\u2014';
const MICRO = '\u00b5';

const CODES = { bold: 1, faint: 2, red: 31, green: 32, cyan: 36 };

function painter(enabled) {
  return (text, ...names) => {
    if (!enabled) return text;
    return `\x1b[${names.map((name) => CODES[name]).join(';')}m${text}\x1b[0m`;
  };
}

// A number cut, not rounded, to some digits, and without zeros at its end.
function cut(value, digits) {
  const scale = 10 ** digits;
  return String(Math.trunc(value * scale) / scale);
}

function humanizeBytes(bytes) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB', 'ZB', 'YB'];
  if (bytes < 10) return `${bytes} B`;
  const power = Math.min(Math.floor(Math.log(bytes) / Math.log(1000)), units.length - 1);
  const value = Math.floor((bytes / 1000 ** power) * 10 + 0.5) / 10;
  return `${value.toFixed(value < 10 ? 1 : 0)} ${units[power]}`;
}

function humanizeDuration(ms, unit) {
  const units = { s: 1e-3, ms: 1, us: 1e3 };
  if (unit && units[unit]) {
    return (ms * units[unit]).toFixed(2) + (unit === 'us' ? `${MICRO}s` : unit);
  }
  if (ms === 0) return '0s';
  if (ms < 0.001) return `${Math.trunc(ms * 1e6)}ns`;
  if (ms < 1) return `${cut(ms * 1e3, 2)}${MICRO}s`;
  if (ms < 1000) return `${cut(ms, 2)}ms`;
  if (ms < 60000) return `${cut(ms / 1e3, 2)}s`;
  const seconds = Math.trunc(ms / 1e3);
  const minutes = Math.floor(seconds / 60);
  const rest = `${minutes % 60}m${seconds % 60}s`;
  return minutes < 60 ? rest : `${Math.floor(minutes / 60)}h${rest}`;
}

// A value as people read it, by what its metric contains.
export function humanizeValue(value, metric, timeUnit) {
  if (metric.type === 'rate') return `${(Math.trunc(value * 100 * 100) / 100).toFixed(2)}%`;
  if (metric.contains === 'data') return humanizeBytes(value);
  if (metric.contains === 'time') return humanizeDuration(value, timeUnit);
  return String(Number(value.toFixed(6)));
}

// The value of a metric that is not a trend, and what is printed beside it.
function valuesOf(metric, timeUnit) {
  const { values } = metric;
  const shown = (value) => humanizeValue(value, metric, timeUnit);
  if (metric.type === 'counter') return [shown(values.count), `${shown(values.rate)}/s`];
  if (metric.type === 'gauge') {
    return [shown(values.value), `min=${shown(values.min)}`, `max=${shown(values.max)}`];
  }
  return [shown(values.rate), `${PASSED} ${values.passes}`, `${FAILED} ${values.fails}`];
}

// Parents by name, each followed by its submetrics.
function sortedNames(metrics) {
  const parent = (name) => name.split('{', 1)[0];
  const compare = (a, b) => (a < b ? -1 : Number(a > b));
  return Object.keys(metrics).sort((a, b) => compare(parent(a), parent(b)) || compare(a, b));
}

function displayName(name, metrics) {
  const at = name.indexOf('{');
  if (at < 0 || !metrics[name.slice(0, at)]) return name;
  return `{ ${name.slice(at + 1, -1)} }`;
}

const widest = (texts) => texts.reduce((most, text) => Math.max(most, text.length), 0);

function checkLines(check, indent, paint) {
  if (check.fails === 0) return [paint(`${indent}${PASSED} ${check.name}`, 'green')];
  const percent = Math.floor((100 * check.passes) / (check.passes + check.fails));
  const counts = `${PASSED} ${check.passes} / ${FAILED} ${check.fails}`;
  const detail = `${DETAIL}  ${percent}% ${DASH} ${counts}`;
  return [paint(`${indent}${FAILED} ${check.name}\n${indent} ${detail}`, 'red')];
}

const listed = (list) => (Array.isArray(list) ? list : Object.values(list || {}));

function groupLines(group, indent, paint) {
  const lines = [];
  let inner = indent;
  if (group.name !== '') {
    lines.push(`${indent}${GROUP} ${group.name}`, '');
    inner = `${indent}  `;
  }
  const checks = listed(group.checks).flatMap((check) => checkLines(check, inner, paint));
  lines.push(...checks);
  if (checks.length > 0) lines.push('');
  for (const child of listed(group.groups)) lines.push(...groupLines(child, inner, paint));
  return lines;
}

// A line for each metric, in columns.
function metricLines(data, indent, paint, timeUnit) {
  const { metrics } = data;
  const stats = data.options.summaryTrendStats || ['avg', 'min', 'med', 'max', 'p(90)', 'p(95)'];
  const names = sortedNames(metrics);
  const isTrend = (name) => metrics[name].type === 'trend';
  const label = (name) => {
    const shown = displayName(name, metrics);
    return shown === name ? shown : `  ${shown}`;
  };
  const plain = new Map(
    names.filter((name) => !isTrend(name)).map((name) => [name, valuesOf(metrics[name], timeUnit)]),
  );
  const trends = new Map(
    names.filter(isTrend).map((name) => {
      const { values } = metrics[name];
      const shown = (stat) => {
        if (stat === 'count') return String(values[stat]);
        return humanizeValue(values[stat], metrics[name], timeUnit);
      };
      return [name, stats.map(shown)];
    }),
  );
  const widths = (rows, count) =>
    Array.from({ length: count }, (_, column) =>
      widest([...rows.values()].map((row) => row[column] || '')),
    );
  const [trendWidths, plainWidths] = [widths(trends, stats.length), widths(plain, 3)];
  const nameWidth = widest(names.map(label));
  const painted = (text, width, ...colours) =>
    paint(text, ...colours) + ' '.repeat(Math.max(width - text.length, 0));
  return names.map((name) => {
    const columns = isTrend(name)
      ? trends
          .get(name)
          .map(
            (text, column) => `${stats[column]}=${painted(text, trendWidths[column], 'cyan')}`,
          )
      : plain.get(name).map((text, column) => {
          if (column === 0) return painted(text, plainWidths[0], 'cyan');
          // What a counter has beside its value stands alone.
          const width = plain.get(name).length > 2 ? plainWidths[column] : 0;
          return painted(text, width, 'cyan', 'faint');
        });
    const dots = '.'.repeat(nameWidth - label(name).length + 3);
    const shown = displayName(name, metrics);
    const title = `${shown}${paint(`${dots}:`, 'faint')}`;
    // The mark of a part stands before its name, and is as far in.
    const inset = ' '.repeat(label(name).length - shown.length);
    return `${indent}${inset}${mark(metrics[name], paint)} ${title} ${columns.join(' ')}`;
  });
}

function mark(metric, paint) {
  const thresholds = Object.values(metric.thresholds || {});
  if (thresholds.length === 0) return ' ';
  return thresholds.every(({ ok }) => ok) ? paint(PASSED, 'green') : paint(FAILED, 'red');
}

// The summary of what handleSummary() was called with. Options: `indent`, `enableColors`.
export function textSummary(data, options = {}) {
  const { indent = ' ', enableColors = true } = options;
  const paint = painter(enableColors);
  const { summaryTimeUnit } = data.options || {};
  const timeUnit = options.summaryTimeUnit || summaryTimeUnit;
  const trendStats = options.summaryTrendStats || (data.options || {}).summaryTrendStats;
  const shown = { ...data, options: { summaryTrendStats: trendStats } };
  const groups = groupLines({ name: '', ...data.root_group }, `${indent}    `, paint);
  return [...groups, ...metricLines(shown, `${indent}  `, paint, timeUnit)].join('\n');
}

function escapeXml(text) {
  const escapes = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return String(text).replace(/[&<>"']/g, (letter) => escapes[letter]);
}

// A test case for each threshold. Options: `name` of the suite, `classname` of its cases.
export function jUnit(data, options = {}) {
  const name = escapeXml(options.name || 'k6 thresholds');
  const classname = options.classname ? ` classname="${escapeXml(options.classname)}"` : '';
  const cases = [];
  let failures = 0;
  for (const [metric, { thresholds }] of Object.entries(data.metrics)) {
    for (const [threshold, { ok }] of Object.entries(thresholds || {})) {
      const head = `<testcase name="${escapeXml(`${metric} - ${threshold}`)}"${classname}`;
      cases.push(ok ? `${head} />` : `${head}><failure message="failed" /></testcase>`);
      if (!ok) failures += 1;
    }
  }
  const counts = `tests="${cases.length}" failures="${failures}"`;
  return [
    '<?xml version="1.0"?>',
    `<testsuites ${counts}>`,
    `<testsuite name="${name}" ${counts}>${cases.join('\n')}`,
    '</testsuite>',
    '</testsuites>',
  ].join('\n');
}
