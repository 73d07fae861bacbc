//! All samples of a run, as a summary needs them: each metric as a whole, its submetrics, and what
//! belongs to each scenario and group.
//!
//! What a sample adds to follows from its metric and its tags alone, and is worked out once: a
//! [`Route`]. Adding to a route allocates nothing but what a growing trend does. Several books, one
//! for each worker, are merged in the end.
//!
//! Everything is bounded. A sample with too much detail still counts in its metric, in its
//! submetrics, and in [`Book::without_detail`].

use std::collections::HashMap;

use super::registry::{MetricId, Registry};
use super::sink::Sink;
use super::tags::TagSet;

/// The most pairs of a metric and a set of tags whose routes are kept.
pub const ROUTES_MAX: usize = 100_000;

/// The most blocks: scenarios, and groups in each.
pub const BLOCKS_MAX: usize = 2_000;

/// The most checks: names in each block.
pub const CHECKS_MAX: usize = 20_000;

/// The most sinks: metrics in each block.
const SINKS_MAX: usize = 50_000;

/// What stands between the names of nested groups, and before the first.
pub const GROUP_SEPARATOR: &str = "::";

/// The path of a group within another, whose path is empty at the root; `None` for a name that has
/// the separator in it, which neither groups nor checks may have.
#[must_use]
pub fn group_path(above: &str, name: &str) -> Option<String> {
    (!name.contains(GROUP_SEPARATOR)).then(|| format!("{above}{GROUP_SEPARATOR}{name}"))
}

/// A kept route of samples into their sinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route(u32);

/// Where samples of one metric with one set of tags count.
#[derive(Debug, Clone, Default)]
struct Targets {
    sinks: Box<[u32]>,
    checks: Box<[u32]>,
    is_detailed: bool,
}

/// How often a check passed and failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// How often it passed.
    pub passes: u64,
    /// How often it failed.
    pub fails: u64,
}

/// What belongs to the whole, to a scenario or to a group.
#[derive(Debug, Clone, Default)]
pub(in crate::k6) struct Block {
    /// Sinks by metric, in the order in which samples came.
    pub(in crate::k6) sinks: Vec<(MetricId, u32)>,
    pub(in crate::k6) checks: Vec<u32>,
    /// Groups within it, by name, in the order in which samples came.
    pub(in crate::k6) groups: Vec<(String, u32)>,
}

/// The samples of a run, or of a worker.
#[derive(Debug, Clone)]
pub struct Book {
    registry: Registry,
    /// Whether scenarios and groups have blocks of their own, as a full summary shows them.
    is_full: bool,
    sinks: Vec<Sink>,
    checks: Vec<Check>,
    /// The whole is [`WHOLE`], and the tree of groups with their checks alone is [`TREE`].
    blocks: Vec<Block>,
    scenarios: Vec<(String, u32)>,
    routes: HashMap<(MetricId, TagSet), Route>,
    targets: Vec<Targets>,
    without_detail: u64,
}

/// The block of the whole run; its groups are those of the default scenario.
pub(in crate::k6) const WHOLE: u32 = 0;

/// The root of all groups, whatever the scenario.
pub(in crate::k6) const TREE: u32 = 1;

impl Book {
    /// Without samples. A full summary shows scenarios and groups, which cost more sinks.
    #[must_use]
    pub fn new(registry: Registry, is_full: bool) -> Self {
        Self {
            registry,
            is_full,
            sinks: Vec::new(),
            checks: Vec::new(),
            blocks: vec![Block::default(); 2],
            scenarios: Vec::new(),
            routes: HashMap::new(),
            targets: Vec::new(),
            without_detail: 0,
        }
    }

    /// The metrics.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// How many samples count in their metrics only, because there were too many routes, blocks or
    /// checks.
    #[must_use]
    pub fn without_detail(&self) -> u64 {
        self.without_detail
    }

    /// The route of samples with these tags; `None` once there are [`ROUTES_MAX`].
    pub fn route(&mut self, metric: MetricId, tags: &TagSet) -> Option<Route> {
        let key = (metric, tags.clone());
        if let Some(known) = self.routes.get(&key) {
            return Some(*known);
        }
        if self.targets.len() >= ROUTES_MAX {
            return None;
        }
        let targets = self.targets_of(metric, tags, true);
        let route = Route(self.targets.len() as u32);
        self.targets.push(targets);
        self.routes.insert(key, route);
        Some(route)
    }

    /// Counts a sample, unless it is NaN.
    pub fn add(&mut self, route: Route, value: f64) {
        self.put(route, value, Sink::add);
    }

    /// Counts a sample that is a [lower bound](Sink::add_bound).
    pub fn add_bound(&mut self, route: Route, value: f64) {
        self.put(route, value, Sink::add_bound);
    }

