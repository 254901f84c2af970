//! What tunes the form of tables, and fixed forms.

use super::arms::{is_brief, settings};
use super::{Amounts, Build, Data, Fill, Planned, Result, Work};
use crate::experiment::Episodes;

/// What tunes, as the option of the store takes it.
const TUNERS: [&str; 4] = [
    "cost:nu=1",
    "cost:nu=0",
    "q-learning:nu=1",
    "q-learning:nu=0",
];

/// The models and the sizes of blocks of the published settings.
const MODELS: [&str; 5] = ["pla-32", "pla-64", "pla-128", "pla-256", "pra"];
const BLOCKS: [(&str, u32); 4] = [
    ("4K", 4 << 10),
    ("8K", 8 << 10),
    ("16K", 16 << 10),
    ("32K", 32 << 10),
];

/// The settings that the smallest scale has.
const AT_QUICK: [&str; 4] = ["pla-128/4K", "pra/16K", "pla-256/32K", "pra/4K"];
/// The systems that are measured with a cache too.
const CACHED: [&str; 5] = ["cost:nu=1", "predicted", "fp", "pla-128/4K", "pra/16K"];

/// A system: its name, its model and bytes of blocks if it has one of the published settings, and its text.
pub struct Arm {
    pub name: String,
    state: Option<(&'static str, &'static str)>,
    text: String,
}

impl Arm {
    fn new(name: &str, text: &str) -> Arm {
        Arm {
            name: name.to_string(),
            state: None,
            text: format!("rhumb {text}"),
        }
    }

    /// What tunes, beginning with rhumb's default form.
    fn tuned(text: &str) -> Arm {
        Arm::new(text, &format!("index=plr partition=predicted tuner={text}"))
    }

    /// A published setting.
    fn of_state(model: &'static str, (block, bytes): (&'static str, u32)) -> Arm {
        let index = model.replace('-', ":error=");
        let text = format!("index={index} partition=dual({bytes})");
        Arm {
            state: Some((model, block)),
            ..Arm::new(&format!("{model}/{block}"), &text)
        }
    }

    /// Whether it is measured with a cache too.
    pub fn has_cached(&self) -> bool {
        self.is_in(&CACHED)
    }

    fn is_in(&self, names: &[&str]) -> bool {
        names.contains(&self.name.as_str())
    }

    /// The cell under some requests, with a cache for all of the store or without one.
    ///
    /// # Errors
    /// If its text is invalid.
    pub fn planned(
        &self,
        amounts: &Amounts,
        (requests, mixes): (&str, [&'static str; 2]),
        is_cached: bool,
    ) -> Result<Planned> {
        let table = amounts.episodes.table_bytes;
        let data = Data::new("books-like", records(&amounts.episodes)).with_values(64);
        let (name, cache) = match is_cached {
            true => ("all", 200 * data.records),
            false => ("none", 0),
        };
        // Of settings with one name the last one counts.
        let of_protocol = settings(&self.text, table, 4 * table);
        let buffer = table / 4;
        let text = format!(
            "{} {of_protocol} write_buffer={buffer} cache={cache}",
            self.text
        );
        let (model, block) = self.state.unwrap_or(("none", "none"));
        Ok(Planned {
            axes: vec![
                ("system", self.name.clone()),
                ("model", model.to_string()),
                ("block", block.to_string()),
                ("requests", requests.to_string()),
                ("cache", name.to_string()),
            ],
            data,
            build: Some(Build {
                system: amounts.system(&text)?,
                fill: Fill::Tenths(6),
            }),
            work: Work::Tuning(mixes),
        })
    }
}

/// So many that a tenth of the operations of all episodes inserts four tenths of them, and some more, since the number of
/// inserts is drawn.
fn records(episodes: &Episodes) -> usize {
    let operations = (episodes.count * episodes.operations) as f64;
    (operations / 4.0 + 20.0 * operations.sqrt()) as usize
}

/// The published agent with all weight on time, with a learning rate and a discount.
pub fn agent(alpha: &str, gamma: &str) -> Arm {
    Arm::tuned(&format!("q-learning:nu=1,alpha={alpha},gamma={gamma}"))
}

/// The tuners.
pub fn tuners() -> impl Iterator<Item = Arm> {
    TUNERS.into_iter().map(Arm::tuned)
}

/// The fixed forms of a scale.
pub fn fixed(amounts: &Amounts) -> impl Iterator<Item = Arm> {
    let is_brief = is_brief(amounts);
    let states = MODELS
        .into_iter()
        .flat_map(|model| BLOCKS.map(|block| Arm::of_state(model, block)));
    let others = [
        Arm::new("predicted", "index=plr partition=predicted"),
        Arm::new("fp", "index=fp partition=bytes(4096)"),
    ];
    let states = states.filter(move |arm| !is_brief || arm.is_in(&AT_QUICK));
    others.into_iter().chain(states)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Scale;

    #[test]
    fn all_published_settings_are_there_and_what_tunes_says_so() {
        let amounts = Scale::Small.amounts();
        let states = fixed(&amounts).filter(|arm| arm.state.is_some());
        assert_eq!(states.count(), MODELS.len() * BLOCKS.len());
        let brief = Scale::Quick.amounts();
        assert_eq!(fixed(&brief).count(), 2 + AT_QUICK.len());
        let requests = ("points", ["read=100"; 2]);
        for arm in tuners().chain(fixed(&amounts)) {
            let build = arm.planned(&amounts, requests, false).unwrap().build;
            let system = build.unwrap().system;
            let settings = system.settings();
            assert_eq!(
                settings.tuner != rhumb::Tuner::Off,
                arm.name.contains("nu=")
            );
            assert_eq!(settings.cache_bytes, 0);
            assert_eq!(settings.write_buffer_bytes, (1 << 20) / 32);
            if arm.name == "pla-64/8K" {
                let form = format!("{} {}", settings.index, settings.table.partition);
                assert_eq!(form, "pla:error=64 dual(8192)");
            }
        }
    }
}
