//! One finding of the doctor: a line of its report.

/// How fit that is for measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// As it should be.
    Good,
    /// Figures may suffer, or only with some loads.
    Warn,
    /// Figures will suffer, or runs fail.
    Bad,
}

impl Level {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }

    /// Of a figure that is the better the smaller it is: good up to `good`, bad beyond `warn`.
    pub(crate) fn up_to(value: f64, good: f64, warn: f64) -> Self {
        if value <= good {
            Self::Good
        } else if value <= warn {
            Self::Warn
        } else {
            Self::Bad
        }
    }

    /// Of a figure that is the better the larger it is: good from `good` on, bad below `warn`.
    pub(crate) fn from(value: f64, good: f64, warn: f64) -> Self {
        Self::up_to(-value, -good, -warn)
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// What it belongs to.
    pub group: &'static str,
    /// A stable name, in small letters and underscores.
    pub name: &'static str,
    /// How fit it is.
    pub level: Level,
    /// What was seen.
    pub value: String,
    /// What to do, where it is not good.
    pub advice: Option<String>,
}

impl Finding {
    /// A finding; the advice is for when it is not good.
    pub(crate) fn new(
        group: &'static str,
        name: &'static str,
        level: Level,
        value: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        let advice = (level != Level::Good).then(|| advice.into());
        Self { group, name, level, value: value.into(), advice }
    }

    /// A finding that cannot be anything but good.
    pub(crate) fn good(group: &'static str, name: &'static str, value: impl Into<String>) -> Self {
        Self::new(group, name, Level::Good, value, "")
    }
}