    fn put(&mut self, route: Route, value: f64, add: fn(&mut Sink, f64)) {
        if value.is_nan() {
            return;
        }
        let targets = &self.targets[route.0 as usize];
        self.without_detail += u64::from(!targets.is_detailed);
        count(&mut self.sinks, &mut self.checks, targets, value, add);
    }

    /// Counts a sample by its tags, whether or not there is a route.
    pub fn record(&mut self, metric: MetricId, tags: &TagSet, value: f64) {
        self.put_tagged(metric, tags, value, Sink::add);
    }

    /// The same of a sample that is a [lower bound](Sink::add_bound).
    pub fn record_bound(&mut self, metric: MetricId, tags: &TagSet, value: f64) {
        self.put_tagged(metric, tags, value, Sink::add_bound);
    }

    fn put_tagged(&mut self, metric: MetricId, tags: &TagSet, value: f64, add: fn(&mut Sink, f64)) {
        if let Some(route) = self.route(metric, tags) {
            self.put(route, value, add);
        } else if !value.is_nan() {
            let targets = self.targets_of(metric, tags, false);
            self.without_detail += 1;
            count(&mut self.sinks, &mut self.checks, &targets, value, add);
        }
    }

    /// The values of a metric; `None` if it has none.
    #[must_use]
    pub fn sink(&self, metric: MetricId) -> Option<&Sink> {
        let sinks = &self.block(WHOLE).sinks;
        let (_, sink) = sinks.iter().find(|(id, _)| *id == metric)?;
        self.sinks.get(*sink as usize)
    }

    pub(in crate::k6) fn block(&self, block: u32) -> &Block {
        &self.blocks[block as usize]
    }

    pub(in crate::k6) fn check(&self, check: u32) -> &Check {
        &self.checks[check as usize]
    }

    pub(in crate::k6) fn sink_at(&self, sink: u32) -> &Sink {
        &self.sinks[sink as usize]
    }

    /// Scenarios and their blocks, in the order in which samples came.
    pub(in crate::k6) fn scenarios(&self) -> &[(String, u32)] {
        &self.scenarios
    }

    fn targets_of(&mut self, metric: MetricId, tags: &TagSet, has_detail: bool) -> Targets {
        let mut found = Found::default();
        let parts = self.registry.get(metric).parts.clone();
        let selected = parts.into_iter().filter(|part| {
            let part = self.registry.get(*part).part.as_ref();
            part.is_some_and(|part| tags.contains(&part.tags))
        });
        let selected: Vec<MetricId> = selected.collect();
        for id in std::iter::once(metric).chain(selected) {
            // There are sinks for the whole of each metric, however many others there are.
            found.sinks.push(self.sink_of(WHOLE, id, usize::MAX).unwrap_or(0));
        }
        found.is_detailed = has_detail;
        if has_detail {
            self.add_detail(metric, tags, &mut found);
        }
        Targets {
            sinks: found.sinks.into(),
            checks: found.checks.into(),
            is_detailed: found.is_detailed,
        }
    }

    /// Adds what a sample counts in beside the whole of its metric.
    fn add_detail(&mut self, metric: MetricId, tags: &TagSet, found: &mut Found) {
        let group = tags.get("group").unwrap_or("");
        let scenario = tags.get("scenario");
        let is_checks = self.registry.get(metric).name == "checks";
        let check = tags.get("check").filter(|_| is_checks);
        let is_life_cycle = ["::setup", "::teardown"].contains(&group);
        if !is_life_cycle || check.is_some() {
            let node = self.group(TREE, group);
            self.check_of(node, check, found);
        }
        self.check_of(Some(WHOLE), check, found);
        if !self.is_full {
            return;
        }
        let own = scenario.filter(|name| *name != "default");
        let root = match own {
            Some(name) => self.scenario(name),
            None => Some(WHOLE),
        };
        if let Some(scenario) = own.and(root) {
            self.count_in(scenario, metric, check, found);
        }
        if !group.is_empty() && !is_life_cycle {
            let block = root.and_then(|root| self.group(root, group));
            match block {
                Some(block) => self.count_in(block, metric, check, found),
                None => found.is_detailed = false,
            }
        }
        found.is_detailed &= root.is_some();
    }

    fn count_in(&mut self, block: u32, metric: MetricId, check: Option<&str>, found: &mut Found) {
        match self.sink_of(block, metric, SINKS_MAX) {
            Some(sink) => found.sinks.push(sink),
            None => found.is_detailed = false,
        }
        self.check_of(Some(block), check, found);
    }

    fn sink_of(&mut self, block: u32, metric: MetricId, sinks_max: usize) -> Option<u32> {
        let known = self.block(block).sinks.iter().find(|(id, _)| *id == metric);
        if let Some((_, sink)) = known {
            return Some(*sink);
        }
        if self.sinks.len() >= sinks_max {
            return None;
        }
        let sink = self.sinks.len() as u32;
        self.sinks.push(Sink::new(self.registry.get(metric).kind));
        self.blocks[block as usize].sinks.push((metric, sink));
        Some(sink)
    }

