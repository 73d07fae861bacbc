//! What the numbers stand for by which a source knows its tags and its groups: the source is asked
//! for each once, and records go by numbers from then on.
//!
//! Both are bounded. Beyond that, tags are folded and groups are one, called `others`.

use plimsoll_core::metric::{
    GROUP_DURATION, MetricId, Metrics, Registry, TAG_SETS_MAX, Tags, TagsId,
};
use plimsoll_core::part::Part;

/// Groups beyond these are one.
const GROUPS_MAX: usize = TAG_SETS_MAX - 1;

const OTHERS: &str = "others";

/// The key under which a group's durations have its name.
const GROUP_KEY: &str = "group";

/// A group as records know it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group {
    /// Its number among the parts of the requests.
    pub part: u16,
    /// The tags of its durations.
    pub tags: TagsId,
}

/// The tags and groups that a source has named so far, by its numbers.
#[derive(Debug)]
pub(crate) struct Labels {
    tags: Vec<Option<TagsId>>,
    groups: Vec<Option<Group>>,
    /// The metric of the times that users were in groups, where the source has declared it.
    pub group_duration: Option<MetricId>,
}

impl Labels {
    /// None yet, of a source that has declared these metrics.
    pub(crate) fn new(declared: &Registry) -> Self {
        let group_duration = declared.find(GROUP_DURATION).map(|(metric, _)| metric);
        Self { tags: Vec::new(), groups: Vec::new(), group_duration }
    }

    /// The number that a set of tags has among the metrics. `name` is asked for it the first time.
    #[inline]
    pub(crate) fn tags(
        &mut self,
        number: u32,
        metrics: &mut Metrics,
        name: impl FnOnce(u32) -> Tags,
    ) -> TagsId {
        match self.tags.get(number as usize) {
            Some(Some(known)) => *known,
            _ if number as usize >= TAG_SETS_MAX => TagsId::FOLDED,
            _ => {
                let id = intern(&name(number), metrics);
                put(&mut self.tags, number, id);
                id
            }
        }
    }

    /// A group as records know it. `name` is asked for it the first time.
    #[inline]
    pub(crate) fn group(
        &mut self,
        number: u32,
        parts: &mut Vec<Part>,
        metrics: &mut Metrics,
        name: impl FnOnce(u32) -> String,
    ) -> Group {
        match self.groups.get(number as usize) {
            Some(Some(known)) => *known,
            _ if number as usize >= GROUPS_MAX => group(OTHERS, parts, metrics),
            _ => {
                let group = group(&name(number), parts, metrics);
                put(&mut self.groups, number, group);
                group
            }
        }
    }
}

#[cold]
fn group(name: &str, parts: &mut Vec<Part>, metrics: &mut Metrics) -> Group {
    let part = parts.iter().position(|part| part.name == name).unwrap_or_else(|| {
        parts.push(Part::new(name));
        parts.len() - 1
    });
    let tags = [(GROUP_KEY, name)].into_iter().collect();
    Group { part: part as u16, tags: intern(&tags, metrics) }
}

#[cold]
fn intern(tags: &Tags, metrics: &mut Metrics) -> TagsId {
    metrics.tags(&tags.pairs().collect::<Vec<_>>())
}

fn put<T: Clone>(known: &mut Vec<Option<T>>, number: u32, value: T) {
    let at = number as usize;
    if known.len() <= at {
        known.resize(at + 1, None);
    }
    known[at] = Some(value);
}
