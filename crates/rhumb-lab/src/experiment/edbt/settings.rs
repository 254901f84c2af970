//! The published protocol, and the parameters that it fixes.

use super::{
    Along, Amounts, Arm, BOUNDARY, Chart, Data, Experiment, LATENCY, MEMORY, Measure, Only,
    Planned, View, Work, uniform_gets,
};
use crate::error::Result;
use crate::experiment::arms::specs;
use crate::report::model::Marks;

pub const ENVIRONMENT: Experiment = Experiment {
    id: "E-ENV",
    paper: "EDBT, section 5, running environment",
    title: "The published protocol as a setting",
    shows: "LevelDB with leveling, size ratio 10, Bloom filters of 10 bits a key, a cache of 8 MB, and a \
            page cache limited to 75 GB of 100 GiB by a control group, on an Intel i9-13900K with an NVMe \
            SSD.",
    method: "Every E experiment uses this protocol: leveling, ratio 10, Bloom filters of 10 bits a key, \
             no compression, one thread. Buffer, cache, levels and tables are scaled down with the data. \
             Stores are loaded in random order, one write buffer at a time, and each flush and its merges are \
             waited for, so that all kinds are measured in trees of the same shape. Every answer is compared with \
             what was written.",
    cells: |_| {
        Ok(vec![Planned {
            axes: vec![("machine", "this".to_string())],
            data: Data::new("dense", 100),
            build: None,
            work: Work::Environment,
        }])
    },
    views: &[View::List {
        title: "This machine, and the protocol at this scale",
    }],
};

pub const PARAMETERS: Experiment = Experiment {
    id: "E-PAR",
    paper: "EDBT, section 5, settings of learned indexes",
    title: "PGM's eps_recursive and RadixSpline's radix bits",
    shows: "In the text: eps_recursive has little impact on PGM, so 4 is kept; 1 radix bit is RadixSpline's best \
            trade-off in an LSM-tree.",
    method: "Uniform YCSB keys, position boundary 16, exact windows from the page cache.",
    cells: parameters,
    views: &[
        parameter("eps_recursive of pgm: latency", &[("kind", "pgm")], LATENCY),
        parameter("eps_recursive of pgm: memory", &[("kind", "pgm")], MEMORY),
        parameter(
            "radix bits of radix-spline: latency",
            &[("kind", "radix-spline")],
            LATENCY,
        ),
        parameter(
            "radix bits of radix-spline: memory",
            &[("kind", "radix-spline")],
            MEMORY,
        ),
    ],
};

const fn parameter(title: &'static str, only: Only, y: Measure) -> View {
    let x = Along::Names {
        axis: "value",
        label: "value of the parameter",
    };
    View::Chart(Chart::new(title, only, x, y, "kind", Marks::Line))
}

const EPS_RECURSIVE: [u32; 5] = [1, 4, 16, 64, 128];
const RADIX_BITS: [u32; 5] = [1, 4, 8, 12, 18];

fn parameters(amounts: &Amounts) -> Result<Vec<Planned>> {
    let pgm = EPS_RECURSIVE.map(|value| ("pgm", "eps_recursive", value));
    let spline = RADIX_BITS.map(|value| ("radix-spline", "radix_bits", value));
    let mut cells = Vec::new();
    for (kind, parameter, value) in pgm.into_iter().chain(spline) {
        let index = format!("{kind}:boundary={BOUNDARY},{parameter}={value}");
        let table = format!("partition=entries(1),size={}", amounts.table_bytes);
        let axes = vec![
            ("kind", kind.to_string()),
            ("parameter", parameter.to_string()),
            ("value", value.to_string()),
            ("arm", Arm::Window.name().to_string()),
        ];
        cells.push(uniform_gets(amounts, axes, specs(&index, &table)?));
    }
    Ok(cells)
}
