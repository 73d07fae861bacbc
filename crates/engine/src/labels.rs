//! What the numbers stand for by which a source knows its tags and its groups: the source is asked
//! for each once, and records go by numbers from then on.
//!
//! Names and values are shown as [`Masks`] say. Both are bounded. Beyond that, tags are folded and
//! groups are one, called `others`.

use plimsoll_core::metric::{
    GROUP_DURATION, MetricId, Metrics, Registry, TAG_SETS_MAX, Tags, TagsId,
};
use plimsoll_core::part::Part;
use plimsoll_core::secret::Masks;

use crate::told_apart::ToldApart;

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
    /// All groups beyond the limit, once there is one.
    others: Option<Group>,
    /// What of names and of values is not shown.
    masks: Masks,
    /// What is told apart, where all of a run share that.
    told_apart: Option<ToldApart>,
    /// The metric of the times that users were in groups, where the source has declared it.
    pub group_duration: Option<MetricId>,
}

impl Labels {
    /// None yet, of a source that has declared these metrics.
    pub(crate) fn new(declared: &Registry, masks: &Masks) -> Self {
        let group_duration = declared.find(GROUP_DURATION).map(|(metric, _)| metric);
        Self {
            tags: Vec::new(),
            groups: Vec::new(),
            others: None,
            masks: masks.clone(),
            told_apart: None,
            group_duration,
        }
    }

    /// The same, that share with others what is told apart.
    pub(crate) fn sharing(self, told_apart: &ToldApart) -> Self {
        Self { told_apart: Some(told_apart.clone()), ..self }
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
                let tags = name(number);
                let shown = tags.pairs().map(|(tag, value)| (tag, self.masks.tag(tag, value)));
                let shown: Tags = shown.collect();
                let names = self.told_apart.as_ref().map(|all| &all.tags);
                let is_told_apart = names.is_none_or(|names| names.admits(&format!("{shown:?}")));
                let id = if is_told_apart { intern(&shown, metrics) } else { TagsId::FOLDED };
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
            _ if number as usize >= GROUPS_MAX => {
                *self.others.get_or_insert_with(|| group(OTHERS, parts, metrics))
            }
            _ => {
                let name = self.masks.label(&name(number));
                let names = self.told_apart.as_ref().map(|all| &all.groups);
                let is_told_apart = names.is_none_or(|names| names.admits(&name));
                let group = match is_told_apart {
                    true => group(&name, parts, metrics),
                    false => *self.others.get_or_insert_with(|| group(OTHERS, parts, metrics)),
                };
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn each_number_is_asked_for_once_and_what_is_beyond_the_limit_is_one() {
        let registry = Arc::new(Registry::default());
        let (mut metrics, mut parts) = (Metrics::new(&registry), Vec::new());
        let mut labels = Labels::new(&registry, &Masks::default());
        let mut asked = Vec::new();
        let most = GROUPS_MAX as u32;
        for number in [3, 0, 3, most, most + 7, 0] {
            let group = labels.group(number, &mut parts, &mut metrics, |number| {
                asked.push(number);
                format!("group {number}")
            });
            let want = if number < most { format!("group {number}") } else { OTHERS.to_owned() };
            assert_eq!(parts[usize::from(group.part)].name, want);
        }
        assert_eq!((asked, parts.len()), (vec![3, 0], 3));
        let page = |number: u32| [("page", number.to_string())].into_iter().collect();
        let known = labels.tags(5, &mut metrics, page);
        let again = labels.tags(5, &mut metrics, |_| panic!("it is known"));
        let beyond = labels.tags(TAG_SETS_MAX as u32, &mut metrics, |_| panic!("it is folded"));
        assert_eq!((known == again, beyond), (true, TagsId::FOLDED));
        assert_ne!(known, TagsId::FOLDED);
    }
}
