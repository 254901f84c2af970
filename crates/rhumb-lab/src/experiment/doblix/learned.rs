//! What the agent learned of its settings.

use super::{Only, View};
use crate::experiment::figures::Values;

/// With all weight on time.
pub const UNDER_POINTS: View = values(
    "Learned under points, time alone",
    &[
        ("requests", "points"),
        ("cache", "none"),
        ("system", "q-learning:nu=1"),
    ],
);
pub const UNDER_RANGES: View = values(
    "Learned under ranges, time alone",
    &[
        ("requests", "ranges"),
        ("cache", "none"),
        ("system", "q-learning:nu=1"),
    ],
);

/// With all weight on memory.
pub const OF_MEMORY: View = values(
    "Learned under points, memory alone",
    &[
        ("requests", "points"),
        ("cache", "none"),
        ("system", "q-learning:nu=0"),
    ],
);

/// The values of its actions in each of its states.
const fn values(title: &'static str, only: Only) -> View {
    View::Values(Values {
        title,
        only,
        columns: ("action", ACTIONS),
        rows: ("state: model, block", STATES),
        label: "what the agent expects of an action (Q), at most 0",
    })
}

const ACTIONS: &[(&str, &str)] = &[
    ("form_q_stay", "stay"),
    ("form_q_next", "next model"),
    ("form_q_previous", "previous model"),
    ("form_q_larger", "larger blocks"),
    ("form_q_smaller", "smaller blocks"),
];

/// By the names of forms in figures.
const STATES: &[(&str, &str)] = &[
    ("pla:error=32 dual(4096)", "PLA 32, 4 KiB"),
    ("pla:error=32 dual(8192)", "PLA 32, 8 KiB"),
    ("pla:error=32 dual(16384)", "PLA 32, 16 KiB"),
    ("pla:error=32 dual(32768)", "PLA 32, 32 KiB"),
    ("pla:error=64 dual(4096)", "PLA 64, 4 KiB"),
    ("pla:error=64 dual(8192)", "PLA 64, 8 KiB"),
    ("pla:error=64 dual(16384)", "PLA 64, 16 KiB"),
    ("pla:error=64 dual(32768)", "PLA 64, 32 KiB"),
    ("pla:error=128 dual(4096)", "PLA 128, 4 KiB"),
    ("pla:error=128 dual(8192)", "PLA 128, 8 KiB"),
    ("pla:error=128 dual(16384)", "PLA 128, 16 KiB"),
    ("pla:error=128 dual(32768)", "PLA 128, 32 KiB"),
    ("pla:error=256 dual(4096)", "PLA 256, 4 KiB"),
    ("pla:error=256 dual(8192)", "PLA 256, 8 KiB"),
    ("pla:error=256 dual(16384)", "PLA 256, 16 KiB"),
    ("pla:error=256 dual(32768)", "PLA 256, 32 KiB"),
    ("pra dual(4096)", "PRA, 4 KiB"),
    ("pra dual(8192)", "PRA, 8 KiB"),
    ("pra dual(16384)", "PRA, 16 KiB"),
    ("pra dual(32768)", "PRA, 32 KiB"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::doblix::forms::fixed;
    use crate::experiment::{Scale, System};

    #[test]
    fn states_are_the_published_settings() {
        let amounts = Scale::Small.amounts();
        let forms = fixed(&amounts).filter_map(|arm| {
            let planned = arm.planned(&amounts, ("points", ["read=100"; 2]), false);
            let System::Rhumb(settings) = planned.unwrap().build.unwrap().system else {
                return None;
            };
            let form = format!("{} {}", settings.index, settings.table.partition);
            form.contains("dual").then_some(form)
        });
        let forms: Vec<String> = forms.collect();
        let states: Vec<&str> = STATES.iter().map(|(form, _)| *form).collect();
        assert_eq!(forms, states);
    }
}
