// What scripts import from jslib.k6.io/k6-utils: random values, text between two others, a check()
// that awaits, and tags of the stage that a scenario is in.
//
// Written from k6's documentation. Random values follow from the seed of the run, as those of
// Math.random do.

import { check as checkNow } from 'k6';
import exec from 'k6/execution';

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

const UNITS_MS = { d: 86400000, h: 3600000, m: 60000, s: 1000, ms: 1, us: 1e-3, ns: 1e-6 };

// A version 4 UUID; one of the global crypto if the argument is set.
export function uuidv4(secure) {
  if (secure) return crypto.randomUUID();
  const [a, b, c, d] = [hex(), hex(), hex(), hex()];
  const variant = '89ab'[Math.floor(Math.random() * 4)];
  return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-${variant}${c.slice(0, 3)}-${c.slice(4)}${d}`;
}

// 8 random digits.
function hex() {
  return (Math.floor(Math.random() * 0x100000000) + 0x100000000).toString(16).slice(1);
}

// Both ends are included.
export function randomIntBetween(min, max) {
  return Math.floor(Math.random() * (max - min + 1) + min);
}

export function randomItem(items) {
  return items[Math.floor(Math.random() * items.length)];
}

export function randomString(length, charset = LETTERS) {
  let text = '';
  for (let left = length; left > 0; left--) {
    text += charset[Math.floor(Math.random() * charset.length)];
  }
  return text;
}

// The text between the first `left` and the `right` after it, or all such texts. What is not there
// is an empty string, or an empty array.
export function findBetween(content, left, right, repeat = false) {
  const found = [];
  for (let from = 0; ;) {
    const at = content.indexOf(left, from);
    const start = at + left.length;
    const end = at < 0 ? -1 : content.indexOf(right, start);
    if (end < 0) break;
    found.push(content.substring(start, end));
    if (!repeat) break;
    // Two empty delimiters would find the same place again.
    from = Math.max(end + right.length, from + 1);
    if (from > content.length) break;
  }
  return repeat ? found : found[0] || '';
}

// Stages along a bell curve that is cut at two and a half standard deviations, the last of which
// ends at 0.
export function normalDistributionStages(maxVus, durationSeconds, numberOfStages = 10) {
  const stages = [];
  const seconds = Math.ceil(durationSeconds / numberOfStages);
  for (let stage = 1; stage <= numberOfStages; stage++) {
    const deviation = -2.5 + (5 * stage) / (numberOfStages + 1);
    const target = Math.max(1, Math.round(maxVus * Math.exp((-deviation * deviation) / 2)));
    stages.push({ duration: `${seconds}s`, target });
  }
  if (stages.length > 0) stages[stages.length - 1].target = 0;
  return stages;
}

// Milliseconds of a duration such as 1d2h3m4.5s. A bare number is milliseconds.
export function parseDuration(text) {
  if (typeof text !== 'string' || text === '') {
    throw new Error('parseDuration() needs a text such as 1m30s');
  }
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  const parts = text.match(/\d+(?:\.\d+)?(?:ms|us|ns|[dhms])/g);
  if (parts === null || parts.join('') !== text) {
    throw new Error(`'${text}' is not a duration such as 1m30s`);
  }
  return parts.reduce((sum, part) => {
    const unit = part.replace(/[\d.]/g, '');
    return sum + parseFloat(part) * UNITS_MS[unit];
  }, 0);
}

// As check() of k6; where the value or a condition is a promise, a promise of the result.
export function check(value, conditions, tags) {
  if (value instanceof Promise) return value.then((known) => check(known, conditions, tags));
  const outcomes = {};
  const pending = [];
  for (const [name, condition] of Object.entries(conditions)) {
    let outcome = condition;
    if (typeof condition === 'function') {
      try {
        outcome = condition(value);
      } catch (error) {
        // check() of k6 records the failure, and raises it again.
        outcomes[name] = () => {
          throw error;
        };
        break;
      }
    }
    outcomes[name] = outcome;
    if (outcome instanceof Promise) {
      pending.push(
        outcome.then((known) => {
          outcomes[name] = known;
        }),
      );
    }
  }
  if (pending.length === 0) return checkNow(value, outcomes, tags);
  return Promise.all(pending).then(() => checkNow(value, outcomes, tags));
}

function currentScenario() {
  const scenario = exec.test.options.scenarios && exec.test.options.scenarios[exec.scenario.name];
  if (!scenario || !Array.isArray(scenario.stages)) {
    throw new Error('only the executors ramping-vus and ramping-arrival-rate have stages');
  }
  return scenario;
}

// The index of the stage that the scenario is in; of the last one when all are over.
export function getCurrentStageIndex() {
  const { stages } = currentScenario();
  let left = Date.now() - exec.scenario.startTime;
  for (let index = 0; index < stages.length; index++) {
    left -= parseDuration(String(stages[index].duration));
    if (left < 0) return index;
  }
  return stages.length - 1;
}

export function tagWithCurrentStageIndex() {
  exec.vu.metrics.tags.stage = String(getCurrentStageIndex());
}

// Tags with ramp-up, steady or ramp-down: whether the stage leads above where it began.
export function tagWithCurrentStageProfile() {
  const { stages, startVUs, startRate } = currentScenario();
  const index = getCurrentStageIndex();
  const start = startRate !== undefined ? startRate : startVUs;
  const before = index > 0 ? stages[index - 1].target : start || 0;
  const { target } = stages[index];
  const sloping = target > before ? 'ramp-up' : 'ramp-down';
  exec.vu.metrics.tags.stage_profile = target === before ? 'steady' : sloping;
}
