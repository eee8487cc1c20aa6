// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

/**
 * A succinct trie of the keys, with some additional bits of each key. Its size depends on the keys, and it can count.
 * {@link ProteanTableConfig#setRangeFilter(RangeFilter)} refuses values that are not allowed.
 */
public final class Surf extends RangeFilter {
  private final int hashBits;
  private final int realBits;

  private Surf(final int hashBits, final int realBits) {
    this.hashBits = hashBits;
    this.realBits = realBits;
  }

  /**
   * Sets the number of additional bits of each key; {@code suffixBits(0, 4)} is a good start.
   *
   * @param hashBits bits of a hash of the key, from 0 to 32, which help {@code Get} only
   * @param realBits bits of the key itself, from 0 to 32, which help {@code Get} and {@code Seek}
   * @return the policy
   */
  public static Surf suffixBits(final int hashBits, final int realBits) {
    return new Surf(hashBits, realBits);
  }

  @Override
  public String toString() {
    return "{id=protean.SuRF;hash_suffix_bits=" + hashBits + ";real_suffix_bits=" + realBits + "}";
  }
}
