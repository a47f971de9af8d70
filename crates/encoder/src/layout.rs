//! The sizes of the pieces in which matrices of whole numbers lie in memory.

/// The rows of activations in a tile.
pub(super) const ROWS: usize = 4;
/// The rows of weights in a panel.
pub(super) const WIDTH: usize = 64;
/// The columns that one step takes.
pub(super) const STEP: usize = 4;
/// The bytes of the widest vector.
pub(super) const LANE: usize = 64;

/// Four columns of a tile: for each row its four bytes, greater by 128 so that they have no sign.
pub(super) type Quad = [i32; ROWS];
/// Four columns of a panel.
pub(super) type Group = [[u8; LANE]; WIDTH * STEP / LANE];
/// A tile times a panel.
pub(super) type Accumulated = [[i32; WIDTH]; ROWS];
