//! The inner loops over whole numbers, for each kind of processor.
//!
//! Every path gives the same integers: numbers are at most 127 in size, so nothing saturates, and sums of
//! integers do not depend on their order. This is the only file of the product with `unsafe`, for two reasons
//! that recur: calling code that was compiled for instructions which [`Path`] proves to be there, and loading
//! or storing an array as one vector.

#![expect(unsafe_code, reason = "vector instructions are reached in no other way")]

use crate::layout::{Accumulated, Group, LANE, Quad, ROWS, WIDTH};
use crate::math::{LANES, Lane};

/// A way to compute that this processor was found to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    AvxVnni,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "aarch64")]
    NeonDot,
    #[cfg(target_arch = "aarch64")]
    Neon,
    Plain,
}

/// Work on floats that gains from wide vectors.
///
/// The results are the same on every path: Rust neither reorders nor fuses operations on floats.
pub(super) trait Step {
    /// Does the work. It must be inlined always, or it is compiled for the least processor only.
    fn run(self);
}

impl Path {
    /// Returns the fastest path of this processor.
    pub(super) fn detect() -> Self {
        Self::all()[0]
    }

    /// Returns every path of this processor, the fastest first.
    pub(super) fn all() -> Vec<Self> {
        let mut paths = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            let has_avx2 = is_x86_feature_detected!("avx2");
            let has_avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vnni");
            paths.extend((has_avx2 && has_avx512).then_some(Self(Kind::Avx512)));
            paths.extend((has_avx2 && is_x86_feature_detected!("avxvnni")).then_some(Self(Kind::AvxVnni)));
            paths.extend(has_avx2.then_some(Self(Kind::Avx2)));
        }
        #[cfg(target_arch = "aarch64")]
        {
            let has_neon = std::arch::is_aarch64_feature_detected!("neon");
            let has_dot = std::arch::is_aarch64_feature_detected!("dotprod");
            paths.extend((has_neon && has_dot).then_some(Self(Kind::NeonDot)));
            paths.extend(has_neon.then_some(Self(Kind::Neon)));
        }
        paths.push(Self(Kind::Plain));
        paths
    }

    /// Runs a step that was compiled for this path.
    pub(super) fn run(self, step: impl Step) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a `Path` of this kind exists only where the instructions were detected.
            Kind::Avx512 => unsafe { x86::run_avx512(step) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Kind::AvxVnni | Kind::Avx2 => unsafe { x86::run_avx2(step) },
            #[cfg(target_arch = "aarch64")]
            Kind::NeonDot | Kind::Neon => step.run(),
            Kind::Plain => step.run(),
        }
    }

    /// Multiplies four rows of activations with one panel of weights.
    ///
    /// `sums` are the sums of the panel's rows; instructions that take one side without a sign need them.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(unused_variables, reason = "only there a sign is missing")
    )]
    pub(super) fn tile(self, quads: &[Quad], panel: &[Group], sums: &[i32; WIDTH], out: &mut Accumulated) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a `Path` of this kind exists only where the instructions were detected.
            Kind::Avx512 => unsafe { x86::tile_avx512(quads, panel, sums, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Kind::AvxVnni => unsafe { x86::tile_avx_vnni(quads, panel, sums, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Kind::Avx2 => unsafe { x86::tile_avx2(quads, panel, out) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: as above.
            Kind::NeonDot => unsafe { arm::tile_dot(quads, panel, out) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: as above.
            Kind::Neon => unsafe { arm::tile_neon(quads, panel, out) },
            Kind::Plain => plain_tile(quads, panel, out),
        }
    }

    /// Multiplies four rows with a matrix of sixteen columns at a time; `out` holds four rows of lanes.
    pub(super) fn product(self, rows: [&[f32]; ROWS], matrix: &[Lane], out: &mut [Lane]) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a `Path` of this kind exists only where the instructions were detected.
            Kind::Avx512 => unsafe { x86::product_avx512(rows, matrix, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Kind::AvxVnni | Kind::Avx2 => unsafe { x86::product_avx2(rows, matrix, out) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: as above.
            Kind::NeonDot | Kind::Neon => unsafe { arm::product_neon(rows, matrix, out) },
            Kind::Plain => plain_product(rows, matrix, out),
        }
    }

    /// Returns the product of two vectors of whole numbers between -127 and 127; `query_sum` is the sum of
    /// the first.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(unused_variables, reason = "only there a sign is missing")
    )]
    pub(super) fn dot(self, query: &[[u8; LANE]], query_sum: i32, vector: &[[u8; LANE]]) -> i32 {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a `Path` of this kind exists only where the instructions were detected.
            Kind::Avx512 => unsafe { x86::dot_avx512(query, query_sum, vector) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Kind::AvxVnni | Kind::Avx2 => unsafe { x86::dot_avx2(query, vector) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: as above.
            Kind::NeonDot | Kind::Neon => unsafe { arm::dot_neon(query, vector) },
            Kind::Plain => plain_dot(query, vector),
        }
    }
}

fn plain_tile(quads: &[Quad], panel: &[Group], out: &mut Accumulated) {
    *out = [[0; WIDTH]; ROWS];
    for (quad, group) in quads.iter().zip(panel) {
        let weights = group.as_flattened();
        for (activations, row) in quad.iter().zip(out.iter_mut()) {
            let activations = activations.to_le_bytes().map(|byte| i32::from(byte) - 128);
            for (sum, four) in row.iter_mut().zip(weights.as_chunks::<4>().0) {
                let products = activations.iter().zip(four).map(|(a, b)| a * i32::from(*b as i8));
                *sum += products.sum::<i32>();
            }
        }
    }
}

fn plain_product(rows: [&[f32]; ROWS], matrix: &[Lane], out: &mut [Lane]) {
    let (inner, width) = (rows[0].len(), out.len() / ROWS);
    for (at, out) in out.iter_mut().enumerate() {
        *out = [0.0; LANES];
        let lanes = &matrix[at % width * inner..];
        for (factor, lane) in rows[at / width].iter().zip(lanes) {
            for (sum, value) in out.iter_mut().zip(lane) {
                *sum += factor * value;
            }
        }
    }
}

fn plain_dot(query: &[[u8; LANE]], vector: &[[u8; LANE]]) -> i32 {
    let pairs = query.as_flattened().iter().zip(vector.as_flattened());
    pairs.map(|(a, b)| i32::from(*a as i8) * i32::from(*b as i8)).sum()
}

/// Writes [`plain_product`] for vectors of some width. Multiplication and addition stay apart, because one
/// instruction for both would round differently.
macro_rules! product {
    ($name:ident, $features:literal, $wide:literal, $of:ident, $load:ident, $store:ident, $mul:ident, $add:ident) => {
        #[target_feature(enable = $features)]
        pub(super) fn $name(rows: [&[f32]; ROWS], matrix: &[Lane], out: &mut [Lane]) {
            let (inner, width) = (rows[0].len(), out.len() / ROWS);
            let [a, b, c, d] = rows.map(|row| &row[..inner]);
            for (at, lanes) in matrix.chunks_exact(inner).take(width).enumerate() {
                let mut sums = [[$of(0.0); LANES / $wide]; ROWS];
                for (k, lane) in lanes.iter().enumerate() {
                    let factors = [$of(a[k]), $of(b[k]), $of(c[k]), $of(d[k])];
                    for (part, values) in lane.as_chunks::<$wide>().0.iter().enumerate() {
                        let values = $load(values);
                        for row in 0..ROWS {
                            sums[row][part] = $add(sums[row][part], $mul(factors[row], values));
                        }
                    }
                }
                for (row, sums) in sums.iter().enumerate() {
                    for (part, sum) in out[row * width + at].as_chunks_mut::<$wide>().0.iter_mut().zip(sums) {
                        $store(part, *sum);
                    }
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256, __m256i, __m512, __m512i, _mm256_abs_epi8, _mm256_add_epi32, _mm256_add_ps,
        _mm256_dpbusd_avx_epi32, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_madd_epi16,
        _mm256_maddubs_epi16, _mm256_mul_ps, _mm256_set1_epi8, _mm256_set1_epi16, _mm256_set1_epi32,
        _mm256_set1_ps, _mm256_setzero_si256, _mm256_sign_epi8, _mm256_slli_epi32, _mm256_storeu_ps,
        _mm256_storeu_si256, _mm256_sub_epi32, _mm256_xor_si256, _mm512_add_ps, _mm512_dpbusd_epi32,
        _mm512_loadu_ps, _mm512_loadu_si512, _mm512_mul_ps, _mm512_reduce_add_epi32, _mm512_set1_epi8,
        _mm512_set1_epi32, _mm512_set1_ps, _mm512_setzero_si512, _mm512_slli_epi32, _mm512_storeu_ps,
        _mm512_storeu_si512, _mm512_sub_epi32, _mm512_xor_si512,
    };

    use super::{Accumulated, Group, LANE, LANES, Lane, Quad, ROWS, Step, WIDTH};

    /// The bit that makes a signed byte an unsigned one that is greater by 128.
    const BIAS: i8 = -128;

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,avx2")]
    pub(super) fn run_avx512(step: impl Step) {
        step.run();
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn run_avx2(step: impl Step) {
        step.run();
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load_512<T: Copy, const N: usize>(array: &[T; N]) -> __m512i {
        const { assert!(size_of::<[T; N]>() == 64) }
        // SAFETY: the array is as long as the vector, and this load needs no alignment.
        unsafe { _mm512_loadu_si512(array.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load_256<T: Copy, const N: usize>(array: &[T; N]) -> __m256i {
        const { assert!(size_of::<[T; N]>() == 32) }
        // SAFETY: the array is as long as the vector, and this load needs no alignment.
        unsafe { _mm256_loadu_si256(array.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn store_512(array: &mut [i32; 16], vector: __m512i) {
        // SAFETY: the array is as long as the vector, and this store needs no alignment.
        unsafe { _mm512_storeu_si512(array.as_mut_ptr().cast(), vector) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn store_256(array: &mut [i32; 8], vector: __m256i) {
        // SAFETY: the array is as long as the vector, and this store needs no alignment.
        unsafe { _mm256_storeu_si256(array.as_mut_ptr().cast(), vector) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load_16(array: &[f32; 16]) -> __m512 {
        // SAFETY: the array is as long as the vector, and this load needs no alignment.
        unsafe { _mm512_loadu_ps(array.as_ptr()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn store_16(array: &mut [f32; 16], vector: __m512) {
        // SAFETY: the array is as long as the vector, and this store needs no alignment.
        unsafe { _mm512_storeu_ps(array.as_mut_ptr(), vector) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load_8(array: &[f32; 8]) -> __m256 {
        // SAFETY: the array is as long as the vector, and this load needs no alignment.
        unsafe { _mm256_loadu_ps(array.as_ptr()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn store_8(array: &mut [f32; 8], vector: __m256) {
        // SAFETY: the array is as long as the vector, and this store needs no alignment.
        unsafe { _mm256_storeu_ps(array.as_mut_ptr(), vector) }
    }

    product!(product_avx512, "avx512f", 16, _mm512_set1_ps, load_16, store_16, _mm512_mul_ps, _mm512_add_ps);
    product!(product_avx2, "avx2", 8, _mm256_set1_ps, load_8, store_8, _mm256_mul_ps, _mm256_add_ps);

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(super) fn tile_avx512(quads: &[Quad], panel: &[Group], sums: &[i32; WIDTH], out: &mut Accumulated) {
        // Activations are too great by 128: what that adds is taken away before it is added.
        let mut start = [_mm512_setzero_si512(); 4];
        for (at, sums) in sums.as_chunks::<16>().0.iter().enumerate() {
            start[at] = _mm512_sub_epi32(start[at], _mm512_slli_epi32::<7>(load_512(sums)));
        }
        let mut sums = [start; ROWS];
        for (quad, group) in quads.iter().zip(panel) {
            let weights =
                [load_512(&group[0]), load_512(&group[1]), load_512(&group[2]), load_512(&group[3])];
            for row in 0..ROWS {
                let activations = _mm512_set1_epi32(quad[row]);
                for lane in 0..4 {
                    sums[row][lane] = _mm512_dpbusd_epi32(sums[row][lane], activations, weights[lane]);
                }
            }
        }
        for (row, sums) in out.iter_mut().zip(sums) {
            for (lane, sum) in row.as_chunks_mut::<16>().0.iter_mut().zip(sums) {
                store_512(lane, sum);
            }
        }
    }

    #[target_feature(enable = "avx2,avxvnni")]
    pub(super) fn tile_avx_vnni(quads: &[Quad], panel: &[Group], sums: &[i32; WIDTH], out: &mut Accumulated) {
        for lane in 0..4 {
            let mut start = [_mm256_setzero_si256(); 2];
            for (at, sums) in sums[lane * 16..][..16].as_chunks::<8>().0.iter().enumerate() {
                start[at] = _mm256_sub_epi32(start[at], _mm256_slli_epi32::<7>(load_256(sums)));
            }
            let mut sums = [start; ROWS];
            for (quad, group) in quads.iter().zip(panel) {
                let halves = group[lane].as_chunks::<32>().0;
                let weights = [load_256(&halves[0]), load_256(&halves[1])];
                for row in 0..ROWS {
                    let activations = _mm256_set1_epi32(quad[row]);
                    for half in 0..2 {
                        sums[row][half] =
                            _mm256_dpbusd_avx_epi32(sums[row][half], activations, weights[half]);
                    }
                }
            }
            store_halves(out, lane, &sums);
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn tile_avx2(quads: &[Quad], panel: &[Group], out: &mut Accumulated) {
        let bias = _mm256_set1_epi8(BIAS);
        for lane in 0..4 {
            let mut sums = [[_mm256_setzero_si256(); 2]; ROWS];
            for (quad, group) in quads.iter().zip(panel) {
                let halves = group[lane].as_chunks::<32>().0;
                let weights = [load_256(&halves[0]), load_256(&halves[1])];
                for row in 0..ROWS {
                    let activations = _mm256_xor_si256(_mm256_set1_epi32(quad[row]), bias);
                    for half in 0..2 {
                        sums[row][half] = add_products(sums[row][half], activations, weights[half]);
                    }
                }
            }
            store_halves(out, lane, &sums);
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn store_halves(out: &mut Accumulated, lane: usize, sums: &[[__m256i; 2]; ROWS]) {
        for (row, sums) in out.iter_mut().zip(sums) {
            let halves = row[lane * 16..][..16].as_chunks_mut::<8>().0;
            store_256(&mut halves[0], sums[0]);
            store_256(&mut halves[1], sums[1]);
        }
    }

    /// Adds the products of signed bytes, four to a sum. The instruction wants one side without a sign, so
    /// the sign moves to the other; two products of 127 still fit in sixteen bits.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn add_products(sums: __m256i, a: __m256i, b: __m256i) -> __m256i {
        let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(b, a));
        _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(super) fn dot_avx512(query: &[[u8; LANE]], query_sum: i32, vector: &[[u8; LANE]]) -> i32 {
        let bias = _mm512_set1_epi8(BIAS);
        let mut sums = _mm512_setzero_si512();
        for (query, vector) in query.iter().zip(vector) {
            let unsigned = _mm512_xor_si512(load_512(vector), bias);
            sums = _mm512_dpbusd_epi32(sums, unsigned, load_512(query));
        }
        _mm512_reduce_add_epi32(sums) - 128 * query_sum
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn dot_avx2(query: &[[u8; LANE]], vector: &[[u8; LANE]]) -> i32 {
        let mut sums = [_mm256_setzero_si256(); 2];
        for (query, vector) in query.iter().zip(vector) {
            let (query, vector) = (query.as_chunks::<32>().0, vector.as_chunks::<32>().0);
            for half in 0..2 {
                sums[half] = add_products(sums[half], load_256(&query[half]), load_256(&vector[half]));
            }
        }
        let mut lanes = [0; 8];
        store_256(&mut lanes, _mm256_add_epi32(sums[0], sums[1]));
        lanes.iter().sum()
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use std::arch::aarch64::{
        float32x4_t, int8x16_t, int32x4_t, vaddq_f32, vaddvq_s32, vdupq_laneq_s32, vdupq_n_f32, vdupq_n_s8,
        vdupq_n_s32, veorq_s8, vget_low_s8, vld1q_f32, vld1q_s8, vmull_high_s8, vmull_s8, vmulq_f32,
        vpadalq_s16, vpaddq_s16, vreinterpretq_s8_s32, vreinterpretq_s32_s8, vst1q_f32, vst1q_s32,
    };
    use std::arch::asm;

    use super::{Accumulated, Group, LANE, LANES, Lane, Quad, ROWS};

    #[inline]
    #[target_feature(enable = "neon")]
    fn load<T: Copy, const N: usize>(array: &[T; N]) -> int8x16_t {
        const { assert!(size_of::<[T; N]>() == 16) }
        // SAFETY: the array is as long as the vector, and this load needs no alignment.
        unsafe { vld1q_s8(array.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn store(array: &mut [i32; 4], vector: int32x4_t) {
        // SAFETY: the array is as long as the vector, and this store needs no alignment.
        unsafe { vst1q_s32(array.as_mut_ptr(), vector) }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn load_4(array: &[f32; 4]) -> float32x4_t {
        // SAFETY: the array is as long as the vector, and this load needs no alignment.
        unsafe { vld1q_f32(array.as_ptr()) }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn store_4(array: &mut [f32; 4], vector: float32x4_t) {
        // SAFETY: the array is as long as the vector, and this store needs no alignment.
        unsafe { vst1q_f32(array.as_mut_ptr(), vector) }
    }

    product!(product_neon, "neon", 4, vdupq_n_f32, load_4, store_4, vmulq_f32, vaddq_f32);

    /// Adds the products of signed bytes, four to a sum; two products of 127 still fit in sixteen bits.
    #[inline]
    #[target_feature(enable = "neon")]
    fn add_products(sums: int32x4_t, a: int8x16_t, b: int8x16_t) -> int32x4_t {
        let low = vmull_s8(vget_low_s8(a), vget_low_s8(b));
        vpadalq_s16(sums, vpaddq_s16(low, vmull_high_s8(a, b)))
    }

    /// As [`add_products`], in one instruction that the standard library does not offer yet.
    #[inline]
    #[target_feature(enable = "neon,dotprod")]
    fn add_products_dot(mut sums: int32x4_t, a: int8x16_t, b: int8x16_t) -> int32x4_t {
        // SAFETY: it reads and writes these three registers only, and `dotprod` is enabled.
        unsafe {
            asm!(
                "sdot {sums:v}.4s, {a:v}.16b, {b:v}.16b",
                sums = inout(vreg) sums, a = in(vreg) a, b = in(vreg) b,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        sums
    }

    /// Repeats the four bytes of each row, with their signs.
    #[inline]
    #[target_feature(enable = "neon")]
    fn spread(quad: &Quad) -> [int8x16_t; ROWS] {
        let rows = vreinterpretq_s32_s8(veorq_s8(load(quad), vdupq_n_s8(-128)));
        [
            vreinterpretq_s8_s32(vdupq_laneq_s32::<0>(rows)),
            vreinterpretq_s8_s32(vdupq_laneq_s32::<1>(rows)),
            vreinterpretq_s8_s32(vdupq_laneq_s32::<2>(rows)),
            vreinterpretq_s8_s32(vdupq_laneq_s32::<3>(rows)),
        ]
    }

    macro_rules! tile {
        ($name:ident, $features:literal, $add:ident) => {
            #[target_feature(enable = $features)]
            pub(super) fn $name(quads: &[Quad], panel: &[Group], out: &mut Accumulated) {
                for lane in 0..4 {
                    let mut sums = [[vdupq_n_s32(0); 4]; ROWS];
                    for (quad, group) in quads.iter().zip(panel) {
                        let activations = spread(quad);
                        for (at, weights) in group[lane].as_chunks::<16>().0.iter().enumerate() {
                            let weights = load(weights);
                            for row in 0..ROWS {
                                sums[row][at] = $add(sums[row][at], weights, activations[row]);
                            }
                        }
                    }
                    for (row, sums) in out.iter_mut().zip(sums) {
                        for (four, sum) in row[lane * 16..][..16].as_chunks_mut::<4>().0.iter_mut().zip(sums)
                        {
                            store(four, sum);
                        }
                    }
                }
            }
        };
    }

    tile!(tile_neon, "neon", add_products);
    tile!(tile_dot, "neon,dotprod", add_products_dot);

    #[target_feature(enable = "neon")]
    pub(super) fn dot_neon(query: &[[u8; LANE]], vector: &[[u8; LANE]]) -> i32 {
        let mut sums = [vdupq_n_s32(0); 4];
        for (query, vector) in query.iter().zip(vector) {
            let pairs = query.as_chunks::<16>().0.iter().zip(vector.as_chunks::<16>().0);
            for (sum, (query, vector)) in sums.iter_mut().zip(pairs) {
                *sum = add_products(*sum, load(query), load(vector));
            }
        }
        sums.into_iter().map(|sum| vaddvq_s32(sum)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_multiplies_floats_as_the_plain_one() {
        for (inner, width) in [(1, 1), (3, 2), (32, 7), (33, 1)] {
            let number = |at: usize| ((at * 37 % 101) as f32 - 50.0) / 7.0;
            let rows: Vec<Vec<f32>> =
                (0..4).map(|r| (0..inner).map(|k| number(r * 7 + k)).collect()).collect();
            let matrix: Vec<Lane> =
                (0..inner * width).map(|at| std::array::from_fn(|lane| number(at * 16 + lane))).collect();
            let product = |path: Path| {
                let mut out = vec![[7.0; LANES]; ROWS * width];
                path.product([&rows[0], &rows[1], &rows[2], &rows[3]], &matrix, &mut out);
                out
            };
            let plain = product(Path(Kind::Plain));
            let by_hand: f32 = (0..inner).map(|k| rows[2][k] * matrix[(width - 1) * inner + k][5]).sum();
            assert_eq!(plain[2 * width + width - 1][5], by_hand);
            for path in Path::all() {
                assert_eq!(product(path), plain, "{path:?}");
            }
        }
    }
}