    /// Finds a check in a block, if the sample is one of a check.
    fn check_of(&mut self, block: Option<u32>, check: Option<&str>, found: &mut Found) {
        let Some(name) = check else { return };
        let Some(block) = block else {
            found.is_detailed = false;
            return;
        };
        let is_it = |id: &&u32| self.checks[**id as usize].name == name;
        if let Some(id) = self.block(block).checks.iter().find(is_it) {
            found.checks.push(*id);
        } else if self.checks.len() < CHECKS_MAX {
            let id = self.checks.len() as u32;
            self.checks.push(Check { name: name.to_owned(), passes: 0, fails: 0 });
            self.blocks[block as usize].checks.push(id);
            found.checks.push(id);
        } else {
            found.is_detailed = false;
        }
    }

    fn scenario(&mut self, name: &str) -> Option<u32> {
        if let Some((_, block)) = self.scenarios.iter().find(|(known, _)| known == name) {
            return Some(*block);
        }
        let block = self.new_block()?;
        self.scenarios.push((name.to_owned(), block));
        Some(block)
    }

    /// The block of a group below another block; its path begins with the separator.
    fn group(&mut self, root: u32, path: &str) -> Option<u32> {
        let mut at = root;
        for name in path.split(GROUP_SEPARATOR).skip(1) {
            let groups = &self.block(at).groups;
            at = match groups.iter().find(|(known, _)| known == name) {
                Some((_, block)) => *block,
                None => {
                    let block = self.new_block()?;
                    self.blocks[at as usize].groups.push((name.to_owned(), block));
                    block
                }
            };
        }
        Some(at)
    }

    fn new_block(&mut self) -> Option<u32> {
        if self.blocks.len() >= BLOCKS_MAX {
            return None;
        }
        self.blocks.push(Block::default());
        Some(self.blocks.len() as u32 - 1)
    }

    /// Hands over all samples so far, and goes on without them. Routes stay what they are.
    #[must_use]
    pub fn take(&mut self) -> Self {
        let empty = |sink: &Sink| Sink::new(sink.kind());
        let sinks = self.sinks.iter().map(empty).collect();
        let unseen = |check: &Check| Check { passes: 0, fails: 0, ..check.clone() };
        let checks = self.checks.iter().map(unseen).collect();
        Self {
            registry: self.registry.clone(),
            is_full: self.is_full,
            sinks: std::mem::replace(&mut self.sinks, sinks),
            checks: std::mem::replace(&mut self.checks, checks),
            blocks: self.blocks.clone(),
            scenarios: self.scenarios.clone(),
            routes: HashMap::new(),
            targets: Vec::new(),
            without_detail: std::mem::take(&mut self.without_detail),
        }
    }

    /// Adds the samples of a book with the same registry that were recorded after these.
    pub fn merge(&mut self, later: &Self) {
        self.without_detail += later.without_detail;
        self.merge_block(WHOLE, later, WHOLE, usize::MAX);
        self.merge_block(TREE, later, TREE, SINKS_MAX);
        for (name, theirs) in &later.scenarios {
            if let Some(mine) = self.scenario(name) {
                self.merge_block(mine, later, *theirs, SINKS_MAX);
            }
        }
    }

    fn merge_block(&mut self, mine: u32, later: &Self, theirs: u32, sinks_max: usize) {
        let block = later.block(theirs);
        for (metric, sink) in &block.sinks {
            if let Some(own) = self.sink_of(mine, *metric, sinks_max) {
                self.sinks[own as usize].merge(later.sink_at(*sink));
            }
        }
        for check in &block.checks {
            let Check { name, passes, fails } = later.check(*check);
            let mut found = Found::default();
            self.check_of(Some(mine), Some(name), &mut found);
            if let Some(own) = found.checks.first() {
                self.checks[*own as usize].passes += passes;
                self.checks[*own as usize].fails += fails;
            }
        }
        for (name, group) in &block.groups {
            if let Some(own) = self.group(mine, &format!("{GROUP_SEPARATOR}{name}")) {
                self.merge_block(own, later, *group, SINKS_MAX);
            }
        }
    }
}

#[derive(Default)]
struct Found {
    sinks: Vec<u32>,
    checks: Vec<u32>,
    is_detailed: bool,
}

fn count(
    sinks: &mut [Sink],
    checks: &mut [Check],
    targets: &Targets,
    value: f64,
    add: fn(&mut Sink, f64),
) {
    for sink in &targets.sinks {
        add(&mut sinks[*sink as usize], value);
    }
    for check in &targets.checks {
        let check = &mut checks[*check as usize];
        let counter = if value == 0.0 { &mut check.fails } else { &mut check.passes };
        *counter += 1;
    }
}
