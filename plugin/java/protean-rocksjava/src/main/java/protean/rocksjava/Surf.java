// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

/**
 * A succinct trie of the keys, with some additional bits of each key. Its size depends on the keys, and it can count.
 * {@link ProteanTableConfig#setRangeFilter(RangeFilter)} refuses values that are not allowed.
 */
public final class Surf extends RangeFilter {
  private final int hashBits;
  private final int realBits;
  private final int prefixBits;

  private Surf(final int hashBits, final int realBits, final int prefixBits) {
    this.hashBits = hashBits;
    this.realBits = realBits;
    this.prefixBits = prefixBits;
  }

  /**
   * Sets the number of additional bits of each key; {@code suffixBits(0, 8)} is the default of {@code surf}.
   *
   * @param hashBits bits of a hash of the key, from 0 to 32, which help {@code Get} only
   * @param realBits bits of the key itself, from 0 to 32, which help {@code Get} and {@code Seek}
   * @return the policy
   */
  public static Surf suffixBits(final int hashBits, final int realBits) {
    return suffixBits(hashBits, realBits, 0);
  }

  /**
   * Sets the number of additional bits of each key, prefix bits among them. For keys that are text, names or paths,
   * {@code suffixBits(0, 0, 8)} is a good start. The three numbers together are at most 64.
   *
   * @param hashBits bits of a hash of the key, from 0 to 32, which help {@code Get} only
   * @param realBits bits of the key itself, from 0 to 32, which help {@code Get} and {@code Seek}
   * @param prefixBits bits of hashes of the key's longer prefixes, from 0 to 16, which help {@code Get}, scans of a prefix, and
   *     other seeks whose bounds begin alike
   * @return the policy
   */
  public static Surf suffixBits(final int hashBits, final int realBits, final int prefixBits) {
    return new Surf(hashBits, realBits, prefixBits);
  }

  @Override
  public String toString() {
    return "{id=protean.SuRF;hash_suffix_bits=" + hashBits + ";real_suffix_bits=" + realBits
        + (prefixBits == 0 ? "" : ";prefix_suffix_bits=" + prefixBits) + "}";
  }
}
