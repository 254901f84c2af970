//! Blocks that stay in memory from the time when they are written are those that a reader finds in the file.

use rand::SeedableRng;

use super::*;
use crate::entry::MAX_SEQUENCE;

/// Writes a table whose blocks stay in a cache.
fn write_kept(
    fs: &Arc<MemoryFileSystem>,
    settings: &TableSettings,
    model: &Model,
    cache: &Arc<BlockCache>,
) -> TableMeta {
    let dynamic: Arc<dyn FileSystem> = fs.clone();
    let writer = TableWriter::create(&dynamic, Path::new("/"), 7, settings).unwrap();
    let mut writer = writer.keeping_blocks(cache);
    add_all(&mut writer, model);
    writer.finish(&RangeDeletes::default()).unwrap().summary
}

fn open(fs: &MemoryFileSystem, cache: &Arc<BlockCache>) -> Arc<TableReader> {
    let open_as = OpenAs::buffered(Arc::clone(cache));
    let path = Path::new("/000007.table");
    Arc::new(TableReader::open_any(fs, path, 7, open_as).unwrap())
}

/// How many of its blocks no cache keeps: those that exceed the largest slab.
fn too_large(table: &TableReader) -> u64 {
    let blocks = raw_blocks(table).into_iter();
    blocks.filter(|block| block.len() > 2 << 20).count() as u64
}

/// How many of its blocks are in memory.
fn held(table: &TableReader) -> u64 {
    table.frame_slots.held_among(table.blocks()).0
}

fn raw_blocks(table: &TableReader) -> Vec<Vec<u8>> {
    let mut source = BlockSource::new(true);
    let blocks = (0..table.blocks()).map(|n| table.block(n, &mut source).unwrap().bytes.to_vec());
    blocks.collect()
}

#[test]
fn kept_blocks_are_those_of_the_file() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    let mut kept_units = 0;
    for case in 0..150 {
        let model = random_model(&mut rng);
        let settings = random_settings(&mut rng, &model);
        let context = format!("case {case}: {} {}", settings.index, settings.spec);
        let fs = Arc::new(MemoryFileSystem::new());
        let cache_bytes = [1 << 30, 64 << 10][case % 2];
        let cache = Arc::new(BlockCache::new(cache_bytes).unwrap());
        write_kept(&fs, &settings, &model, &cache);
        let table = open(&fs, &cache);
        let in_memory = held(&table);
        if case % 2 == 0 {
            assert_eq!(in_memory + too_large(&table), table.blocks(), "{context}");
            kept_units += u64::from(table.directory.units().is_some());
        }
        for key in probes(&mut rng, &model, 50) {
            for visible in [5, MAX_SEQUENCE] {
                assert_eq!(
                    get(&table, &key, visible).unwrap(),
                    expected(&model, &key, visible),
                    "{context}"
                );
            }
        }
        if case % 2 == 0 {
            assert_eq!(held(&table), in_memory, "{context}");
        }
        // The first reader has them, and the next one reads the file.
        let other = open(&fs, &cache);
        assert_eq!(held(&other), 0, "{context}");
        assert_eq!(raw_blocks(&table), raw_blocks(&other), "{context}");
        drop((table, other));
        let left = cache.state().used;
        assert_eq!((left.blocks, left.slots), (0, 0), "{context}");
    }
    assert!(kept_units > 0, "no table had units");
}

#[test]
fn what_no_reader_takes_is_freed() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    let model = random_equal_entries(&mut rng);
    let settings = settings("pla", "partition=bytes(512)", &model);
    let cache = Arc::new(BlockCache::new(16 << 20).unwrap());
    let fs = Arc::new(MemoryFileSystem::new());
    let summary = write_kept(&fs, &settings, &model, &cache);
    assert!(cache.state().used.blocks > 0);
    cache.forget_written(summary.table_id);
    assert_eq!(cache.state().used.blocks, 0);
    assert_eq!(held(&open(&fs, &cache)), 0);

    // A writer that does not come to its end.
    let dynamic: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let writer = TableWriter::create(&dynamic, Path::new("/"), 7, &settings).unwrap();
    let mut writer = writer.keeping_blocks(&cache);
    add_all(&mut writer, &model);
    drop(writer);
    assert_eq!(cache.state().used.blocks, 0);
}
