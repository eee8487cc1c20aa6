package protean.rocksjava;

/**
 * A succinct trie of the keys, with some bits more of each key. Its size depends on the keys, and it can count. Values that
 * are not allowed are refused by {@link ProteanTableConfig#setRangeFilter(RangeFilter)}.
 */
public final class Surf extends RangeFilter {
  private final int hashBits;
  private final int realBits;

  private Surf(final int hashBits, final int realBits) {
    this.hashBits = hashBits;
    this.realBits = realBits;
  }

  /**
   * With that many bits more of each key; {@code suffixBits(0, 4)} is a good start.
   *
   * @param hashBits of a hash of the key, from 0 to 32, which help {@code Get} alone
   * @param realBits of the key itself, from 0 to 32, which help {@code Get} and {@code Seek}
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
