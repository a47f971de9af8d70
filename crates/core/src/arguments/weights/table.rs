//! A table of weights as bytes, which needs neither reading nor memory of its own. The build script makes one as well.

/// Bits of a number that say in which part of the table it is.
const PART_BITS: u32 = 16;
const PARTS: usize = 1 << PART_BITS;
/// Where each part begins, and where the last one ends.
const STARTS: usize = (PARTS + 1) * size_of::<u32>();

/// The number of a feature: the same for its parts as for its whole name.
pub(crate) fn feature_id(parts: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut take = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            take(b'|');
        }
        part.bytes().for_each(&mut take);
    }
    hash
}

/// Makes a table of lines with a feature, a tab and its weight. What makes no sense is left out.
///
/// It holds where each part begins, the numbers of the features in order, and their weights in the same order.
pub(crate) fn table(lines: &str) -> Vec<u8> {
    let line = |line: &str| {
        let (name, weight) = line.split_once('\t')?;
        Some((feature_id(&[name]), weight.parse::<f32>().ok()?))
    };
    let mut rows: Vec<(u64, f32)> = lines.lines().filter_map(line).collect();
    // Of a feature that is there twice, the last one counts.
    rows.reverse();
    rows.sort_by_key(|(id, _)| *id);
    rows.dedup_by_key(|(id, _)| *id);
    let starts = (0..=PARTS).map(|part| rows.partition_point(|(id, _)| part_of(*id) < part));
    let mut bytes: Vec<u8> =
        starts.flat_map(|at| u32::to_le_bytes(at.try_into().unwrap_or(u32::MAX))).collect();
    bytes.extend(rows.iter().flat_map(|(id, _)| id.to_le_bytes()));
    bytes.extend(rows.iter().flat_map(|(_, weight)| weight.to_le_bytes()));
    bytes
}

/// Finds the weight of a feature.
pub(crate) fn find(table: &[u8], id: u64) -> Option<f32> {
    let (starts, rows) = table.split_at_checked(STARTS)?;
    let (starts, _) = starts.as_chunks();
    let count = u32::from_le_bytes(*starts.last()?) as usize;
    let (ids, weights) = rows.split_at_checked(count * size_of::<u64>())?;
    let ((ids, _), (weights, _)) = (ids.as_chunks(), weights.as_chunks());
    let [begin, end] = [part_of(id), part_of(id) + 1].map(|part| u32::from_le_bytes(starts[part]) as usize);
    let place = ids[begin..end].binary_search_by_key(&id, |bytes| u64::from_le_bytes(*bytes)).ok()?;
    Some(f32::from_le_bytes(weights[begin + place]))
}

fn part_of(id: u64) -> usize {
    (id >> (u64::BITS - PART_BITS)) as usize
}
