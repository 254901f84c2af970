//! What experiments declare, and the order in which it is measured.

use super::*;

#[test]
fn no_two_cells_are_the_same() {
    for scale in [Scale::Quick, Scale::Small, Scale::Paper] {
        let mut ids = HashSet::new();
        for experiment in all() {
            assert!(ids.insert(experiment.id), "{}", experiment.id);
            let mut seen = HashSet::new();
            for planned in (experiment.cells)(&scale.amounts()).unwrap() {
                let text = format!("{:?}", planned.axes);
                assert!(seen.insert(text.clone()), "{} {text}", experiment.id);
                let set: Result<crate::data::sets::SetSpec> = planned.data.set.parse();
                assert!(set.is_ok(), "{}", planned.data.set);
            }
        }
    }
}

#[test]
fn unknown_ids_are_refused() {
    let names = |names: &[&str]| named(&names.iter().map(|n| n.to_string()).collect::<Vec<_>>());
    let error = names(&["E-F7", "E-F99"]).err().unwrap().to_string();
    assert!(error.contains("E-F99") && error.contains("list"), "{error}");
    assert_eq!(names(&["E-F7", "all"]).unwrap().len(), all().count());
}

/// Stores of one load follow each other, so a contest loads each size of tables once.
#[test]
fn stores_that_differ_in_index_and_layout_share_a_load() {
    let contests = some(&["E-F7", "E-F15", "E-F16"]).contests().unwrap();
    let uniform = contests
        .iter()
        .find(|contest| contest.data.set == "ycsb-uniform")
        .unwrap();
    let loads: Vec<Option<Build>> = uniform.stores.iter().map(plan::Group::shared).collect();
    assert!(loads.iter().all(Option::is_some));
    let begun = 1 + loads.windows(2).filter(|two| two[0] != two[1]).count();
    // Each of the five sizes of tables once, and nine tenths of the records for E-F16.
    assert_eq!(begun, TINY.table_sizes.len() + 1, "{loads:?}");
}

/// An order that is limited has the cells with one of the named values of an axis, and those without the axis.
#[test]
fn an_order_can_be_limited_to_values_of_axes() {
    let cells = |only: &[&str]| {
        let order = Order {
            only: only.iter().map(|text| parse_only(text).unwrap()).collect(),
            ..some(&["L-F9", "E-PAR"])
        };
        let stores = order
            .contests()
            .unwrap()
            .into_iter()
            .flat_map(|contest| contest.stores);
        let mut keys: Vec<String> = stores
            .flat_map(|store| store.cells)
            .map(|(key, _)| format!("{:?}", key.axes))
            .collect();
        keys.sort();
        keys
    };
    let all = cells(&[]);
    let expected = |wanted: &dyn Fn(&String) -> bool| -> Vec<String> {
        all.iter().filter(|key| wanted(key)).cloned().collect()
    };
    let has = |key: &str, value: &str| key.contains(&format!("\"{value}\""));
    let without = |key: &String, axis: &str| !has(key, axis);
    let one = cells(&["system=tier-keys", "system=lsm-values", "mix=0:1"]);
    let of_system =
        |key: &String| without(key, "system") || has(key, "tier-keys") || has(key, "lsm-values");
    assert_eq!(
        one,
        expected(&|key| of_system(key) && (without(key, "mix") || has(key, "0:1")))
    );
    assert!(one.len() > 2 && one.len() < all.len());
    for text in ["system", "=1"] {
        assert!(parse_only(text).is_err());
    }
}

/// Any number of machines has every round of every cell exactly once; up to as many machines as
/// there are sets of keys, one machine has all rounds of a cell.
#[test]
fn any_number_of_shards_has_every_cell_once() {
    let of = |shard| {
        let order = Order {
            shard,
            ..order(all().collect())
        };
        let mine = order
            .contests()
            .unwrap()
            .into_iter()
            .filter(|contest| !contest.elsewhere);
        let mut cells: Vec<String> = Vec::new();
        for contest in mine {
            let keys = contest.stores.iter().flat_map(|group| &group.cells);
            cells.extend(keys.map(|(key, _)| format!("{} {}", contest.round, key.text())));
        }
        cells
    };
    let mut whole = of((1, 1));
    whole.sort();
    for machines in [2, 3, 7, 8, 9, 13, 16, 40] {
        let shards: Vec<Vec<String>> = (1..=machines).map(|this| of((this, machines))).collect();
        let mut together: Vec<String> = shards.concat();
        together.sort();
        assert_eq!(together, whole, "{machines} machines");
    }
}

#[test]
fn parts_are_parsed() {
    assert_eq!(parse_shard("2/3").unwrap(), (2, 3));
    for text in ["0/3", "4/3", "3", "a/b", "1/0"] {
        let error = parse_shard(text).unwrap_err().to_string();
        assert!(error.contains("i/n"), "{error}");
    }
}
