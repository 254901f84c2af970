//! Tests of the access to results.

use super::{NARROW, SCALE, as_published, cells};
use crate::claims::Evidence;
use crate::experiment::Scale;

#[test]
fn the_latest_run_of_the_scale_counts() {
    let mut cells = cells(NARROW, as_published);
    let mut again: Vec<_> = cells.clone();
    for cell in &mut again {
        cell.rounds.iter_mut().for_each(|round| round.run = 2);
        cell.figures
            .values_mut()
            .for_each(|kept| kept.values.iter_mut().for_each(|(_, value)| *value = 7.0));
    }
    let mut other = again.clone();
    other.iter_mut().for_each(|cell| {
        cell.scale = Scale::Quick.name().to_string();
        cell.rounds.iter_mut().for_each(|round| round.run = 3);
    });
    again.append(&mut cells);
    again.append(&mut other);
    let evidence = Evidence::new(&again, SCALE).unwrap();
    let cell = evidence.cells("E-F14").only("kind", "pgm");
    assert_eq!(cell.value("training_share"), Ok(7.0));
}

#[test]
fn messages_name_what_is_missing() {
    let mut cells = cells(NARROW, as_published);
    cells.retain(|cell| cell.experiment != "E-F14" || cell.axis("kind") == "pgm");
    for cell in &mut cells {
        cell.figures.remove("ycsb-a_mean");
    }
    let evidence = Evidence::new(&cells, SCALE).unwrap();
    let text = |selection: crate::claims::evidence::Selection<'_>, metric| {
        selection.value(metric).unwrap_err().to_string()
    };
    let building = evidence.cells("E-F14");
    assert_eq!(
        building.clone().whole().err().unwrap().to_string(),
        "1 of 14 cells of E-F14 are measured: run `rhumb-lab run E-F14 --scale small`"
    );
    let one = building.only("kind", "plr");
    assert!(text(one, "training_share").starts_with("0 of 1 cells of E-F14 with kind=plr"));
    let none = building.only("kind", "auto");
    assert!(text(none, "training_share").starts_with("E-F14 has no cells with kind=auto at scale"));
    let mixed = evidence.cells("E-F16");
    assert!(text(mixed.clone(), "ycsb-b_mean").contains("one is needed"));
    let absent = text(mixed.only("kind", "plr"), "ycsb-a_mean");
    assert!(absent.contains("has no ycsb-a_mean"), "{absent}");
    assert_eq!(evidence.cells("E-F9").numbers("length"), [10, 100, 1_000]);
    assert_eq!(evidence.cells("E-F9").each("set"), ["ycsb-uniform"]);
}

#[test]
fn a_share_needs_a_merge_and_training() {
    let cells = cells(NARROW, |cell, metric| match metric {
        "merges" if cell.axis("kind") == "pgm" => 0.0,
        "training_time" if cell.axis("kind") == "plex" => 0.0005,
        _ => as_published(cell, metric),
    });
    let evidence = Evidence::new(&cells, SCALE).unwrap();
    let share = |kind| {
        let cell = evidence.cells("E-F14").only("kind", kind);
        cell.value("training_share")
    };
    assert!(share("plr").is_ok());
    let missing = share("pgm").unwrap_err();
    assert!(
        missing.to_string().ends_with("no merge took place"),
        "{missing}"
    );
    assert!(!missing.is_unmeasured());
    let missing = share("plex").unwrap_err().to_string();
    assert!(missing.contains("less than 1 ms"), "{missing}");
}
